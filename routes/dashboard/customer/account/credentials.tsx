/** Changes the password and the e-mail address. Both ask for the current password and send a mail about the change. */
import { type Context, Hono } from "hono";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { passwordProblem } from "../../../../core/people/accounts/password_policy.ts";
import {
  changeEmail,
  setPasswordHash,
} from "../../../../kv/people/accounts/account_credentials.ts";
import { closeSessionsOf, forgetPlaces } from "../../../../kv/people/accounts/sessions.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import type { MailJob } from "../../../../core/people/mail/mail.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { readMailToken } from "../../../../kv/people/accounts/tokens.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { doneBy } from "../../visitor/doer.ts";
import { renderPage } from "../../frame/layout.tsx";
import { TokenField } from "../sign_in/mail_request.tsx";
import { startSession } from "../sign_in/start_session.ts";
import { signInTexts } from "../sign_in/texts.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { followAddress } from "../../../../kv/people/organisations/organisations.ts";
import { accountPage } from "./account_page.tsx";
import { passwordRefusal } from "./confirm.tsx";
import { accountTexts } from "./texts.ts";

async function queueMail(deps: DashboardDeps, job: MailJob): Promise<void> {
  const atomic = deps.kv.atomic();
  addMail(atomic, job, { nowMs: deps.clock.nowMs() });
  await atomic.commit();
  deps.hintMail();
}

async function changePassword(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const { person: account, session } = c.get("signedIn");
  const form = await readForm(c);
  const newPassword = form.exact("newPassword");
  const problem = passwordProblem(newPassword, account.email ?? "");
  if (problem !== undefined) {
    const errors = { newPassword: signInTexts[locale].passwordProblems[problem] };
    return await accountPage(c, deps, { errors });
  }
  const refusal = await passwordRefusal(c, deps, form.exact("currentPassword"));
  if (refusal !== undefined) {
    return await accountPage(c, deps, { errors: { currentPassword: refusal } });
  }
  await setPasswordHash(
    deps.kv,
    account.id,
    await deps.passwords.hash(newPassword),
    doneBy(c, deps.clock.nowMs()),
  );
  await closeSessionsOf(deps.kv, account.id);
  await forgetPlaces(deps.kv, account.id);
  await startSession(c, deps, account.id, session);
  if (account.email !== undefined) {
    await queueMail(deps, { kind: "password_changed", to: account.email, locale });
  }
  return c.redirect("/account?done=password", 303);
}

async function askForLink(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const { person: account } = c.get("signedIn");
  const { email } = account;
  const nowMs = deps.clock.nowMs();
  if (
    email !== undefined &&
    (await countTry(deps.kv, rateRules.mailByAccount, account.id, nowMs)).allowed
  ) {
    await queueMail(deps, { kind: "reset_password", to: email, locale });
  }
  return c.redirect("/account?done=link", 303);
}

async function askForNewEmail(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const { person: account } = c.get("signedIn");
  const form = await readForm(c);
  const email = normaliseEmail(form.text("newEmail"));
  if (email === undefined) {
    return await accountPage(c, deps, { errors: { newEmail: t.emailInvalid } });
  }
  const refusal = await passwordRefusal(c, deps, form.exact("emailPassword"));
  if (refusal !== undefined) {
    return await accountPage(c, deps, { errors: { emailPassword: refusal } });
  }
  const tries = await countTry(deps.kv, rateRules.mailToNewAddress, email, deps.clock.nowMs());
  if (tries.allowed) {
    const { id: accountId, email: oldEmail } = account;
    await queueMail(deps, { kind: "change_email", to: email, locale, accountId, oldEmail });
  }
  return await accountPage(c, deps, { notice: t.emailSent(email) });
}

function confirmPage(c: Context<DashboardEnv>, problem?: string) {
  const visitor = c.get("visitor");
  const t = accountTexts[visitor.locale];
  return renderPage(
    c,
    { title: t.confirmTitle, narrow: true, status: problem === undefined ? 200 : 422 },
    <Card>
      {problem === undefined
        ? (
          <PostForm visitor={visitor} action="/account/email/confirm">
            <TokenField token={undefined} locale={visitor.locale} />
            <SubmitButton>{t.confirmButton}</SubmitButton>
          </PostForm>
        )
        : <Notice tone="danger">{problem}</Notice>}
    </Card>,
  );
}

async function confirmNewEmail(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const { person: account, session } = c.get("signedIn");
  const token = (await readForm(c)).text("token");
  const open = await readMailToken(deps.kv, "change_email", token, deps.clock.nowMs());
  // Only the account that requested it, in a browser where it is signed in: a link in a stranger's hands changes
  // nothing.
  if (open === undefined || open.grant.accountId !== account.id || !await open.use()) {
    return await confirmPage(c, t.linkDead);
  }
  const { oldEmail: from, newEmail: to } = open.grant;
  const result = await changeEmail(
    deps.kv,
    account.id,
    { from, to },
    doneBy(c, deps.clock.nowMs()),
  );
  if (result !== "changed") {
    return await confirmPage(c, result === "taken" ? t.emailTaken : t.linkDead);
  }
  await followAddress(deps.kv, account.id);
  await closeSessionsOf(deps.kv, account.id);
  await forgetPlaces(deps.kv, account.id);
  await startSession(c, deps, account.id, session);
  if (from !== undefined) {
    await queueMail(deps, { kind: "email_changed", to: from, locale, newEmail: to });
  }
  return c.redirect("/account?done=email", 303);
}

/** Registers the forms below `/account` that change password and e-mail address. */
export function createCredentialPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .post("/account/password", (c) => changePassword(c, deps))
    .post("/account/password/link", (c) => askForLink(c, deps))
    .post("/account/email", (c) => askForNewEmail(c, deps))
    .get("/account/email/confirm", (c) => confirmPage(c))
    .post("/account/email/confirm", (c) => confirmNewEmail(c, deps));
}
