/** Requests of mails that let the owner of an address in: a sign-in link, or a link to set a new password. */
import type { Context } from "hono";
import { normaliseEmail, returnPath } from "../../../../core/people/accounts/email_address.ts";
import type { MailJob } from "../../../../core/people/mail/mail.ts";
import type { RateRule } from "../../../../kv/people/accounts/rate_limits.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import {
  countOpeningMail,
  countTryByAddress,
  type OpeningMail,
} from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PostForm, SubmitButton, TextField } from "../../components/mod.ts";
import { readForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { EmailField, formPage, NextField } from "./form_parts.tsx";
import { originOf } from "./start_session.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "./texts.ts";
import { renderPage } from "../../frame/layout.tsx";

// Shared parts of pages with mailed tokens: "check your mail", and the field for the token.

/** The form by which the same mail is requested again: it takes the address where the request needs nothing else. */
export interface RepeatedRequest {
  readonly path: string;
  readonly hidden?: { readonly email: string; readonly next?: string };
}

/** Asks for the same mail again; without `hidden` fields it leads to the form. */
function SendAgain({ again: { path, hidden }, visitor }: {
  again: RepeatedRequest;
  visitor: Visitor;
}) {
  const text = signInTexts[visitor.locale].sendAgain;
  if (hidden === undefined) {
    return <a href={path} class="button outline secondary">{text}</a>;
  }
  return (
    <PostForm visitor={visitor} action={path}>
      {hidden.next !== undefined && <NextField next={hidden.next} />}
      <input type="hidden" name="email" value={hidden.email} />
      <SubmitButton tone="plain">{text}</SubmitButton>
    </PostForm>
  );
}

/** Shows that a mail was sent, with what to do if it does not arrive. */
export function mailSentPage(
  c: Context<DashboardEnv>,
  sentence: string,
  again: RepeatedRequest,
) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return renderPage(
    c,
    { title: t.sentTitle, narrow: true },
    <>
      <Card>
        <p>{sentence}</p>
        <p class="muted">{t.sentHint}</p>
        <SendAgain again={again} visitor={visitor} />
      </Card>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/**
 * The field for the token of a mail. `app.js` fills it from the fragment of the link and hides it; without script it
 * can be pasted.
 */
export function TokenField({ token, locale }: { token: string | undefined; locale: Locale }) {
  const t = signInTexts[locale];
  if (token !== undefined && token !== "") {
    return <input type="hidden" name="token" value={token} />;
  }
  return (
    <div class="token-field">
      <TextField
        name="token"
        label={t.token}
        hint={t.tokenHint}
        required
        autocomplete="one-time-code"
        tokenFromFragment
      />
    </div>
  );
}

type Texts = typeof signInTexts["en"];

/** Facts that distinguish one requested mail from another. */
export interface RequestedMail {
  readonly kind: OpeningMail;
  /** The page with the form, which also takes it. */
  readonly path: string;
  /** Limits requests by IP address. */
  readonly rule: RateRule;
  readonly title: (t: Texts) => string;
  readonly lead: (t: Texts) => string;
  readonly sent: (t: Texts, email: string) => string;
  /** Whether the form carries the page to return to. */
  readonly keepsNext: boolean;
  readonly job: (mail: { to: string; locale: Locale; next: string }) => MailJob;
}

interface RequestForm {
  readonly email?: string;
  readonly next?: string;
  readonly error?: string;
  readonly emailError?: string;
}

/** Shows the form that requests a mail. */
export function mailRequestPage(
  c: Context<DashboardEnv>,
  { path, title, lead, keepsNext }: RequestedMail,
  form: RequestForm,
) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const refused = form.error ?? form.emailError;
  return formPage(
    c,
    { title: title(t), lead: lead(t), refused: refused !== undefined },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        <PostForm visitor={visitor} action={path}>
          {keepsNext && <NextField next={form.next} />}
          <EmailField value={form.email} error={form.emailError} locale={visitor.locale} />
          <SubmitButton>{t.forgotButton}</SubmitButton>
        </PostForm>
      </Card>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/** Takes the form: queues the mail, and answers the same whether or not the address has an account. */
export async function requestMail(
  c: Context<DashboardEnv>,
  deps: SignInDeps,
  requested: RequestedMail,
) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const form = await readForm(c);
  const typed = form.text("email").slice(0, 254);
  const next = returnPath(form.text("next"), "/");
  const nowMs = deps.clock.nowMs();
  const byAddress = await countTryByAddress(deps.kv, requested.rule, clientAddress(c), nowMs);
  if (!byAddress.allowed) {
    const error = t.tooMany(byAddress.retryAfterSeconds);
    return await mailRequestPage(c, requested, { email: typed, next, error });
  }
  const email = normaliseEmail(typed);
  if (email === undefined) {
    return await mailRequestPage(c, requested, { email: typed, next, emailError: t.emailInvalid });
  }
  const mail = { kind: requested.kind, email, nowMs };
  // Beyond the budget no mail is sent, and the page is the same as always.
  if ((await countOpeningMail(deps.kv, mail, originOf(c, deps))).allowed) {
    const atomic = deps.kv.atomic();
    addMail(atomic, requested.job({ to: email, locale, next }), { nowMs });
    await atomic.commit();
    deps.hintMail();
  }
  const hidden = { email, ...(requested.keepsNext && { next }) };
  return await mailSentPage(c, requested.sent(t, email), { path: requested.path, hidden });
}
