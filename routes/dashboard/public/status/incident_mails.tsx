/** `/incident-mails`: subscribes an address to mails about incidents, once its owner has confirmed it by a mailed link. */
import { type Context, Hono } from "hono";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { readMailToken } from "../../../../kv/people/accounts/tokens.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { subscribe } from "../../../../kv/people/operators/status_subscribers.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { defineTexts } from "../../text/i18n.ts";
import { deadEndPage, EmailField, formPage } from "../../customer/sign_in/form_parts.tsx";
import { mailSentPage, TokenField } from "../../customer/sign_in/mail_request.tsx";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "../../customer/sign_in/texts.ts";

const path = "/incident-mails";
const confirmPath = `${path}/confirm`;

const texts = defineTexts({
  both: {
    title: ["Emails about incidents", "Thư về sự cố"],
    button: ["Send the confirmation", "Gửi thư xác nhận"],
    confirmTitle: ["Confirm the subscription", "Xác nhận đăng ký"],
    confirm: ["Send me emails about incidents", "Gửi thư về sự cố cho tôi"],
    toStatus: ["Status", "Trạng thái"],
    again: ["Request another link", "Yêu cầu liên kết khác"],
  },
  en: {
    lead: "One email when an incident begins, one when it is over.",
    sent: (email: string) =>
      `We've sent an email to ${email}. You are subscribed once you open its link.`,
    done: (email: string) => `${email} now gets emails about incidents.`,
    doneHint: "Each of them has a link to unsubscribe.",
  },
  vi: {
    lead: "Một thư khi sự cố bắt đầu, một thư khi kết thúc.",
    sent: (email) =>
      `Chúng tôi đã gửi thư đến ${email}. Mở liên kết trong thư để hoàn tất đăng ký.`,
    done: (email) => `Từ nay ${email} nhận thư về sự cố.`,
    doneHint: "Mỗi thư đều có liên kết để huỷ đăng ký.",
  },
});

interface SubscriptionForm {
  readonly email?: string | undefined;
  readonly error?: string;
  readonly emailError?: string;
}

function askPage(c: Context<DashboardEnv>, form: SubscriptionForm) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = texts[locale];
  const refused = form.error !== undefined || form.emailError !== undefined;
  return formPage(
    c,
    { title: t.title, lead: t.lead, refused },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        <PostForm visitor={visitor} action={path}>
          <EmailField value={form.email} error={form.emailError} locale={locale} />
          <SubmitButton>{t.button}</SubmitButton>
        </PostForm>
      </Card>
      <p class="below-card">
        <a href="/status">{t.toStatus}</a>
      </p>
    </>,
  );
}

/** Takes the form: the page is the same whether or not the address is subscribed, or had its mails of the day. */
async function ask(c: Context<DashboardEnv>, { kv, clock, hintMail }: DashboardDeps) {
  const { locale } = c.get("visitor");
  const typed = (await readForm(c)).text("email").slice(0, 254);
  const nowMs = clock.nowMs();
  const rule = rateRules.incidentMailsByAddress;
  const byAddress = await countTryByAddress(kv, rule, clientAddress(c), nowMs);
  if (!byAddress.allowed) {
    const error = signInTexts[locale].tooMany(byAddress.retryAfterSeconds);
    return await askPage(c, { email: typed, error });
  }
  const email = normaliseEmail(typed);
  if (email === undefined) {
    return await askPage(c, { email: typed, emailError: signInTexts[locale].emailInvalid });
  }
  if ((await countTry(kv, rateRules.incidentMailsByEmail, email, nowMs)).allowed) {
    const operation = kv.atomic();
    addMail(operation, { kind: "subscription_asked", to: email, locale }, { nowMs });
    await operation.commit();
    hintMail();
  }
  return await mailSentPage(c, texts[locale].sent(email), { path, hidden: { email } });
}

function confirmPage(c: Context<DashboardEnv>) {
  const visitor = c.get("visitor");
  const t = texts[visitor.locale];
  return formPage(
    c,
    { title: t.confirmTitle, refused: false },
    <Card>
      <PostForm visitor={visitor} action={confirmPath}>
        <TokenField token={undefined} locale={visitor.locale} />
        <SubmitButton>{t.confirm}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

async function confirm(c: Context<DashboardEnv>, { kv, clock }: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const token = (await readForm(c)).text("token");
  const nowMs = clock.nowMs();
  const tries = await countTryByAddress(kv, rateRules.tokenByAddress, clientAddress(c), nowMs);
  const open = tries.allowed
    ? await readMailToken(kv, "status_subscription", token, nowMs)
    : undefined;
  if (open === undefined || !await open.use()) {
    const why = tries.allowed
      ? signInTexts[locale].linkDead
      : signInTexts[locale].tooMany(tries.retryAfterSeconds);
    return await deadEndPage(c, {
      title: t.confirmTitle,
      why,
      way: { href: path, text: t.again },
    });
  }
  const { email, locale: mailLocale } = open.grant;
  await subscribe(kv, { email, locale: mailLocale, confirmedAtMs: nowMs });
  return await formPage(
    c,
    { title: t.title, refused: false },
    <Card>
      <Notice tone="success">{t.done(email)}</Notice>
      <p class="muted">{t.doneHint}</p>
      <p>
        <a href="/status">{t.toStatus}</a>
      </p>
    </Card>,
  );
}

export const incidentMailPages: PageDeclaration<DashboardDeps> = {
  isPublicForm: true,
  routes: (deps) =>
    new Hono<DashboardEnv>()
      .get(path, (c) => askPage(c, { email: c.get("visitor").signedIn?.person.email }))
      .post(path, (c) => ask(c, deps))
      .get(confirmPath, confirmPage)
      .post(confirmPath, (c) => confirm(c, deps)),
};
