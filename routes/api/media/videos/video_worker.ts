/** Polls video tasks in the background: a worker in this process, and a sweep by timer and cron. */
import { errorName } from "../../../../core/lib/base/error_line.ts";
import { startOutboxWorker } from "../../../../kv/engine/outbox/outbox_worker.ts";
import {
  pollDueTasks,
  sweepOverdueVideos,
  videoPolls,
  videoPollWork,
  type VideoPollWorld,
} from "../../../../kv/services/videos/mod.ts";
import type { BackgroundWorker } from "../../gateway/background_worker.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import { askProviderOf } from "./video_upstream.ts";

function pollWorld(gateway: Gateway, stop?: AbortSignal): VideoPollWorld {
  return {
    kv: gateway.kv,
    clock: gateway.clock,
    random: gateway.random,
    isTold: gateway.media.wakeUp.isTold,
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

/** Milliseconds between two searches for tasks whose poll was lost, e.g. with its process. */
const sweepEveryMs = 60_000;

/** Starts the worker of this process. `stop` cancels the polls in flight; they are repeated after the restart. */
export function startVideoWorker(gateway: Gateway): BackgroundWorker {
  const stopping = new AbortController();
  const world = pollWorld(gateway, stopping.signal);
  const worker = startOutboxWorker(world, videoPollWork(world));
  const remove = gateway.media.wakeUp.add(videoPolls.name, worker);
  return {
    nudge: () => worker.nudge(),
    sweep: { name: "sweep videos", everyMs: sweepEveryMs, run: () => sweepVideos(world) },
    async stop() {
      remove();
      stopping.abort();
      await worker.stop();
    },
  };
}

/**
 * Finds tasks whose poll was lost, and runs every poll that is due. By cron, tasks also end where no
 * process stays alive between requests. Several sweeps may run at the same time.
 */
async function sweepVideos(world: VideoPollWorld): Promise<void> {
  await sweepOverdueVideos(world);
  await pollDueTasks(world);
}
