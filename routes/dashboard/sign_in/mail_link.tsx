/**
 * Sign-in by a mailed link, without a password. It stays available while strangers who guess passwords have used up the
 * budget of tries.
 */
import { type Context, Hono } from "hono";
import { normaliseEmail } from "../../../core/accounts/email_address.ts";
import { returnPath } from "../../../core/accounts/return_path.ts";
import { addMail } from "../../../kv/outbox/mail.ts";
import { countTryByAddress, rateRules } from "../../auth/rate_rules.ts";
import { countOpeningMail, linkWasUsed } from "../../auth/sign_in_budgets.ts";
import { Card, Notice, PostForm, SubmitButton } from "../components/mod.ts";
import { readForm } from "../form_data.ts";
import type { DashboardEnv, Visitor } from "../visitor/visitor.ts";
import type { SignInDeps } from "./deps.ts";
import { deadEndPage, EmailField, formPage, NextField } from "./form_parts.tsx";
import { mailSentPage, TokenField } from "./mail_pages.tsx";
import { findOpenable } from "./opening_grant.ts";
import { clientAddress, originOf, startSession } from "./start_session.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../page.ts";

interface LinkForm {
  readonly email?: string;
  readonly next?: string | undefined;
  readonly error?: string;
  readonly emailError?: string;
}

function askPage(c: Context<DashboardEnv>, form: LinkForm) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const refused = form.error ?? form.emailError;
  return formPage(
    c,
    { title: t.linkTitle, lead: t.linkLead, refused: refused !== undefined },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        <PostForm visitor={visitor} action="/sign-in/link">
          <NextField next={form.next} />
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

/** The button shown with a refused password try; the address is known, so one click is enough. */
export function LinkInstead({ email, next, visitor }: {
  email: string;
  next: string;
  visitor: Visitor;
}) {
  const t = signInTexts[visitor.locale];
  return (
    <PostForm visitor={visitor} action="/sign-in/link" class="before-form">
      <NextField next={next} />
      <input type="hidden" name="email" value={email} />
      <p>{t.linkInstead}</p>
      <SubmitButton tone="plain">{t.linkButton}</SubmitButton>
    </PostForm>
  );
}

async function ask(c: Context<DashboardEnv>, deps: SignInDeps) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const form = await readForm(c);
  const typed = form.text("email").slice(0, 254);
  const next = returnPath(form.text("next"), "/");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.linkByAddress;
  const byAddress = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!byAddress.allowed) {
    const error = t.tooMany(byAddress.retryAfterSeconds);
    return await askPage(c, { email: typed, next, error });
  }
  const email = normaliseEmail(typed);
  if (email === undefined) {
    return await askPage(c, { email: typed, next, emailError: t.emailInvalid });
  }
  const mail = { kind: "sign_in_link", email, nowMs } as const;
  // Beyond the budget no mail is sent, and the page is the same as always.
  if ((await countOpeningMail(deps.kv, mail, originOf(c, deps))).allowed) {
    const atomic = deps.kv.atomic();
    addMail(atomic, { kind: "sign_in_link", to: email, locale, next }, { nowMs });
    await atomic.commit();
    deps.hintMail();
  }
  return await mailSentPage(c, t.sentLink(email));
}

function enterPage(c: Context<DashboardEnv>, form: { token?: string; error?: string }) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return formPage(
    c,
    { title: t.signInTitle, refused: form.error !== undefined },
    <Card>
      {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
      <PostForm visitor={visitor} action="/sign-in/mail">
        <TokenField token={form.token} locale={visitor.locale} />
        <SubmitButton>{t.signInButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

async function enter(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const token = (await readForm(c)).text("token");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.tokenByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) {
    return await enterPage(c, { token, error: t.tooMany(tries.retryAfterSeconds) });
  }
  const found = await findOpenable(deps, "sign_in", token, nowMs);
  if (found === undefined || !await found.open.use()) {
    const way = { href: "/sign-in/link", text: t.startAgain };
    return await deadEndPage(c, { title: t.signInTitle, why: t.linkDead, way });
  }
  await linkWasUsed(deps.kv, found.account.email, nowMs);
  await startSession(c, deps, found.account.id, "mail");
  return c.redirect(returnPath(found.open.grant.next, "/"), 303);
}

/** Registers `/sign-in/link`, which requests the mail, and `/sign-in/mail`, where its link leads. */
function createMailLinkPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/sign-in/link", (c) => askPage(c, { next: returnPath(c.req.query("next"), "/") }))
    .post("/sign-in/link", (c) => ask(c, deps))
    .get("/sign-in/mail", (c) => enterPage(c, {}))
    .post("/sign-in/mail", (c) => enter(c, deps));
}

export const mailLinkPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createMailLinkPages,
};
