/** Sends mails over SMTP by nodemailer, which is loaded only when the first mail goes out. */
import type { Mailer } from "../../core/mail/mail.ts";
import { limits } from "../../core/limits.ts";

export interface SmtpSettings {
  /** `smtp://user:password@host:587` (STARTTLS when offered) or `smtps://…:465`. */
  readonly url: URL;
  /** `Model Gateway <no-reply@example.com>` or a bare address. */
  readonly from: string;
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
      } finally {
        transport.close();
      }
    },
  };
}
