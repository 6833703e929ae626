/** Does what is left of acts whose process was killed: see `kv/people/deletion/remains.ts`. */
import { errorName } from "../../../core/lib/base/assert.ts";
import {
  type OutboxWorld,
  runDue,
  startOutboxWorker,
} from "../../../kv/engine/outbox/outbox_worker.ts";
import { remainsQueue } from "../../../kv/people/deletion/remains.ts";
import { remainsWork } from "../../../kv/services/operations/account_closing.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/** Milliseconds between two runs of cron. */
const lookEveryMs = 60_000;

/** Starts the worker. */
export function startRemainsWorker({ kv, clock, random, log, media }: Gateway): BackgroundWorker {
  const world: OutboxWorld = {
    kv,
    clock,
    random,
    isTold: media.wakeUp.isTold,
    onFailure: ({ queue, id, attempt, fate, error }) =>
      log.event("error", "the rest of a deletion failed", {
        ...{ queue, id, attempt, fate, error: errorName(error) },
      }),
  };
  const work = remainsWork(kv);
  const worker = startOutboxWorker(world, work);
  const remove = media.wakeUp.add(remainsQueue.name, worker);
  return {
    nudge: () => worker.nudge(),
    sweep: {
      name: "rest of deletions",
      everyMs: lookEveryMs,
      run: () => runDue(world, work),
      withoutTimer: true,
    },
    async stop() {
      remove();
      await worker.stop();
    },
  };
}
