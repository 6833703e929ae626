/**
 * `/account`: registers the page and handles its acts, among them a new password and e-mail address.
 *
 * - Folder `routes/dashboard/customer/account/`: the page of the account: credentials, sessions, invoice
 *   data, leaving.
 * - In: forms of a signed-in customer.
 * - Out: HTML, changed rows in `kv/people/accounts/`, mails in the outbox.
 * - Never: shows a password or its hash.
 */
import { type Context, Hono } from "hono";
import { defined } from "../../../../core/lib/base/defined.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { readSettingsForm } from "../../../../core/trade/invoices/invoice.ts";
import {
  changeEmail,
  getPasswordHash,
  setPasswordHash,
} from "../../../../kv/people/accounts/account_credentials.ts";
import { writeActivity } from "../../../../kv/people/audit/account_activity.ts";
import {
  closeAccount,
  readClosingState,
} from "../../../../kv/services/operations/account_closing.ts";
import {
  closeSessionById,
  closeSessionsOf,
  forgetPlaces,
} from "../../../../kv/people/accounts/sessions.ts";
import { billingChange } from "../../../acts/money.ts";
import { secondFactorRequirement } from "../../../acts/sign_in.ts";
import { Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import { createCookies } from "../../visitor/cookies.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import { performForm, spentProblem } from "../../visitor/acting.ts";
import { doneBy, personDoer } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { postedBuyer, refusedFields, sentBuyer } from "../invoices/invoices_form.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  followAddress,
  listMemberships,
  organisationFacts,
} from "../../../../kv/people/organisations/organisations.ts";
import { accountPage, type AccountPageState, requirementPath } from "./account_page.tsx";
import { createConfirmPages, passwordRefusal, requireFresh } from "./confirm.tsx";
import { accountDataFile } from "../../../usage_api/account_data.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { saveMailSwitches } from "./mail_switches.tsx";
import { createSecurityPages } from "./security_page.tsx";
import { accountTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { passwordProblem } from "../../../../core/people/accounts/password_policy.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import type { MailJob } from "../../../../core/people/mail/mail.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { readMailToken } from "../../../../kv/people/accounts/tokens.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import { TokenField } from "../sign_in/mail_request.tsx";
import { startSession } from "../sign_in/start_session.ts";
import { signInTexts } from "../sign_in/texts.ts";

/** The messages that a redirect back to the page can show. */
const announcements = {
  password: "passwordChanged",
  link: "linkSent",
  email: "emailChanged",
  invoice: "invoiceSaved",
  mails: "mailsSaved",
  required: "secondFactorRequired",
  "not-required": "secondFactorNotRequired",
} as const;

function showAccount(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const t = accountTexts[c.get("visitor").locale];
  const done = Object.entries(announcements).find(([name]) => name === c.req.query("done"));
  return accountPage(c, deps, done === undefined ? {} : { notice: t[done[1]] });
}

async function saveInvoiceDetails(c: Context<DashboardEnv>, deps: DashboardDeps) {
  if (!deps.offers.invoices) return await notFoundPage(c);
  const form = postedBuyer(await readForm(c));
  const saved = await performForm(c, deps, billingChange, sentBuyer(form));
  if (saved.ok) return c.redirect("/account?done=invoice", 303);
  if ("why" in saved && saved.why === "busy") {
    throw new GatewayError("overloaded", "The account has just changed");
  }
  const problems = refusedFields(saved, readSettingsForm(form));
  const problem = spentProblem(saved, c.get("visitor").locale);
  return await accountPage(c, deps, { invoice: { form, problems }, ...defined({ problem }) });
}

/** Requires a second factor of everybody, or no longer. */
async function switchRequirement(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const isRequired = (await readForm(c)).yesOrNo("required");
  const changed = await performForm(c, deps, secondFactorRequirement, { isRequired });
  if (changed.ok) {
    return c.redirect(`/account?done=${isRequired ? "required" : "not-required"}`, 303);
  }
  const problem = spentProblem(changed, c.get("visitor").locale);
  return problem === undefined
    ? await notFoundPage(c)
    : await accountPage(c, deps, { errors: {}, problem });
}

/** Whether the form is from the owner of the account: it names the address, and the password if there is one. */
async function deletionErrors(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  form: PostedForm,
): Promise<AccountPageState["errors"]> {
  const t = accountTexts[c.get("visitor").locale];
  const { person: account } = c.get("signedIn");
  const typed = form.text("confirmation").toLowerCase();
  if (typed !== (account.email ?? account.id)) return { confirmation: t.deletionWrong };
  if (await getPasswordHash(deps.kv, account.id) === undefined) return undefined;
  const refusal = await passwordRefusal(c, deps, form.exact("deletionPassword"));
  return refusal === undefined ? undefined : { deletionPassword: refusal };
}

/** Deletes the account, if nothing of it still runs, and its owner has given up what is in the wallet, as it was shown. */
async function deleteAccount(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const t = accountTexts[c.get("visitor").locale];
  const { person: account } = c.get("signedIn");
  const form = await readForm(c);
  const errors = await deletionErrors(c, deps, form);
  if (errors !== undefined) return await accountPage(c, deps, { errors });
  const { ownerId, memberCount } = organisationFacts(account);
  const isOwn = ownerId === account.id;
  const others = (await listMemberships(deps.kv, account))
    .filter((one) => one.account.id !== account.id);
  if ((isOwn && memberCount > 1) || others.some(({ role }) => role === "owner")) {
    return await accountPage(c, deps, { errors: { confirmation: t.deletionOwns } });
  }
  const nowMs = deps.clock.nowMs();
  const line = { accountId: account.id, by: personDoer(c), atMs: nowMs };
  await writeActivity(deps.kv, { ...line, act: "deletion_requested" });
  const closing = isOwn ? await readClosingState(deps, account.id, nowMs) : undefined;
  const { balanceMicroVnd = 0n, obstacles = [] } = closing ?? {};
  if (obstacles.length > 0) return await accountPage(c, deps, { errors: { obstacles } });
  const givenUpMicroVnd = balanceMicroVnd > 0n ? balanceMicroVnd : 0n;
  if (givenUpMicroVnd > 0n && form.text("giveUp") !== formatVnd(givenUpMicroVnd)) {
    return await accountPage(c, deps, { errors: { giveUp: t.giveUpMissing } });
  }
  for (const { account: { id } } of others) {
    await removeMember(deps.kv, id, account.id, { isDeleted: true, nowMs });
  }
  await closeAccount(deps.kv, account.id, { nowMs, givenUpMicroVnd });
  await deps.control.refresh();
  createCookies(deps.baseUrl).remove(c, "session");
  return c.redirect("/goodbye", 303);
}

/** Sends everything that the account has. */
async function downloadData(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { account, person } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const line = { accountId: account.id, by: personDoer(c), atMs: nowMs };
  await writeActivity(deps.kv, { ...line, act: "data_exported" });
  return await accountDataFile({
    kv: deps.kv,
    account,
    person,
    nowMs,
    masterKeys: deps.masterKeys,
  });
}

function goodbyePage(c: Context<DashboardEnv>) {
  const t = accountTexts[c.get("visitor").locale];
  return renderPage(
    c,
    { title: t.deletedTitle, narrow: true },
    <Card>
      <p>{t.deletedText}</p>
    </Card>,
  );
}

// Changes the password and the e-mail address. Both ask for the current password and send a mail about the change.

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
function createCredentialPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .post("/account/password", (c) => changePassword(c, deps))
    .post("/account/password/link", (c) => askForLink(c, deps))
    .post("/account/email", (c) => askForNewEmail(c, deps))
    .get("/account/email/confirm", (c) => confirmPage(c))
    .post("/account/email/confirm", (c) => confirmNewEmail(c, deps));
}

function createAccountPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/account/*", requireAccount)
    .route("/", createCredentialPages(deps))
    .route("/", createConfirmPages(deps))
    .route("/", createSecurityPages(deps))
    .get("/account", (c) => showAccount(c, deps))
    .post("/account/sessions/sign-out", async (c) => {
      const id = (await readForm(c)).text("session");
      const done = doneBy(c, deps.clock.nowMs());
      await closeSessionById(deps.kv, c.get("signedIn").person.id, id.slice(0, 64), done);
      return c.redirect("/account", 303);
    })
    .post("/account/sessions/sign-out-others", async (c) => {
      const { person, session } = c.get("signedIn");
      const done = doneBy(c, deps.clock.nowMs());
      await closeSessionsOf(deps.kv, person.id, session.id, done);
      return c.redirect("/account", 303);
    })
    .post(requirementPath, requireFresh(deps, "/account"), (c) => switchRequirement(c, deps))
    .post("/account/invoice", (c) => saveInvoiceDetails(c, deps))
    .post("/account/mails", (c) => saveMailSwitches(c, deps))
    .get("/account/data.ndjson", (c) => downloadData(c, deps))
    .post("/account/delete", (c) => deleteAccount(c, deps))
    .get("/goodbye", goodbyePage);
}

export const accountPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/account",
    icon: "account",
    group: "account",
    label: { en: "Account", vi: "Tài khoản" },
  },
  routes: createAccountPages,
};
