/** Sends mails over HTTPS as JSON, in the shape that most mail services accept: for networks that block SMTP. */
import { type Mailer, MailFailure, mailStepMs } from "../../core/people/mail/mail.ts";
import type { HttpMailSettings } from "../../core/people/mail/mail_url.ts";

/** What a mailer over HTTPS needs. */
export interface HttpMailerOptions {
  readonly settings: Pick<HttpMailSettings, "url" | "key">;
  readonly from: string;
  readonly fetch: typeof fetch;
}

/**
 * Creates a mailer over HTTPS. The body is `{from, to, subject, text, html}`; every try of a mail
 * carries the same `idempotency-key`.
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
