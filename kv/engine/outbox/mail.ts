/**
 * Queues mails. A mail is added in the same atomic write as the change that it reports; a worker
 * sends it, with retries.
 */
import { type MailJob, mailJobSchema } from "../../../core/people/mail/mail_job.ts";
import { addToOutbox, type OutboxQueue } from "./outbox.ts";
import type { AtomicWrite } from "../store/key_value_store.ts";

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
  2 * 3_600_000,
  4 * 3_600_000,
] as const;

/** The outbox queue of mails. */
export const mailQueue: OutboxQueue<MailJob> = {
  name: "mail",
  parse: (stored) => mailJobSchema.parse(stored),
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
