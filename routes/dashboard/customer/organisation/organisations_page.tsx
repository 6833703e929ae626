/** `/organisations`: the organisations of a person: switched, made, joined, left. None of it needs a role. */
import { type Context, Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { maxNameChars, parseName } from "../../../../core/lib/base/names.ts";
import { accountName } from "../../../../kv/people/accounts/accounts.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  acceptInvitation,
  endInvitation,
  listInvitationsFor,
  type ReceivedInvitation,
} from "../../../../kv/people/organisations/invitations.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  createOrganisation,
  isAdmitted,
  listMemberships,
  type Membership,
  organisationFacts,
  readMembership,
} from "../../../../kv/people/organisations/organisations.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import {
  Badge,
  Card,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, SignedIn, Visitor } from "../../page/visitor.ts";
import { roleNames } from "../../text/role_names.ts";
import { spentWords } from "../../visitor/acting.ts";
import { actFor } from "../../visitor/acting_organisation.ts";
import { doneBy } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { companyPath } from "../sign_in/company.tsx";
import { signInTexts } from "../sign_in/texts.ts";
import { organisationTexts } from "./texts.ts";

interface ListState {
  readonly notice?: string;
  readonly problem?: string;
  readonly nameError?: string;
}

/** Shows the organisations of the signed-in person, and the invitations for their address. */
async function listPage(
  c: Context<DashboardEnv>,
  { kv, clock }: DashboardDeps,
  state: ListState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const signedIn = c.get("signedIn");
  const { person } = signedIn;
  const t = organisationTexts[visitor.locale];
  const [memberships, received] = await Promise.all([
    listMemberships(kv, person),
    person.email === undefined ? [] : listInvitationsFor(kv, person.email, clock.nowMs()),
  ]);
  const failed = state.problem !== undefined || state.nameError !== undefined;
  return await renderPage(
    c,
    { title: t.listTitle, lead: t.listLead, status: failed ? 422 : 200 },
    <>
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.notice !== undefined && <Notice tone="warning">{state.notice}</Notice>}
      {received.length > 0 && <Received visitor={visitor} received={received} />}
      <Card title={t.listTitle}>
        <Memberships visitor={visitor} signedIn={signedIn} memberships={memberships} />
      </Card>
      <Card title={t.create}>
        <p class="muted">{t.createText}</p>
        <PostForm visitor={visitor} action="/organisations">
          <TextField
            name="name"
            label={t.name}
            maxlength={maxNameChars}
            required
            error={state.nameError}
          />
          <SubmitButton tone="plain">{t.createButton}</SubmitButton>
        </PostForm>
      </Card>
    </>,
  );
}

function OrganisationField({ id }: { id: AccountId }) {
  return <input type="hidden" name="organisation" value={id} />;
}

