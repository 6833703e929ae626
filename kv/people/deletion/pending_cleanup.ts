/**
 * Queues what is left to do once an act took effect that has more rows than one commit takes: a member was removed, an
 * organisation or a person deleted. The commit of the act queues it; whoever acts does it at once and takes it off the
 * queue; a worker does it for a process that was killed meanwhile.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";
import { outboxRowKey } from "../../engine/schema/keys.ts";
import { addToOutbox, type OutboxQueue } from "../../engine/outbox/outbox.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

const accountId = z.custom<AccountId>((id) => typeof id === "string" && id.startsWith("acc_"));

const cleanup = z.discriminatedUnion("of", [
  /** The keys that a removed member has made, which no longer call. */
  z.object({ of: z.literal("member"), organisationId: accountId, personId: accountId }),
  z.object({ of: z.literal("organisation"), organisationId: accountId, ownerId: accountId }),
  /** `keepsOrganisation`: the organisation with the id of the person was handed over, and goes on. */
  z.object({ of: z.literal("person"), personId: accountId, keepsOrganisation: z.boolean() }),
]).and(z.object({ atMs: z.number() }));

/** Work that is left to do, and the moment since when. */
export type PendingCleanup = z.infer<typeof cleanup>;

/** Milliseconds after which a worker does it: whoever acted has done it by then, or was killed. */
const leftAloneMs = minuteMs;

/** The queue of what is left to do. */
export const pendingCleanupQueue: OutboxQueue<PendingCleanup> = {
  name: "remains",
  parse: (stored) => cleanup.parse(stored),
  claimMs: 5 * minuteMs,
  maxAttempts: 20,
  backoffMs: [5_000, minuteMs, 10 * minuteMs],
};

/** Work that was queued. */
export interface QueuedCleanup {
  readonly cleanup: PendingCleanup;
  /** Takes it off the queue: it was done. */
  readonly finish: (kv: KeyValueStore) => Promise<void>;
}

/** Adds what is left to do to the commit of its act. */
export function addPendingCleanup(operation: AtomicWrite, payload: PendingCleanup): QueuedCleanup {
  const { atMs: nowMs } = payload;
  const id = crypto.randomUUID();
  const dueAtMs = nowMs + leftAloneMs;
  addToOutbox(operation, pendingCleanupQueue, { id, payload, nowMs, dueAtMs });
  return {
    cleanup: payload,
    finish: (kv) => kv.delete(outboxRowKey(pendingCleanupQueue.name, dueAtMs, id)),
  };
}
