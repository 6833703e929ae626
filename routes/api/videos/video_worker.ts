/** Polls of video tasks beside the calls: a worker in this process, and a sweeper that cron may call anywhere. */
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

/** Starts the worker of this process. `stop` breaks off the polls in flight; they are made again after the restart. */
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
  // Undefined where the runtime was started without its flag; the worker and its polls do not need it.
  if (typeof Deno.cron !== "function") return;
  const failed = (error: unknown) =>
    gateway.log.event("error", "cron failed", {
      error: errorName(error),
    });
  // A run that fails is over: the next is a minute away, and the runtime would print the error beside the log.
  await Deno.cron(
    "sweep videos",
    "* * * * *",
    { signal },
    () => sweepVideos(gateway).catch(failed),
  ).catch(failed);
}

/**
 * One sweep: finds tasks whose poll was lost, and runs every poll that is due. For cron, so that tasks end also where
 * no process stays alive between requests. Several at a time do no harm.
 */
async function sweepVideos(gateway: Gateway): Promise<void> {
  const world = pollWorld(gateway);
  await sweepOverdueVideos(world);
  await pollDueTasks(world);
}
