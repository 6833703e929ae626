/**
 * `/account`: registers the page and handles its acts.
 *
 * - Folder `routes/dashboard/customer/account/`: the page of the account: credentials, sessions, invoice
 *   data, leaving.
 * - In: forms of a signed-in customer.
 * - Out: HTML, changed rows in `kv/people/accounts/`, mails in the outbox.
 * - Never: shows a password or its hash.
 */
import { type Context, Hono } from "hono";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { readSettingsForm } from "../../../../core/trade/invoices/invoice.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { forgetActivity } from "../../../../kv/people/audit/account_activity.ts";
import { forgetPerson } from "../../../../kv/people/accounts/accounts.ts";
import { revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { setInvoiceSettings } from "../../../../kv/money/invoices/invoices.ts";
import {
  closeSessionById,
  closeSessionsOf,
  forgetPlaces,
} from "../../../../kv/people/accounts/sessions.ts";
import { Card } from "../../components/mod.ts";
import { createCookies } from "../../visitor/cookies.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { doneNow } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { postedBuyer } from "../invoices/invoices_form.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  listMemberships,
  organisationFacts,
} from "../../../../kv/people/organisations/organisations.ts";
import { accountPage } from "./account_page.tsx";
import { createConfirmPages, passwordRefusal } from "./confirm.tsx";
import { createCredentialPages } from "./credentials.tsx";
import { saveMailSwitches } from "./mail_switches.tsx";
import { createRequirementForm } from "./requirement.tsx";
import { createSecurityPages } from "./security_page.tsx";
import { accountTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

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
  const read = readSettingsForm(form);
  if (!read.ok) return await accountPage(c, deps, { invoice: { form, problems: read.problems } });
  const { account } = c.get("signedIn");
  if (
    !await setInvoiceSettings(deps.kv, account.id, read.settings, doneNow(c, deps.clock.nowMs()))
  ) {
    throw new GatewayError("overloaded", "The account has just changed");
  }
  return c.redirect("/account?done=invoice", 303);
}

/**
 * Deletes the person's data and keeps the amounts. The order leaves no working credential behind if the process crashes
 * in between.
 */
async function deleteAccount(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const t = accountTexts[c.get("visitor").locale];
  const { person: account } = c.get("signedIn");
  const form = await readForm(c);
  const typed = form.text("confirmation").toLowerCase();
  if (typed !== (account.email ?? account.id)) {
    return await accountPage(c, deps, { errors: { confirmation: t.deletionWrong } });
  }
  if (await getPasswordHash(deps.kv, account.id) !== undefined) {
    const refusal = await passwordRefusal(c, deps, form.exact("deletionPassword"));
    if (refusal !== undefined) {
      return await accountPage(c, deps, { errors: { deletionPassword: refusal } });
    }
  }
  const { ownerId, memberCount } = organisationFacts(account);
  const isAlone = ownerId !== account.id || memberCount === 1;
  const others = (await listMemberships(deps.kv, account)).filter((one) =>
    one.account.id !== account.id
  );
  if (!isAlone || others.some(({ role }) => role === "owner")) {
    return await accountPage(c, deps, { errors: { confirmation: t.deletionOwns } });
  }
  const nowMs = deps.clock.nowMs();
  for (const { account: { id } } of others) {
    await removeMember(deps.kv, id, account.id, { revokesKeys: true, isDeleted: true, nowMs });
  }
  await forgetPerson(deps.kv, account.id, nowMs);
  if (ownerId === account.id) {
    for (const key of await listApiKeys(deps.kv, account.id)) {
      await revokeApiKey(deps.kv, account.id, key.id, nowMs);
    }
    await forgetActivity(deps.kv, account.id);
  }
  await closeSessionsOf(deps.kv, account.id);
  await forgetPlaces(deps.kv, account.id);
  await deps.control.refresh();
  createCookies(deps.baseUrl).remove(c, "session");
  return c.redirect("/goodbye", 303);
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

function createAccountPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/account/*", requireAccount)
    .route("/", createCredentialPages(deps))
    .route("/", createConfirmPages(deps))
    .route("/", createSecurityPages(deps))
    .route("/", createRequirementForm(deps))
    .get("/account", (c) => showAccount(c, deps))
    .post("/account/sessions/sign-out", async (c) => {
      const id = (await readForm(c)).text("session");
      await closeSessionById(deps.kv, c.get("signedIn").person.id, id.slice(0, 64));
      return c.redirect("/account", 303);
    })
    .post("/account/sessions/sign-out-others", async (c) => {
      const { person, session } = c.get("signedIn");
      await closeSessionsOf(deps.kv, person.id, session.id);
      return c.redirect("/account", 303);
    })
    .post("/account/invoice", (c) => saveInvoiceDetails(c, deps))
    .post("/account/mails", (c) => saveMailSwitches(c, deps))
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
