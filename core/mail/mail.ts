/**
 * A mail, and whatever sends it.
 *
 * - Folder `core/mail/`: mails: what they say in both languages, how they are laid out, what
 *   `MAIL_URL` means.
 * - In: a mail job with its values, and the operator's settings.
 * - Out: subject, text and HTML of a mail, and the interface of a mailer.
 * - Never: sends a mail (`routes/mail/` does), or puts a secret token into a job.
 */

/** Milliseconds for each step with a mail server; the outbox tries again, so a long wait gains nothing. */
export const mailStepMs = 20_000;

export interface Mail {
  /** The same for every attempt to send the same mail: receivers and providers may drop repeats by it. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface Mailer {
  /** Resolves when somebody else has taken the responsibility for the mail; rejects when it should be tried again. */
  send(mail: Mail): Promise<void>;
}

/**
 * A mail that nobody took. Its `name` is a word of ours that says why, for the log and for dead letters: the message of
 * a mail server may hold addresses.
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
