/**
 * Queues work that must follow a commit: mails to send, video tasks to poll. A row is written in
 * the same atomic write as the change that causes it, so neither can exist without the other.
 *
 * Rows are sorted by the time they are due. A worker claims a row by moving it, by check-and-set,
 * to the time the claim ends; if the worker dies, the row becomes due again. So delivery is at
 * least once. A handler whose effect must happen once finishes its claim in the same atomic write
 * as the effect (`outbox_claims.ts`).
 *
 * Queues of Deno KV are not used: they exist on a local store only, and end the process if the disk
 * is full.
 *
 * - Folder `kv/engine/outbox/`: work after a commit: rows, claims, workers, dead letters.
 * - In: rows that a business change adds to its own commit.
 * - Out: claimed rows for a handler, one worker at a time.
 * - Never: gives a row to a second worker before the claim of the first has ended.
 */
import {
  outboxDeadPrefix,
  outboxQueuePrefix,
  outboxQueuesSelector,
  outboxRowKey,
  outboxRowOf,
} from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";
import { z } from "zod";
import { isMailKind } from "../../../core/people/mail/mail_kinds.ts";
import { type MailJob, mailJobSchema } from "../../../core/people/mail/mail.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** One kind of work; a constant of the module that owns it. */
export interface OutboxQueue<Payload> {
  /** Part of the store key: never rename a queue that has rows. */
  readonly name: string;
  /** The queue under whose name its dead letters are kept; absent: its own. One queue of many, such as an endpoint's, has it. */
  readonly deadLettersOf?: string;
  /**
   * Validates a stored payload. Throws on another shape, which makes the row a dead letter. The
   * `parse` of a Zod schema fits.
   */
  readonly parse: (stored: unknown) => Payload;
  /**
   * Whether a payload that cannot be read may be one of a later version, whose instances share the store while it is
   * rolled out or back. Such rows wait for a week before they become dead letters.
   */
  readonly isOfLaterVersion?: (stored: unknown) => boolean;
  /** Milliseconds of a claim; must be longer than the longest run of the handler. */
  readonly claimMs: number;
  /** Claims of one row before it becomes a dead letter, including those of workers that died. */
  readonly maxAttempts: number;
  /**
   * Pause after the first, second … failed attempt; the last one repeats. Spread by half, so that
   * rows do not retry in step.
   */
  readonly backoffMs: readonly number[];
}

/** A stored row. `payload` is what {@linkcode OutboxQueue.parse} validates. */
export interface StoredOutboxRow {
  readonly payload: unknown;
  readonly createdAtMs: number;
  readonly attempts: number;
}

/** A new row. The payload is plain data under 60 KB, since a value has at most 64 KiB. */
export interface NewOutboxRow<Payload> {
  /** Unique in its queue. */
  readonly id: string;
  readonly payload: Payload;
  readonly nowMs: number;
  /** By default at once. */
  readonly dueAtMs?: number;
}

/**
 * Adds a row to an atomic write that the caller commits.
 *
 * @example
 * ```ts
 * import { addToOutbox, type OutboxQueue } from "./outbox.ts";
 * import { claimDue, finishClaim } from "./outbox_claims.ts";
 * const greetings: OutboxQueue<string> = {
 *   name: "greetings", parse: String, claimMs: 60_000, maxAttempts: 5, backoffMs: [1_000, 60_000],
 * };
 * using kv = await Deno.openKv(":memory:");
 * const write = kv.atomic();
 * addToOutbox(write, greetings, { id: "1", payload: "hello", nowMs: 1_000 });
 * await write.commit();
 *
 * const [claim] = await claimDue(kv, greetings, { nowMs: 1_000, count: 8 });
 * if (claim?.payload !== "hello") throw new Error("not due");
 * const done = kv.atomic(); // whatever the work changes goes into the same atomic
 * finishClaim(done, greetings, claim);
 * if (!(await done.commit()).ok) throw new Error("another worker has the row");
 * ```
 */
export function addToOutbox<Payload>(
  operation: { set(key: Deno.KvKey, value: unknown): unknown },
  queue: OutboxQueue<Payload>,
  row: NewOutboxRow<Payload>,
): void {
  const stored: StoredOutboxRow = { payload: row.payload, createdAtMs: row.nowMs, attempts: 0 };
  operation.set(outboxRowKey(queue.name, row.dueAtMs ?? row.nowMs, row.id), stored);
}

