/** Polls video tasks in the background: a worker in this process, and a sweep for cron. */
import { errorName } from "../../../core/lib/error_line.ts";
import { startOutboxWorker } from "../../../kv/outbox/outbox_worker.ts";
import {
  pollDueTasks,
  sweepOverdueVideos,
  videoPolls,
  videoPollWork,
  type VideoPollWorld,
} from "../../../kv/videos/mod.ts";
import type { Gateway } from "../gateway.ts";
import { askProviderOf } from "./video_upstream.ts";

function pollWorld(gateway: Gateway, stop?: AbortSignal): VideoPollWorld {
  return {
    kv: gateway.kv,
    clock: gateway.clock,
    random: gateway.random,
    ask: askProviderOf(gateway, stop),
    onFailure: ({ id, attempt, fate, error }) =>
      gateway.log.event("warn", "video poll failed", {
        video_id: id,
        attempt,
        fate,
        error: errorName(error),
      }),
  };
}

/** Starts the worker of this process. `stop` cancels the polls in flight; they are repeated after the restart. */
export function startVideoWorker(gateway: Gateway): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const world = pollWorld(gateway, stopping.signal);
  const worker = startOutboxWorker(world, videoPollWork(world));
  const remove = gateway.media.wakeUp.add(videoPolls.name, worker);
  return {
    async stop() {
      remove();
      stopping.abort();
      await worker.stop();
    },
  };
}

/** Registers {@linkcode sweepVideos} with the platform's cron, where there is one. Ends with `signal`, and resolves then. */
export async function registerVideoCron(gateway: Gateway, signal: AbortSignal): Promise<void> {
  // Undefined if the runtime was started without its flag; the worker does not need it.
  if (typeof Deno.cron !== "function") return;
  const failed = (error: unknown) =>
    gateway.log.event("error", "cron failed", {
      error: errorName(error),
    });
  // Errors are logged and not thrown: the next run is a minute away, and the runtime would print them outside the
  // log.
  await Deno.cron(
    "sweep videos",
    "* * * * *",
    { signal },
    () => sweepVideos(gateway).catch(failed),
  ).catch(failed);
}

/**
 * Finds tasks whose poll was lost, and runs every poll that is due. For cron, so that tasks also end where no process
 * stays alive between requests. Several sweeps may run at the same time.
 */
async function sweepVideos(gateway: Gateway): Promise<void> {
  const world = pollWorld(gateway);
  await sweepOverdueVideos(world);
  await pollDueTasks(world);
}
