/** Does what is left of acts whose process was killed: see `kv/people/deletion/pending_cleanup.ts`. */
import { errorName } from "../../../core/lib/base/assert.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { type OutboxWorld, runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import { pendingCleanupWork } from "../../../kv/services/operations/account_closing.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";

/** Milliseconds between two looks: there is something only after a process has died, and an idle store is left alone. */
const lookEveryMs = 5 * minuteMs;

/** Looks at the start, since the process before may have died, and then at intervals. */
export function startCleanupWorker({ kv, clock, random, log }: Gateway): BackgroundWorker {
  const world: OutboxWorld = {
    kv,
    clock,
    random,
    onFailure: ({ queue, id, attempt, fate, error }) =>
      log.event("error", "the rest of a deletion failed", {
        ...{ queue, id, attempt, fate, error: errorName(error) },
      }),
  };
  const stopping = new AbortController();
  const run = () => runDue(world, pendingCleanupWork(kv), stopping.signal);
  // Where the store does not answer, the next look makes up for it.
  const first = run().catch(() => {});
  return {
    // Whoever acts does it at once, so that nothing of it is urgent.
    nudge: () => {},
    sweep: { name: "rest of deletions", everyMs: lookEveryMs, run },
    async stop() {
      stopping.abort();
      await first;
    },
  };
}
