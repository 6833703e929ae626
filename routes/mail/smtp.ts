/** Sends mails over SMTP with nodemailer, which is loaded with the first mail. */
import { type Mailer, MailFailure, mailStepMs } from "../../core/people/mail/mail.ts";
import { z } from "zod";
import type { SmtpSettings } from "../../core/people/mail/mail_url.ts";

/** What a mailer over SMTP needs. */
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

/**
 * Creates a mailer that opens one connection per mail: mails are rare, and idle connections break.
 */
export function createSmtpMailer({ settings, from }: SmtpMailerOptions): Mailer {
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
          messageId: `<${mail.id}@${domain}>`,
          headers: { "auto-submitted": "auto-generated" },
        });
      } catch (error) {
        throw failureOf(error);
      } finally {
        transport.close();
      }
    },
  };
}
