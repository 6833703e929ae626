/**
 * Creates the mailer that `MAIL_URL` names: SMTP, HTTPS or the log.
 *
 * - Folder `routes/mail/`: the drivers that send mail, and the work of the mail queue.
 * - In: mail jobs of the outbox, and `MAIL_URL`.
 * - Out: mails over SMTP or HTTP, or a failure to try again.
 * - Never: composes the text of a mail: `core/people/mail/` does.
 */
import { type Mailer, MailFailure } from "../../core/people/mail/mail.ts";
import type { MailSettings } from "../../core/people/mail/mail_url.ts";
import type { Config } from "../../core/config/config.ts";
import { createHttpMailer } from "./http_json.ts";
import { createSmtpMailer } from "./smtp.ts";

/**
 * Explains to the operator why this configuration sends no mail; `undefined` if it does. `log:` is
 * for a sandbox only: in production, sign-in links in the log would let anybody in who reads it.
 *
 * @example
 * ```ts
 * import { whyNoMail } from "./mailer.ts";
 * const mail = { kind: "log" } as const;
 * if (whyNoMail({ mode: "sandbox", mail }) !== undefined) throw new Error("refused");
 * if (whyNoMail({ mode: "production", mail }) === undefined) throw new Error("links in the log");
 * ```
 */
export function whyNoMail(config: Pick<Config, "mode" | "mail">): string | undefined {
  return config.mode === "production" && config.mail.kind === "log"
    ? "MAIL_URL is not set: sign-up by e-mail, address changes and password resets do not work"
    : undefined;
}

/** Creates a mailer that refuses every mail; the mails stay in the store and are tried again. */
export function createAbsentMailer(why: string): Mailer {
  return { send: () => Promise.reject(new MailFailure("mail_url_not_set", why)) };
}

export interface MailerOptions {
  readonly mail: MailSettings;
  /** Public address of the service; its host is the sender's domain if none is set. */
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  /** Gets the mails of `log:`, links included: for a developer's machine only. */
  readonly log: (line: string) => void;
}

/**
 * Creates the mailer.
 *
 * @example
 * ```ts
 * import { createMailer } from "./mailer.ts";
 * const lines: string[] = [];
 * const mailer = createMailer({
 *   mail: { kind: "log" },
 *   baseUrl: "http://localhost:8787",
 *   fetch,
 *   log: (line) => lines.push(line),
 * });
 * await mailer.send({ id: "1", to: "ann@example.com", subject: "Hello", text: "…", html: "…" });
 * if (!lines[0]?.includes("ann@example.com")) throw new Error();
 * ```
 */
export function createMailer({ mail, baseUrl, fetch, log }: MailerOptions): Mailer {
  if (mail.kind === "log") return createLogMailer(log);
  const from = mail.from ?? `Model Gateway <no-reply@${new URL(baseUrl).hostname}>`;
  return mail.kind === "https"
    ? createHttpMailer({ settings: mail, from, fetch })
    : createSmtpMailer({ settings: mail, from });
}

function createLogMailer(log: (line: string) => void): Mailer {
  return {
    send: (mail) => {
      log(`mail to ${mail.to}: ${mail.subject}\n${mail.text}`);
      return Promise.resolve();
    },
  };
}