function Received({ visitor, received }: {
  readonly visitor: Visitor;
  readonly received: readonly ReceivedInvitation[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <Card title={t.received}>
      {received.map(({ organisation, inviter, role }) => (
        <div class="invitation">
          <p>{t.receivedText(accountName(organisation), inviter, roleNames[locale][role])}</p>
          <div class="actions">
            <PostForm visitor={visitor} action="/organisations/accept">
              <OrganisationField id={organisation.id} />
              <SubmitButton small>{t.accept}</SubmitButton>
            </PostForm>
            <PostForm visitor={visitor} action="/organisations/decline">
              <OrganisationField id={organisation.id} />
              <SubmitButton tone="plain" small>{t.decline}</SubmitButton>
            </PostForm>
          </div>
        </div>
      ))}
    </Card>
  );
}

function Memberships({ visitor, signedIn, memberships }: {
  readonly visitor: Visitor;
  readonly signedIn: SignedIn;
  readonly memberships: readonly Membership[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  const isShown = ({ account }: Membership) => account.id === signedIn.account.id;
  return (
    <DataTable
      label={t.listTitle}
      rows={memberships}
      columns={[
        {
          head: t.organisation,
          kind: "long",
          cell: (one) =>
            isShown(one)
              ? (
                <>
                  <a href="/organisation">{accountName(one.account)}</a>{" "}
                  <Badge tone="good">{t.current}</Badge>
                </>
              )
              : accountName(one.account),
        },
        { head: t.role, cell: ({ role }) => roleNames[locale][role] },
        {
          head: t.memberCount,
          kind: "number",
          cell: ({ account }) => organisationFacts(account).memberCount,
        },
        {
          head: t.acts,
          hiddenHead: true,
          kind: "buttons",
          cell: (one) => (
            <>
              {!isShown(one) && (isAdmitted(one, signedIn.session)
                ? <SwitchForm visitor={visitor} membership={one} />
                : (
                  <a class="button outline small" href={companyPath}>
                    {signInTexts[locale].companyWay}
                  </a>
                ))}
              {one.role !== "owner" && <LeaveForm visitor={visitor} membership={one} />}
            </>
          ),
        },
      ]}
    />
  );
}

function SwitchForm({ visitor, membership: { account } }: {
  readonly visitor: Visitor;
  readonly membership: Membership;
}) {
  const t = organisationTexts[visitor.locale];
  return (
    <RowForm
      visitor={visitor}
      action="/organisations/switch"
      field={["organisation", account.id]}
      label={t.switchOne(accountName(account))}
    >
      {t.switchTo}
    </RowForm>
  );
}

function LeaveForm({ visitor, membership: { account } }: {
  readonly visitor: Visitor;
  readonly membership: Membership;
}) {
  const t = organisationTexts[visitor.locale];
  const name = accountName(account);
  return (
    <RowForm
      visitor={visitor}
      action="/organisations/leave"
      confirm={t.leaveSure(name)}
      field={["organisation", account.id]}
      label={t.leaveOne(name)}
    >
      {t.leave}
    </RowForm>
  );
}

/** Acts for an organisation that the person has just made or joined. */
async function actForNew(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  organisationId: AccountId,
): Promise<void> {
  const signedIn = c.get("signedIn");
  const membership = await readMembership(deps.kv, organisationId, signedIn.person.id);
  if (membership !== undefined) await actFor(c, deps, membership, signedIn);
}

async function postedOrganisation(c: Context<DashboardEnv>): Promise<AccountId | undefined> {
  return parseId("account", (await readForm(c)).text("organisation"));
}

async function create(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = organisationTexts[locale];
  const { person } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const tries = await countTry(deps.kv, rateRules.changesByAccount, person.id, nowMs);
  if (!tries.allowed) {
    return await listPage(c, deps, { problem: spentWords(locale, tries.retryAfterSeconds) });
  }
  const name = parseName((await readForm(c)).text("name"));
  if (name === undefined) return await listPage(c, deps, { nameError: t.nameInvalid });
  const account = await createOrganisation(deps.kv, person.id, {
    name,
    ...doneBy(c, nowMs),
  });
  if (account === "too_many") return await listPage(c, deps, { problem: t.tooManyOwned });
  await actForNew(c, deps, account.id);
  return c.redirect("/organisation?done=created", 303);
}

async function switchTo(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const form = await readForm(c);
  const id = parseId("account", form.text("organisation"));
  const { person } = c.get("signedIn");
  const membership = id === undefined ? undefined : await readMembership(deps.kv, id, person.id);
  if (membership === undefined) return c.redirect("/organisations", 303);
  await actFor(c, deps, membership, c.get("signedIn"));
  return c.redirect(returnPath(form.text("next"), "/"), 303);
}

async function accept(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const t = organisationTexts[c.get("visitor").locale];
  const { person } = c.get("signedIn");
  const id = await postedOrganisation(c);
  const joined = id === undefined
    ? "gone"
    : await acceptInvitation(deps.kv, id, person, doneBy(c, deps.clock.nowMs()));
  if (id === undefined || joined === "gone") return await listPage(c, deps, { problem: t.gone });
  if (joined === "full") return await listPage(c, deps, { problem: t.full });
  deps.hintMail();
  await actForNew(c, deps, id);
  return c.redirect("/organisation?done=joined", 303);
}

async function decline(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const id = await postedOrganisation(c);
  const { email } = c.get("signedIn").person;
  if (id !== undefined && email !== undefined) {
    await endInvitation(deps.kv, id, email, doneBy(c, deps.clock.nowMs()));
  }
  return c.redirect("/organisations", 303);
}

async function leave(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const id = await postedOrganisation(c);
  const { person } = c.get("signedIn");
  if (id !== undefined) {
    const done = doneBy(c, deps.clock.nowMs());
    await removeMember(deps.kv, id, person.id, { ...done });
  }
  await deps.control.refresh();
  return c.redirect("/organisations", 303);
}

/** Registers `/organisations`. */
export function createOrganisationList(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/organisations/*", requireAccount)
    .get("/organisations", (c) => {
      const isForeign = c.req.query("foreign") !== undefined;
      const { locale } = c.get("visitor");
      return listPage(c, deps, isForeign ? { notice: organisationTexts[locale].foreign } : {});
    })
    .post("/organisations", (c) => create(c, deps))
    .post("/organisations/switch", (c) => switchTo(c, deps))
    .post("/organisations/accept", (c) => accept(c, deps))
    .post("/organisations/decline", (c) => decline(c, deps))
    .post("/organisations/leave", (c) => leave(c, deps));
}
