/**
 * The interfaces of a mail and of the mailer that sends it.
 *
 * - Folder `core/people/mail/`: mails: their texts in both languages, their layout, the meaning of
 *   `MAIL_URL`.
 * - In: a mail job with its values, and the operator's settings.
 * - Out: subject, text and HTML of a mail, and the interface of a mailer.
 * - Never: sends a mail (`routes/mail/` does), or puts a secret token into a job.
 */

/**
 * Milliseconds for each step with a mail server. The outbox tries again, so a longer wait gains
 * nothing.
 */
export const mailStepMs = 20_000;

/** A mail that is ready to be sent. */
export interface Mail {
  /**
   * The same for every attempt to send the same mail, so that receivers and providers can drop
   * repeats.
   */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Sends mails. */
export interface Mailer {
  /**
   * Resolves when the next server has taken responsibility for the mail; rejects if it should be
   * tried again.
   */
  send(mail: Mail): Promise<void>;
}

/**
 * The error for a mail that no server accepted. Its `name` is a code of this project that gives the
 * reason, for the log and for dead letters: a mail server's message may contain addresses.
 *
 * @example
 * ```ts
 * import { MailFailure } from "./mail.ts";
 * const failure = new MailFailure("mail_url_not_set", "Cannot send a mail: MAIL_URL is not set");
 * if (failure.name !== "mail_url_not_set") throw new Error(failure.name);
 * ```
 */
export class MailFailure extends Error {
  constructor(name: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }
}
