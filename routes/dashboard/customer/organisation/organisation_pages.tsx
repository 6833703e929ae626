/**
 * `/organisation`: the forms by which an organisation is changed. Who may send them is in `page/page_acts.ts`.
 *
 * - Folder `routes/dashboard/customer/organisation/`: the pages of organisations: members, invitations, teams, and
 *   between which ones a person switches.
 * - In: forms of a signed-in person.
 * - Out: HTML, changed rows in `kv/people/organisations/`.
 * - Never: decides by a role what is allowed.
 */
import { type Context, Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { parseGivenRole } from "../../../../core/people/organisations/acts.ts";
import { parseName } from "../../../../core/people/organisations/organisation.ts";
import { accountName } from "../../../../kv/people/accounts/accounts.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import { endInvitation, invite } from "../../../../kv/people/organisations/invitations.ts";
import { changeRole, removeMember } from "../../../../kv/people/organisations/members.ts";
import { readmitMember } from "../../../../kv/people/organisations/removed_members.ts";
import {
  closingProblem,
  handOver,
  renameOrganisation,
} from "../../../../kv/people/organisations/organisations.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  closeOrganisation,
  readClosingState,
} from "../../../../kv/services/operations/account_closing.ts";
import { createTeam, deleteTeam } from "../../../../kv/people/organisations/teams.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { doneBy } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { createManagementKeyPages } from "./management_keys_page.tsx";
import { organisationPage, type OrganisationState } from "./organisation_page.tsx";
import { organisationTexts } from "./texts.ts";
import { createCompanySignInPages } from "./sign_in_page.tsx";
import { createOrganisationList } from "./organisations_page.tsx";

type Texts = typeof organisationTexts["en"];
type Done = keyof Texts["done"];

/** What a form did: a short name for the notice after the redirect, or what the page says instead. */
type Outcome = Done | OrganisationState;

/** An act of a form; it has passed the table of roles and acts. */
type FormAct = (
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  t: Texts,
) => Promise<Outcome>;

const rename: FormAct = async (c, { kv, clock }, t) => {
  const name = parseName((await readForm(c)).text("name"));
  if (name === undefined) return { errors: { name: t.nameInvalid } };
  await renameOrganisation(kv, c.get("signedIn").account.id, name, doneBy(c, clock.nowMs()));
  return "named";
};

const inviteMember: FormAct = async (c, { kv, clock, hintMail }, t) => {
  const { account, person } = c.get("signedIn");
  const form = await readForm(c);
  const email = normaliseEmail(form.text("email"));
  const role = parseGivenRole(form.text("role"));
  if (email === undefined) return { errors: { email: t.emailInvalid } };
  if (role === undefined) return { problem: t.roleInvalid };
  const nowMs = clock.nowMs();
  const tries = await countTry(kv, rateRules.mailToNewAddress, email, nowMs);
  if (!tries.allowed) return { errors: { email: t.tooMany(tries.retryAfterSeconds) } };
  const { locale } = c.get("visitor");
  const inviter = person.email ?? person.id;
  const done = doneBy(c, nowMs);
  const result = await invite(kv, account.id, { email, role, inviter, locale, ...done });
  if (result === "member") return { errors: { email: t.isMember } };
  if (result === "too_many") return { problem: t.tooManyInvitations };
  hintMail();
  return "invited";
};

const withdraw: FormAct = async (c, { kv, clock }) => {
  const email = (await readForm(c)).text("email");
  const done = doneBy(c, clock.nowMs());
  await endInvitation(kv, c.get("signedIn").account.id, email, done);
  return "withdrawn";
};

const giveRole: FormAct = async (c, { kv, clock }, t) => {
  const form = await readForm(c);
  const personId = parseId("account", form.text("person"));
  const role = parseGivenRole(form.text("role"));
  if (role === undefined) return { problem: t.roleInvalid };
  const { account } = c.get("signedIn");
  const isChanged = personId !== undefined &&
    await changeRole(kv, account.id, personId, role, doneBy(c, clock.nowMs()));
  return isChanged ? "role" : { problem: t.notMember };
};

const remove: FormAct = async (c, { kv, clock, control }, t) => {
  const personId = parseId("account", (await readForm(c)).text("person"));
  const { account } = c.get("signedIn");
  const isRemoved = personId !== undefined &&
    await removeMember(kv, account.id, personId, {
      ...doneBy(c, clock.nowMs()),
    });
  await control.refresh();
  return isRemoved ? "removed" : { problem: t.notMember };
};

const readmit: FormAct = async (c, { kv, clock }, t) => {
  const personId = parseId("account", (await readForm(c)).text("person"));
  const { account } = c.get("signedIn");
  const isReadmitted = personId !== undefined &&
    await readmitMember(kv, account.id, personId, doneBy(c, clock.nowMs()));
  return isReadmitted ? "readmitted" : { problem: t.notRemoved };
};

