/**
 * `/organisation`: the forms that change an organisation, and the page of its management keys. Who may send them
 * is in `page/page_acts.ts`.
 *
 * - Folder `routes/dashboard/customer/organisation/`: the pages of organisations: members, invitations, teams, and
 *   between which ones a person switches.
 * - In: forms of a signed-in person.
 * - Out: HTML, and acts of `routes/acts/`.
 * - Never: decides by a role what is allowed.
 */
import { type Context, Hono } from "hono";
import type { z } from "zod";
import { accountName } from "../../../../kv/people/accounts/accounts.ts";
import { closingProblem } from "../../../../kv/people/organisations/organisations.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  closeOrganisation,
  readClosingState,
} from "../../../../kv/services/operations/account_closing.ts";
import {
  keyRulesChange,
  managementKeyCreation,
  managementKeyRevocation,
} from "../../../acts/keys.ts";
import type { Operation } from "../../../acts/operation.ts";
import {
  handOver,
  invitation,
  readmission,
  removal,
  renaming,
  roleChange,
  teamCreation,
  teamDeletion,
  withdrawal,
} from "../../../acts/people.ts";
import type { ActName } from "../../../acts/spending.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { performForm, refusalView, type RefusalViews, spentProblem } from "../../visitor/acting.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { createCallSettingsPages } from "../call_settings/call_settings_page.tsx";
import { createOwnKeysPages } from "../call_settings/own_keys_page.tsx";
import { createPresetPages } from "../call_settings/presets_page.tsx";
import { organisationPage, type OrganisationState, RoleTable } from "./organisation_page.tsx";
import { organisationTexts } from "./texts.ts";
import { createCompanySignInPages } from "./sign_in_page.tsx";
import { createOrganisationList } from "./organisations_page.tsx";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import {
  listManagementKeys,
  type ManagementKey,
  managementRoles,
} from "../../../../kv/people/management_keys/management_keys.ts";
import {
  Badge,
  Card,
  CopyButton,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { notAllowedPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { roleNames } from "../../text/role_names.ts";

type Texts = typeof organisationTexts["en"];
type Done = keyof Texts["done"];

/** Outcome of a form: a short name for the notice after the redirect, or what the page says instead. */
type Outcome = Done | OrganisationState;

/** An act of a form; it has passed the table of roles and acts. */
type FormAct = (
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  t: Texts,
) => Promise<Outcome>;

/** Words in which a form shows what came of an act; a field that people do not type says that it is gone. */
interface FormWords<Why extends string>
  extends Omit<RefusalViews<Why, OrganisationState>, "spent" | "otherwise"> {
  readonly done: Done;
}

/** Reads a form, performs the act, and says what came of it. */
function act<Name extends ActName, Input extends z.ZodType, Body, Why extends string>(
  operation: Operation<Name, Input, Body, Why>,
  inputOf: (form: PostedForm) => Readonly<Record<string, string>>,
  wordsOf: (t: Texts) => FormWords<Why>,
): FormAct {
  return async (c, deps, t) => {
    const sent = inputOf(await readForm(c));
    const outcome = await performForm(c, deps, operation, sent);
    const { done, ...words } = wordsOf(t);
    return outcome.ok ? done : refusalView(outcome, c.get("visitor").locale, {
      ...words,
      spent: (problem) => ({ problem }),
      otherwise: { problem: t.notMember },
    });
  };
}

const rename = act(renaming, (form) => ({ name: form.text("name") }), (t) => ({
  done: "named",
  refusals: { closed: { problem: t.gone } },
  fields: { name: { errors: { name: t.nameInvalid } } },
}));

const inviteMember = act(
  invitation,
  (form) => ({ email: form.text("email"), role: form.text("role") }),
  (t) => ({
    done: "invited",
    refusals: {
      member: { errors: { email: t.isMember } },
      too_many: { problem: t.tooManyInvitations },
    },
    fields: {
      email: { errors: { email: t.emailInvalid } },
      role: { problem: t.roleInvalid },
    },
  }),
);

const withdraw = act(withdrawal, (form) => ({ id: form.text("email") }), (t) => ({
  done: "withdrawn",
  refusals: { missing: { problem: t.gone } },
  fields: { id: { problem: t.gone } },
}));

const giveRole = act(
  roleChange,
  (form) => ({ id: form.text("person"), role: form.text("role") }),
  (t) => ({
    done: "role",
    refusals: { missing: { problem: t.notMember }, owner: { problem: t.notMember } },
    fields: { role: { problem: t.roleInvalid } },
  }),
);

const remove = act(removal, (form) => ({ id: form.text("person") }), (t) => ({
  done: "removed",
  refusals: { missing: { problem: t.notMember }, owner: { problem: t.notMember } },
}));

const readmit = act(readmission, (form) => ({ id: form.text("person") }), (t) => ({
  done: "readmitted",
  refusals: { missing: { problem: t.notRemoved } },
  fields: { id: { problem: t.notRemoved } },
}));

const addTeam = act(teamCreation, (form) => ({ name: form.text("teamName") }), (t) => ({
  done: "team",
  refusals: { taken: { errors: { team: t.teamTaken } }, too_many: { problem: t.tooManyTeams } },
  fields: { name: { errors: { team: t.nameInvalid } } },
}));

const removeTeam = act(teamDeletion, (form) => ({ id: form.text("team") }), (t) => ({
  done: "teamGone",
  refusals: { missing: { problem: t.teamGone } },
  fields: { id: { problem: t.teamGone } },
}));

const changeKeyRules = act(
  keyRulesChange,
  (form) => ({ movedBy: form.text("movedBy") }),
  (t) => ({ done: "keyRules", refusals: { closed: { problem: t.gone } } }),
);

const handOverForm = act(handOver, (form) => ({ to: form.text("newOwner") }), (t) => ({
  done: "handed",
  refusals: { missing: { problem: t.notMember }, too_many: { problem: t.ownsTooMany } },
}));

const handOverOwnership: FormAct = async (c, deps, t) => {
  const typed = (await readForm(c)).text("confirmation");
  return typed === accountName(c.get("signedIn").account)
    ? await handOverForm(c, deps, t)
    : { errors: { confirmation: t.confirmationWrong } };
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

/** Runs a form, and shows the organisation with its outcome. */
function onForm(deps: DashboardDeps, formAct: FormAct) {
  return async (c: Context<DashboardEnv>): Promise<Response> => {
    const outcome = await formAct(c, deps, organisationTexts[c.get("visitor").locale]);
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

// `/organisation/management-keys`: keys of the management API, made, listed and revoked.

interface KeysState {
  readonly notice?: string;
  readonly problem?: string;
  readonly nameError?: string;
  /** The secret that was just made. */
  readonly secret?: string;
}

async function keysPage(
  c: Context<DashboardEnv>,
  { kv }: DashboardDeps,
  state: KeysState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = organisationTexts[locale];
  const keys = await listManagementKeys(kv, c.get("signedIn").account.id);
  const failed = state.problem !== undefined || state.nameError !== undefined;
  return await renderPage(
    c,
    {
      title: t.managementKeys,
      lead: t.managementLead,
      status: failed ? 422 : 200,
      actions: <a href="/docs/api/organisation">{t.managementDocs}</a>,
    },
    <>
      {state.notice !== undefined && <Notice tone="success">{state.notice}</Notice>}
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.secret !== undefined && (
        <Card>
          <Notice tone="success">{t.madeText}</Notice>
          <code class="secret" id="secret">{state.secret}</code>
          <div class="actions">
            <CopyButton text={state.secret} what={t.key} locale={locale} />
          </div>
        </Card>
      )}
      <Card title={t.newManagementKey}>
        <PostForm
          visitor={visitor}
          action="/organisation/management-keys"
          class="inline-form"
        >
          <TextField
            name="name"
            label={t.managementName}
            maxlength={maxNameChars}
            required
            error={state.nameError}
          />
          <SelectField
            name="role"
            label={t.managementRole}
            value="admin"
            options={managementRoles.map((role) => ({
              value: role,
              label: roleNames[locale][role],
            }))}
          />
          <SubmitButton>{t.make}</SubmitButton>
        </PostForm>
        <RoleTable locale={locale} roles={managementRoles} />
      </Card>
      <Card title={t.managementKeys}>
        <KeyTable visitor={visitor} keys={keys} />
      </Card>
      <p>
        <a href="/organisation">← {t.backToOrganisation}</a>
      </p>
    </>,
  );
}

function KeyTable({ visitor, keys }: {
  readonly visitor: Visitor;
  readonly keys: readonly ManagementKey[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <DataTable
      label={t.managementKeys}
      rows={keys}
      empty={<p>{t.noManagementKeys}</p>}
      columns={[
        { head: t.managementName, kind: "long", cell: ({ name }) => name },
        { head: t.key, kind: "one-line", cell: ({ masked }) => <code>{masked}</code> },
        { head: t.managementRole, cell: ({ role }) => roleNames[locale][role] },
        {
          head: t.madeAt,
          kind: "one-line",
          wideOnly: true,
          cell: ({ createdAtMs }) => <Time atMs={createdAtMs} locale={locale} dateOnly />,
        },
        {
          head: t.acts,
          hiddenHead: true,
          kind: "buttons",
          cell: ({ id, name, revokedAtMs }) =>
            revokedAtMs !== undefined ? <Badge tone="neutral">{t.revoked}</Badge> : (
              <RowForm
                visitor={visitor}
                action="/organisation/management-keys/revoke"
                confirm={t.revokeSure(name)}
                field={["key", id]}
                label={t.revokeOne(name)}
              >
                {t.revoke}
              </RowForm>
            ),
        },
      ]}
    />
  );
}

async function makeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = organisationTexts[locale];
  const form = await readForm(c);
  const sent = { name: form.text("name"), role: form.text("role") };
  const outcome = await performForm(c, deps, managementKeyCreation, sent);
  if (outcome.ok) return await keysPage(c, deps, { secret: outcome.body.secret });
  const view = refusalView<"too_many", KeysState | undefined>(outcome, locale, {
    refusals: { too_many: { problem: t.tooManyManagementKeys } },
    fields: { name: { nameError: t.nameInvalid }, role: { problem: t.roleInvalid } },
    spent: (problem) => ({ problem }),
    otherwise: undefined,
  });
  return view === undefined ? await notAllowedPage(c) : await keysPage(c, deps, view);
}

async function revokeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = organisationTexts[locale];
  const sent = { id: (await readForm(c)).text("key") };
  const outcome = await performForm(c, deps, managementKeyRevocation, sent);
  if (outcome.ok) return await keysPage(c, deps, { notice: t.managementRevoked });
  return await keysPage(c, deps, {
    problem: spentProblem(outcome, locale) ?? t.managementKeyGone,
  });
}

/** Registers the pages of management keys. */
function createManagementKeyPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/organisation/management-keys", (c) => keysPage(c, deps))
    .post("/organisation/management-keys", (c) => makeKey(c, deps))
    .post("/organisation/management-keys/revoke", (c) => revokeKey(c, deps));
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
    .post("/organisation/key-rules", onForm(deps, changeKeyRules))
    .post("/organisation/hand-over", onForm(deps, handOverOwnership))
    .post("/organisation/delete", (c) => deleteOrganisation(c, deps))
    .route("/", createCallSettingsPages(deps))
    .route("/", createOwnKeysPages(deps))
    .route("/", createPresetPages(deps))
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
