/** Resets a forgotten password: requests a mail, then sets a new password. */
import { type Context, Hono } from "hono";
import { normaliseEmail } from "../../../core/accounts/email_address.ts";
import { passwordProblem } from "../../../core/accounts/password_policy.ts";
import { setPasswordHash } from "../../../kv/accounts/account_credentials.ts";
import { forgetPlaces } from "../../../kv/accounts/known_places.ts";
import { addMail } from "../../../kv/outbox/mail.ts";
import { closeSessionsOf } from "../../../kv/accounts/sessions.ts";
import { countTryByAddress, rateRules } from "../../auth/rate_rules.ts";
import { countOpeningMail, linkWasUsed } from "../../auth/sign_in_budgets.ts";
import { Card, Notice, PasswordField, PostForm, SubmitButton } from "../components/mod.ts";
import { readForm } from "../form_data.ts";
import type { DashboardEnv } from "../visitor/visitor.ts";
import type { SignInDeps } from "./deps.ts";
import { deadEndPage, EmailField, formPage } from "./form_parts.tsx";
import { mailSentPage, TokenField } from "./mail_pages.tsx";
import { findOpenable } from "./opening_grant.ts";
import { clientAddress, originOf, startSession } from "./start_session.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../page.ts";

function forgotPage(
  c: Context<DashboardEnv>,
  form: { email?: string; error?: string; emailError?: string },
) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  const refused = form.error ?? form.emailError;
  return formPage(
    c,
    { title: t.forgotTitle, lead: t.forgotLead, refused: refused !== undefined },
    <>
      <Card>
        {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
        <PostForm visitor={visitor} action="/forgot">
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

async function forgot(c: Context<DashboardEnv>, deps: SignInDeps) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const typed = (await readForm(c)).text("email").slice(0, 254);
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.forgotByAddress;
  const byAddress = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!byAddress.allowed) {
    return await forgotPage(c, { email: typed, error: t.tooMany(byAddress.retryAfterSeconds) });
  }
  const email = normaliseEmail(typed);
  if (email === undefined) {
    return await forgotPage(c, { email: typed, emailError: t.emailInvalid });
  }
  const mail = { kind: "reset_password", email, nowMs } as const;
  if ((await countOpeningMail(deps.kv, mail, originOf(c, deps))).allowed) {
    const atomic = deps.kv.atomic();
    addMail(atomic, { kind: "reset_password", to: email, locale }, { nowMs });
    await atomic.commit();
    deps.hintMail();
  }
  return await mailSentPage(c, t.sentForgot(email));
}

function resetPage(c: Context<DashboardEnv>, form: { token?: string; passwordError?: string }) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return formPage(
    c,
    { title: t.resetTitle, lead: t.resetLead, refused: form.passwordError !== undefined },
    <Card>
      <PostForm visitor={visitor} action="/reset">
        <TokenField token={form.token} locale={visitor.locale} />
        <PasswordField
          name="password"
          of="future"
          label={t.newPassword}
          hint={t.passwordHint}
          error={form.passwordError}
        />
        <SubmitButton>{t.resetButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

function deadLinkPage(c: Context<DashboardEnv>) {
  const t = signInTexts[c.get("visitor").locale];
  const way = { href: "/forgot", text: t.startAgain };
  return deadEndPage(c, { title: t.resetTitle, why: t.linkDead, way });
}

async function reset(c: Context<DashboardEnv>, deps: SignInDeps) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const form = await readForm(c);
  const token = form.text("token");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.tokenByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) {
    return await resetPage(c, { token, passwordError: t.tooMany(tries.retryAfterSeconds) });
  }
  const found = await findOpenable(deps, "reset_password", token, nowMs);
  if (found === undefined) return await deadLinkPage(c);
  const { open, account } = found;
  const password = form.exact("password");
  const problem = passwordProblem(password, account.email);
  if (problem !== undefined) {
    return await resetPage(c, { token, passwordError: t.passwordProblems[problem] });
  }
  const passwordHash = await deps.passwords.hash(password);
  const used = await open.use() && await setPasswordHash(deps.kv, account.id, passwordHash);
  if (!used) return await deadLinkPage(c);
  await closeSessionsOf(deps.kv, account.id);
  await forgetPlaces(deps.kv, account.id);
  await linkWasUsed(deps.kv, account.email, nowMs);
  const atomic = deps.kv.atomic();
  const mailLocale = account.locale ?? locale;
  addMail(atomic, { kind: "password_changed", to: account.email, locale: mailLocale }, { nowMs });
  await atomic.commit();
  deps.hintMail();
  await startSession(c, deps, account.id, "password");
  return c.redirect("/", 303);
}

/** Registers `/forgot` and `/reset`. */
function createResetPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/forgot", (c) => forgotPage(c, {}))
    .post("/forgot", (c) => forgot(c, deps))
    .get("/reset", (c) => resetPage(c, {}))
    .post("/reset", (c) => reset(c, deps));
}

export const resetPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createResetPages,
};