const addTeam: FormAct = async (c, { kv, clock }, t) => {
  const name = parseName((await readForm(c)).text("teamName"));
  if (name === undefined) return { errors: { team: t.nameInvalid } };
  const { account } = c.get("signedIn");
  const team = await createTeam(kv, account.id, { name, ...doneBy(c, clock.nowMs()) });
  if (team === "taken") return { errors: { team: t.teamTaken } };
  return team === "too_many" ? { problem: t.tooManyTeams } : "team";
};

const removeTeam: FormAct = async (c, { kv, clock }) => {
  const teamId = parseId("team", (await readForm(c)).text("team"));
  const { account } = c.get("signedIn");
  if (teamId !== undefined) await deleteTeam(kv, account.id, teamId, doneBy(c, clock.nowMs()));
  return "teamGone";
};

const handOverOwnership: FormAct = async (c, { kv, clock, hintMail }, t) => {
  const { account, person } = c.get("signedIn");
  const form = await readForm(c);
  if (form.text("confirmation") !== accountName(account)) {
    return { errors: { confirmation: t.confirmationWrong } };
  }
  const to = parseId("account", form.text("newOwner"));
  const nowMs = clock.nowMs();
  const result = to === undefined
    ? "not_member"
    : await handOver(kv, account.id, { from: person, to, ...doneBy(c, nowMs) });
  if (result === "not_member") return { problem: t.notMember };
  if (result === "too_many") return { problem: t.ownsTooMany };
  hintMail();
  return "handed";
};

/** Closes the organisation, if nothing of it still runs, and its owner has given up what is in the wallet, as shown. */
async function deleteOrganisation(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<Response> {
  const { kv, clock, control } = deps;
  const t = organisationTexts[c.get("visitor").locale];
  const { account, person } = c.get("signedIn");
  const form = await readForm(c);
  if (form.text("deletion") !== accountName(account)) {
    return await organisationPage(c, deps, { errors: { deletion: t.confirmationWrong } });
  }
  const nowMs = clock.nowMs();
  const problem = await closingProblem(kv, account, person);
  const { balanceMicroVnd, obstacles } = await readClosingState(deps, account.id, nowMs);
  if (problem !== undefined || obstacles.length > 0) {
    const deletion = problem === undefined ? t.stillRuns : t.closingProblems[problem];
    return await organisationPage(c, deps, { errors: { deletion } });
  }
  const givenUpMicroVnd = balanceMicroVnd > 0n ? balanceMicroVnd : 0n;
  if (givenUpMicroVnd > 0n && form.text("giveUp") !== formatVnd(givenUpMicroVnd)) {
    return await organisationPage(c, deps, { errors: { giveUp: t.giveUpMissing } });
  }
  await closeOrganisation(kv, account.id, { nowMs, givenUpMicroVnd });
  await control.refresh();
  return c.redirect("/organisations", 303);
}

/** Runs a form, counted with the other changes of the person, and shows the organisation with its outcome. */
function onForm(deps: DashboardDeps, act: FormAct) {
  return async (c: Context<DashboardEnv>): Promise<Response> => {
    const t = organisationTexts[c.get("visitor").locale];
    const { person } = c.get("signedIn");
    const rule = rateRules.changesByAccount;
    const tries = await countTry(deps.kv, rule, person.id, deps.clock.nowMs());
    const outcome: Outcome = tries.allowed
      ? await act(c, deps, t)
      : { problem: t.tooMany(tries.retryAfterSeconds) };
    return typeof outcome === "string"
      ? c.redirect(`/organisation?done=${outcome}`, 303)
      : await organisationPage(c, deps, outcome);
  };
}

async function showOrganisation(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { done } = organisationTexts[c.get("visitor").locale];
  const notice = Object.entries(done).find(([name]) => name === c.req.query("done"))?.[1];
  return await organisationPage(c, deps, notice === undefined ? {} : { notice });
}

function createOrganisationPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/organisation/*", requireAccount)
    .get("/organisation", (c) => showOrganisation(c, deps))
    .post("/organisation/name", onForm(deps, rename))
    .post("/organisation/invitations", onForm(deps, inviteMember))
    .post("/organisation/invitations/withdraw", onForm(deps, withdraw))
    .post("/organisation/members/role", onForm(deps, giveRole))
    .post("/organisation/members/remove", onForm(deps, remove))
    .post("/organisation/members/readmit", onForm(deps, readmit))
    .post("/organisation/teams", onForm(deps, addTeam))
    .post("/organisation/teams/delete", onForm(deps, removeTeam))
    .post("/organisation/hand-over", onForm(deps, handOverOwnership))
    .post("/organisation/delete", (c) => deleteOrganisation(c, deps))
    .route("/", createManagementKeyPages(deps))
    .route("/", createCompanySignInPages(deps))
    .route("/", createOrganisationList(deps));
}

export const organisationPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/organisation",
    icon: "people",
    group: "account",
    label: { en: "Organisation", vi: "Tổ chức" },
  },
  routes: createOrganisationPages,
};
