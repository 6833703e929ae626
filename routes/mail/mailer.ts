/**
 * Creates the mailer that `MAIL_URL` names: SMTP, HTTPS or the log.
 *
 * - Folder `routes/mail/`: the drivers that send mail, and the work of the mail queue.
 * - In: mail jobs of the outbox, and `MAIL_URL`.
 * - Out: mails over SMTP or HTTP, or a failure to try again.
 * - Never: composes the text of a mail: `core/people/mail/` does.
 */
import {
  type Mail,
  type Mailer,
  MailFailure,
  mailStepMs,
  switchOffHeaders,
} from "../../core/people/mail/mail.ts";
import type {
  HttpMailSettings,
  MailSettings,
  SmtpSettings,
} from "../../core/people/mail/mail_url.ts";
import type { Config } from "../../core/config/config.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { defaultBrand } from "../../core/people/mail/brand.ts";
import { z } from "zod";

// Sends mails over HTTPS as JSON, in the shape that most mail services accept: for networks that block SMTP.

/** Needs of a mailer over HTTPS. */
export interface HttpMailerOptions {
  readonly settings: Pick<HttpMailSettings, "url" | "key">;
  readonly from: string;
  readonly fetch: typeof fetch;
}

/**
 * Creates a mailer over HTTPS. The body is `{from, to, subject, text, html}`, with `headers` for a mail that can be
 * switched off; every try of a mail carries the same `idempotency-key`.
 */
export function createHttpMailer({ settings, from, fetch }: HttpMailerOptions): Mailer {
  const { url, key } = settings;
  return {
    async send(mail) {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "idempotency-key": mail.id,
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
        },
        body: JSON.stringify({
          from,
          to: [mail.to],
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          ...defined({ headers: switchOffHeaders(mail) }),
        }),
        redirect: "error",
        signal: AbortSignal.timeout(mailStepMs),
      }).catch((cause) => {
        throw new MailFailure(
          "mail_service_unreachable",
          "Cannot send a mail: the mail service is not reached, redirects, or is silent",
          { cause },
        );
      });
      await response.body?.cancel();
      if (!response.ok) {
        const { status } = response;
        throw new MailFailure(
          `mail_service_answered_${status}`,
          `Cannot send a mail: the mail service answered ${status}`,
        );
      }
    },
  };
}

// Sends mails over SMTP with nodemailer, which is loaded with the first mail.

/** Needs of a mailer over SMTP. */
export interface SmtpMailerOptions {
  readonly settings: Omit<SmtpSettings, "from">;
  /** `Model Gateway <no-reply@example.com>` or a bare address. */
  readonly from: string;
}

/**
 * Converts a nodemailer error to a failure with its code (`EAUTH`) and the server's status (`535`), without its text,
 * which may hold addresses.
 */
function failureOf(cause: unknown): MailFailure {
  const read = z.object({
    code: z.string().regex(/^[A-Z]{1,20}$/).optional().catch(undefined),
    responseCode: z.int().min(100).max(999).optional().catch(undefined),
  }).safeParse(cause);
  const words = ["smtp", read.data?.code, read.data?.responseCode];
  const name = words.filter((word) => word !== undefined).join("_");
  return new MailFailure(name, "Cannot send a mail: the mail server refused it", { cause });
}

/** Writes the `Message-ID`: the id of a mail names rows with colons, which RFC 5322 does not allow there. */
function messageIdOf({ id }: Pick<Mail, "id">, domain: string): string {
  return `<${id.replaceAll(/[^\w.-]/g, "-")}@${domain}>`;
}

/**
 * Creates a mailer that opens one connection per mail: mails are rare, and idle connections break.
 */
function createSmtpMailer({ settings, from }: SmtpMailerOptions): Mailer {
  const { host, port, isSecure, login } = settings;
  // Without TLS a password is sent only to this machine.
  const isLocal = ["localhost", "127.0.0.1", "::1"].includes(host);
  const options = {
    host,
    port,
    secure: isSecure,
    requireTLS: !isSecure && !isLocal && login !== undefined,
    connectionTimeout: mailStepMs,
    greetingTimeout: mailStepMs,
    socketTimeout: mailStepMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(login !== undefined && { auth: { user: login.user, pass: login.password } }),
  };
  const domain = from.slice(from.lastIndexOf("@") + 1).replace(/[^\w.-].*$/, "");
  return {
    async send(mail) {
      const { createTransport } = await import("nodemailer");
      const transport = createTransport(options);
      try {
        await transport.sendMail({
          from,
          to: mail.to,
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          messageId: messageIdOf(mail, domain),
          headers: { "auto-submitted": "auto-generated", ...switchOffHeaders(mail) },
        });
      } catch (error) {
        throw failureOf(error);
      } finally {
        transport.close();
      }
    },
  };
}

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
  /** The sender's name if none is set. */
  readonly brand?: string | undefined;
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
export function createMailer(
  { mail, baseUrl, brand = defaultBrand.name, fetch, log }: MailerOptions,
): Mailer {
  if (mail.kind === "log") return createLogMailer(log);
  const from = mail.from ?? `${fromName(brand)} <no-reply@${new URL(baseUrl).hostname}>`;
  return mail.kind === "https"
    ? createHttpMailer({ settings: mail, from, fetch })
    : createSmtpMailer({ settings: mail, from });
}

/** A name as a sender has it: quoted, since it may have a comma or a point (RFC 5322, section 3.4). */
function fromName(name: string): string {
  return /^[A-Za-z0-9 ]+$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, "")}"`;
}

function createLogMailer(log: (line: string) => void): Mailer {
  return {
    send: (mail) => {
      log(`mail to ${mail.to}: ${mail.subject}\n${mail.text}`);
      return Promise.resolve();
    },
  };
}