/** Reads when the next row of the queue is due; `undefined` if there is none. */
export async function nextDueAtMs<Payload>(
  kv: KeyValueStore,
  queue: OutboxQueue<Payload>,
): Promise<number | undefined> {
  const rows = kv.list({ prefix: outboxQueuePrefix(queue.name) }, { limit: 1 });
  for await (const { key } of rows) return outboxRowOf(key).dueAtMs;
  return undefined;
}

/** Whether any queue whose name begins with a text has a row, due or not: one reading for all of them. */
export async function hasRows(kv: KeyValueStore, beginning: string): Promise<boolean> {
  const rows = kv.list(outboxQueuesSelector(beginning), { limit: 1 });
  for await (const _ of rows) return true;
  return false;
}

/** Rows that are counted at most: five readings of a store, and far more than ever wait where all is well. */
const maxCountedRows = 500;

/** Backlog of a queue. */
export interface OutboxBacklog {
  /** Rows that wait for their time, for a worker, or for the next attempt; at most {@linkcode maxCountedRows}. */
  readonly rows: number;
  /** Milliseconds for which the oldest row has been due; 0 if none is. */
  readonly overdueMs: number;
  /** Rows that were given up, at most {@linkcode maxCountedRows}. */
  readonly deadLetters: number;
}

/** Reads what waits in a queue. */
export async function readBacklog(
  kv: KeyValueStore,
  queue: string,
  nowMs: number,
): Promise<OutboxBacklog> {
  const keysOf = async (prefix: Deno.KvKey) => {
    const rows = kv.list({ prefix }, { limit: maxCountedRows });
    return await Array.fromAsync(rows, ({ key }) => key);
  };
  const [waiting, dead] = await Promise.all([
    keysOf(outboxQueuePrefix(queue)),
    keysOf(outboxDeadPrefix(queue)),
  ]);
  const [first] = waiting;
  const overdueMs = first === undefined ? 0 : Math.max(0, nowMs - outboxRowOf(first).dueAtMs);
  return { rows: waiting.length, overdueMs, deadLetters: dead.length };
}

// Queues mails. A mail is added in the same atomic write as the change that it reports; a worker
// sends it, with retries.

/** Milliseconds of a claim on a mail: far longer than a mail server takes. */
const mailClaimMs = 2 * 60_000;

/**
 * Attempts to send one mail, over nearly seven hours with the pauses below. A server that is down
 * longer needs a person.
 */
const mailAttempts = 8;

/** Milliseconds between two attempts to send one mail. */
const mailPausesMs = [
  5_000,
  30_000,
  2 * 60_000,
  10 * 60_000,
  30 * 60_000,
  2 * hourMs,
  4 * hourMs,
] as const;

/** The outbox queue of mails. */
export const mailQueue: OutboxQueue<MailJob> = {
  name: "mail",
  parse: (stored) => mailJobSchema.parse(stored),
  isOfLaterVersion(stored) {
    const { data } = z.object({ kind: z.string() }).safeParse(stored);
    return data !== undefined && !isMailKind(data.kind);
  },
  claimMs: mailClaimMs,
  maxAttempts: mailAttempts,
  backoffMs: mailPausesMs,
};

/**
 * Removes secrets from a payload before it is shown or exported: the mail of a sign-up has hashes
 * of password and browser, since no account exists yet that could have them.
 */
export function withoutSignUpSecrets(payload: unknown): unknown {
  if (typeof payload !== "object" || payload === null) return payload;
  const secrets = ["passwordHash", "browserHash"];
  return Object.fromEntries(Object.entries(payload).filter(([field]) => !secrets.includes(field)));
}

/**
 * Adds a mail to an atomic write that the caller commits. Call `wakeUp.nudge(mailQueue.name)`
 * afterwards to send it at once.
 *
 * @param mail.id two mails with the same id are one mail; if left out, every mail is new
 */
export function addMail(
  operation: AtomicWrite,
  job: MailJob,
  mail: { readonly nowMs: number; readonly id?: string },
): void {
  addToOutbox(operation, mailQueue, {
    id: mail.id ?? crypto.randomUUID(),
    payload: job,
    nowMs: mail.nowMs,
  });
}
