/** Sends mails over SMTP by nodemailer, which is loaded only when the first mail goes out. */
import { type Mailer, MailFailure } from "../../core/mail/mail.ts";
import { z } from "zod";
import { limits } from "../../core/limits.ts";

export interface SmtpSettings {
  /** `smtp://user:password@host:587` (STARTTLS when offered) or `smtps://…:465`. */
  readonly url: URL;
  /** `Model Gateway <no-reply@example.com>` or a bare address. */
  readonly from: string;
}

/** What nodemailer names in an error beside its text, which may hold addresses: `EAUTH`, and the server's `535`. */
function failureOf(cause: unknown): MailFailure {
  const read = z.object({
    code: z.string().regex(/^[A-Z]{1,20}$/).optional().catch(undefined),
    responseCode: z.int().min(100).max(999).optional().catch(undefined),
  }).safeParse(cause);
  const words = ["smtp", read.data?.code, read.data?.responseCode];
  const name = words.filter((word) => word !== undefined).join("_");
  return new MailFailure(name, "Cannot send a mail: the mail server did not take it", { cause });
}

/** A mailer that opens one connection per mail: mails are rare, and idle connections break. */
export function createSmtpMailer({ url, from }: SmtpSettings): Mailer {
  const secure = url.protocol === "smtps:";
  // A password is never sent in the clear to a host that is not this machine.
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  const options = {
    host: url.hostname,
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && !local && url.username !== "",
    connectionTimeout: limits.mailMs,
    greetingTimeout: limits.mailMs,
    socketTimeout: limits.mailMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    ...(url.username !== "" && {
      auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    }),
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
