/**
 * Mailed links: one signs in without a password, and stays available while strangers who guess passwords have used up
 * the budget of tries; another resets a forgotten password.
 */
import { type Context, Hono } from "hono";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { countTryByAddress, linkWasUsed, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PasswordField, PostForm, SubmitButton } from "../../components/mod.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { deadEndPage, formPage, NextField } from "./form_parts.tsx";
import { mailRequestPage, type RequestedMail, requestMail, TokenField } from "./mail_request.tsx";
import { findOpenable } from "./sign_up.tsx";
import { passFirstFactor } from "./start_session.ts";
import { clientAddress, whenceOf } from "../../visitor/doer.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { passwordProblem } from "../../../../core/people/accounts/password_policy.ts";
import { setPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { closeSessionsOf, forgetPlaces } from "../../../../kv/people/accounts/sessions.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import { personAt } from "../../../../kv/people/accounts/person_activity.ts";

const signInLink: RequestedMail = {
  kind: "sign_in_link",
  path: "/sign-in/link",
  rule: rateRules.linkByAddress,
  title: (t) => t.linkTitle,
  lead: (t) => t.linkLead,
  sent: (t, email) => t.sentLink(email),
  keepsNext: true,
  job: (mail) => ({ kind: "sign_in_link", ...mail }),
};

/** The button shown with a refused password try; the address is known, so one click is enough. */
export function LinkInstead({ email, next, visitor }: {
  email: string;
  next: string;
  visitor: Visitor;
}) {
  const t = signInTexts[visitor.locale];
  return (
    <PostForm visitor={visitor} action={signInLink.path} class="before-form">
      <NextField next={next} />
      <input type="hidden" name="email" value={email} />
      <p>{t.linkInstead}</p>
      <SubmitButton tone="plain">{t.linkButton}</SubmitButton>
    </PostForm>
  );
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
    const way = { href: signInLink.path, text: t.startAgain };
    return await deadEndPage(c, { title: t.signInTitle, why: t.linkDead, way });
  }
  await linkWasUsed(deps.kv, found.account.email, nowMs);
  const next = returnPath(found.open.grant.next, "/");
  return await passFirstFactor(c, deps, found.account.id, { method: "mail", next });
}

// Resets a forgotten password: requests a mail, then sets a new password.

const resetLink: RequestedMail = {
  kind: "reset_password",
  path: "/forgot",
  rule: rateRules.forgotByAddress,
  title: (t) => t.forgotTitle,
  lead: (t) => t.forgotLead,
  sent: (t, email) => t.sentForgot(email),
  keepsNext: false,
  job: ({ to, locale }) => ({ kind: "reset_password", to, locale }),
};

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
  const way = { href: resetLink.path, text: t.startAgain };
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
  const { id: accountId } = account;
  const by = personAt(account, whenceOf(c));
  const used = await open.use() &&
    await setPasswordHash(deps.kv, accountId, passwordHash, { by, nowMs });
  if (!used) return await deadLinkPage(c);
  await closeSessionsOf(deps.kv, account.id);
  await forgetPlaces(deps.kv, account.id);
  await linkWasUsed(deps.kv, account.email, nowMs);
  const atomic = deps.kv.atomic();
  const mailLocale = account.locale ?? locale;
  addMail(atomic, { kind: "password_changed", to: account.email, locale: mailLocale }, { nowMs });
  await atomic.commit();
  deps.hintMail();
  return await passFirstFactor(c, deps, account.id, { method: "password", next: "/" });
}

/** Registers `/forgot` and `/reset`. */
function createResetPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(resetLink.path, (c) => mailRequestPage(c, resetLink, {}))
    .post(resetLink.path, (c) => requestMail(c, deps, resetLink))
    .get("/reset", (c) => resetPage(c, {}))
    .post("/reset", (c) => reset(c, deps));
}

export const resetPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createResetPages,
};

/** Registers `/sign-in/link`, which requests the mail, and `/sign-in/mail`, where its link leads. */
function createMailLinkPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(
      signInLink.path,
      (c) => mailRequestPage(c, signInLink, { next: returnPath(c.req.query("next"), "/") }),
    )
    .post(signInLink.path, (c) => requestMail(c, deps, signInLink))
    .get("/sign-in/mail", (c) => enterPage(c, {}))
    .post("/sign-in/mail", (c) => enter(c, deps));
}

export const mailLinkPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createMailLinkPages,
};
