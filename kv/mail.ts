/** The queue of mails. A mail is added in the atomic of what it tells about, and sent by a worker with retries. */
import { type MailJob, mailJobSchema } from "../core/mail/mail_job.ts";
import { addToOutbox, type OutboxQueue } from "./outbox.ts";

/** Eight tries over about six hours; a mail server that is down longer than that needs a person. */
export const mailQueue: OutboxQueue<MailJob> = {
  name: "mail",
  parse: (stored) => mailJobSchema.parse(stored),
  claimMs: 2 * 60_000,
  maxAttempts: 8,
  backoffMs: [5_000, 30_000, 2 * 60_000, 10 * 60_000, 30 * 60_000, 2 * 3_600_000, 4 * 3_600_000],
};

/**
 * Adds a mail to an atomic that the caller commits. Call `wakeUp.hint(mailQueue.name)` afterwards to send it at once.
 *
 * @param mail.id the same id twice is one mail; left out: a new one each time
 */
export function addMail(
  operation: Deno.AtomicOperation,
  job: MailJob,
  mail: { readonly nowMs: number; readonly id?: string },
): void {
  addToOutbox(operation, mailQueue, {
    id: mail.id ?? crypto.randomUUID(),
    payload: job,
    nowMs: mail.nowMs,
  });
}
