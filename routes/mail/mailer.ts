/** Chooses the driver that `MAIL_URL` names. */
import type { Mailer } from "../../core/mail/mail.ts";
import { createHttpMailer } from "./http_json.ts";
import { createSmtpMailer } from "./smtp.ts";

export interface MailerSettings {
  /** `smtp://…`, `smtps://…`, `https://…` or `log:`. A query parameter `from` sets the sender. */
  readonly mailUrl: string;
  /** Public address of the service: the sender's domain when none is set. */
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  /** Where `log:` writes mails, links included: for a developer's machine only. */
  readonly log: (line: string) => void;
}

/**
 * Makes the mailer.
 *
 * @example
 * ```ts
 * import { createMailer } from "./mailer.ts";
 * const lines: string[] = [];
 * const mailer = createMailer({
 *   mailUrl: "log:", baseUrl: "http://localhost:8787", fetch, log: (line) => lines.push(line),
 * });
 * await mailer.send({ id: "1", to: "ann@example.com", subject: "Hello", text: "…", html: "…" });
 * if (!lines[0]?.includes("ann@example.com")) throw new Error();
 * ```
 */
export function createMailer(settings: MailerSettings): Mailer {
  if (settings.mailUrl.startsWith("log:")) return createLogMailer(settings.log);
  const url = new URL(settings.mailUrl);
  const from = url.searchParams.get("from") ??
    `Model Gateway <no-reply@${new URL(settings.baseUrl).hostname}>`;
  url.searchParams.delete("from");
  return url.protocol === "https:"
    ? createHttpMailer({ url, from, fetch: settings.fetch })
    : createSmtpMailer({ url, from });
}

function createLogMailer(log: (line: string) => void): Mailer {
  return {
    send: (mail) => {
      log(`mail to ${mail.to}: ${mail.subject}\n${mail.text}`);
      return Promise.resolve();
    },
  };
}
