/** `/organisation`: members, invitations, teams and name of the organisation that the visitor acts for. */
import type { Context } from "hono";
import {
  acts,
  givenRoles,
  reachOf,
  type Role,
  roles,
} from "../../../../core/people/organisations/acts.ts";
import { formatMoney } from "../../../../core/billing/money/display.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import { accountName } from "../../../../kv/people/accounts/accounts.ts";
import {
  type Invitation,
  listInvitations,
} from "../../../../kv/people/organisations/invitations.ts";
import { listMembers, type Member } from "../../../../kv/people/organisations/members.ts";
import {
  listRemovedMembers,
  type RemovedMember,
} from "../../../../kv/people/organisations/removed_members.ts";
import { getCompanyOpenId } from "../../../../kv/people/organisations/company_sign_in.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { keyMoverNames, keyMovers } from "../../../../kv/people/organisations/key_rules.ts";
import { listTeams, type Team } from "../../../../kv/people/organisations/teams.ts";
import {
  Card,
  CheckboxField,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv, SignedIn, Visitor } from "../../page/visitor.ts";
import { roleNames } from "../../text/role_names.ts";
import { callSettingsPath } from "../call_settings/call_settings_page.tsx";
import { ownKeysPath, ownKeysTexts } from "../call_settings/own_keys_page.tsx";
import { presetsPath } from "../call_settings/presets_page.tsx";
import { callSettingsTexts, presetTexts } from "../call_settings/texts.ts";
import { companySignInPath } from "./sign_in_page.tsx";
import { companySignInTexts } from "./sign_in_texts.ts";
import { organisationTexts } from "./texts.ts";
import { actNames, reachNames } from "../../text/act_names.ts";
import type { Locale } from "../../text/i18n.ts";

/** The acts that each role may do, beside the fields that choose one. */
export function RoleTable({ locale, roles }: {
  readonly locale: Locale;
  readonly roles: readonly Role[];
}) {
  const t = organisationTexts[locale];
  return (
    <details>
      <summary>{t.roleActs}</summary>
      <p class="muted">{t.roleActsText}</p>
      <DataTable
        label={t.roleActs}
        rows={acts}
        columns={[
          { head: t.roleAct, cell: (act) => actNames[locale][act] },
          ...roles.map((role) => ({
            head: roleNames[locale][role],
            cell: (act: typeof acts[number]) => reachNames[locale][reachOf(role, act)],
          })),
        ]}
      />
    </details>
  );
}

/** The result of the act before the page is shown. */
export interface OrganisationState {
  readonly notice?: string;
  /** Why nothing was changed. */
  readonly problem?: string;
  readonly errors?: {
    readonly email?: string;
    readonly name?: string;
    readonly team?: string;
    readonly confirmation?: string;
    readonly deletion?: string;
    readonly giveUp?: string;
  };
}

interface PartProps {
  readonly visitor: Visitor;
  readonly signedIn: SignedIn;
  readonly errors: NonNullable<OrganisationState["errors"]>;
}

/** Shows the organisation with the result of the last act. */
export async function organisationPage(
  c: Context<DashboardEnv>,
  { kv, clock, wallet, companySignIn, catalog }: DashboardDeps,
  state: OrganisationState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const signedIn = c.get("signedIn");
  const { account } = signedIn;
  const t = organisationTexts[visitor.locale];
  const changesMembers = mayVisit(signedIn, "/organisation/invitations", "POST");
  const [members, invitations, teams, balance, removed] = await Promise.all([
    listMembers(kv, account),
    listInvitations(kv, account.id, clock.nowMs()),
    listTeams(kv, account.id),
    wallet.balance(account.id),
    changesMembers ? removedOf(kv, account.id) : [],
  ]);
  const hasCompanySignIn = companySignIn !== undefined;
  const failed = state.errors !== undefined || state.problem !== undefined;
  const part: PartProps = { visitor, signedIn, errors: state.errors ?? {} };
  return await renderPage(
    c,
    {
      title: accountName(account),
      lead: t.lead,
      status: failed ? 422 : 200,
      actions: (
        <>
          {hasCompanySignIn && mayVisit(signedIn, companySignInPath) && (
            <a class="button outline secondary" href={companySignInPath}>
              {companySignInTexts[visitor.locale].manage}
            </a>
          )}
          {mayVisit(signedIn, callSettingsPath) && (
            <a class="button outline secondary" href={callSettingsPath}>
              {callSettingsTexts[visitor.locale].title}
            </a>
          )}
          {catalog.ownKeyFee !== undefined && mayVisit(signedIn, ownKeysPath) && (
            <a class="button outline secondary" href={ownKeysPath}>
              {ownKeysTexts[visitor.locale].title}
            </a>
          )}
          {mayVisit(signedIn, presetsPath) && (
            <a class="button outline secondary" href={presetsPath}>
              {presetTexts[visitor.locale].title}
            </a>
          )}
          {mayVisit(signedIn, "/organisation/management-keys") && (
            <a class="button outline secondary" href="/organisation/management-keys">
              {t.managementKeys}
            </a>
          )}
          <a class="button outline secondary" href="/organisations">{t.listTitle}</a>
        </>
      ),
    },
    <>
      {state.notice !== undefined && <Notice tone="success">{state.notice}</Notice>}
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      <Members {...part} members={members} isManager={changesMembers} />
      {changesMembers && <Invitations {...part} invitations={invitations} />}
      {removed.length > 0 && <Removed {...part} removed={removed} />}
      <Teams {...part} teams={teams} isManager={changesMembers} />
      {mayVisit(signedIn, "/organisation/name", "POST") && <NameCard {...part} />}
      {mayVisit(signedIn, "/organisation/hand-over", "POST") && members.length > 1 && (
        <HandOverCard {...part} members={members} />
      )}
      {mayVisit(signedIn, "/organisation/delete", "POST") && account.id !== signedIn.person.id && (
        <DeletionCard {...part} balanceMicroVnd={balance.totalMicroVnd} />
      )}
    </>,
  );
}

/** People who were removed, where that matters: they would come back by the provider of the organisation. */
async function removedOf(kv: KeyValueStore, id: AccountId): Promise<readonly RemovedMember[]> {
  return await getCompanyOpenId(kv, id) === undefined ? [] : await listRemovedMembers(kv, id);
}

function nameOf({ email, personId }: Pick<Member, "email" | "personId">): string {
  return email ?? personId;
}

function RoleForm({ member, visitor }: { member: Member; visitor: Visitor }) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <PostForm visitor={visitor} action="/organisation/members/role" class="cell-form">
      <input type="hidden" name="person" value={member.personId} />
      <select name="role" aria-label={t.roleOf(nameOf(member))}>
        {givenRoles.map((role) => (
          <option value={role} selected={role === member.role}>{roleNames[locale][role]}</option>
        ))}
      </select>
      <SubmitButton tone="plain" small>{t.changeRole}</SubmitButton>
    </PostForm>
  );
}

function Members({ visitor, signedIn, members, isManager }: PartProps & {
  readonly members: readonly Member[];
  readonly isManager: boolean;
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  const isMe = ({ personId }: Member) => personId === signedIn.person.id;
  const canChange = (member: Member) => isManager && member.role !== "owner" && !isMe(member);
  return (
    <Card title={t.members}>
      <DataTable
        label={t.members}
        rows={members}
        columns={[
          {
            head: t.member,
            kind: "long",
            cell: (member) => isMe(member) ? `${nameOf(member)} (${t.you})` : nameOf(member),
          },
          {
            head: t.role,
            cell: (member) =>
              canChange(member)
                ? <RoleForm member={member} visitor={visitor} />
                : roleNames[locale][member.role],
          },
          {
            head: t.since,
            kind: "one-line",
            wideOnly: true,
            cell: ({ joinedAtMs }) =>
              joinedAtMs !== undefined && <Time atMs={joinedAtMs} locale={locale} dateOnly />,
          },
          {
            head: t.acts,
            hiddenHead: true,
            kind: "buttons",
            cell: (member) =>
              canChange(member) && (
                <RowForm
                  visitor={visitor}
                  action="/organisation/members/remove"
                  confirm={t.removeSure(nameOf(member))}
                  field={["person", member.personId]}
                  label={t.removeOne(nameOf(member))}
                >
                  {t.remove}
                </RowForm>
              ),
          },
        ]}
      />
    </Card>
  );
}

function Invitations({ visitor, errors, invitations }: PartProps & {
  readonly invitations: readonly Invitation[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <Card title={t.inviteTitle}>
      <p class="muted">{t.inviteText}</p>
      <PostForm visitor={visitor} action="/organisation/invitations" class="inline-form">
        <TextField name="email" type="email" label={t.email} required error={errors.email} />
        <SelectField
          name="role"
          label={t.role}
          value="developer"
          options={givenRoles.map((role) => ({ value: role, label: roleNames[locale][role] }))}
        />
        <SubmitButton>{t.invite}</SubmitButton>
      </PostForm>
      <RoleTable locale={locale} roles={roles} />
      {invitations.length > 0 && (
        <DataTable
          label={t.open}
          rows={invitations}
          columns={[
            { head: t.email, kind: "long", cell: ({ email }) => email },
            { head: t.role, cell: ({ role }) => roleNames[locale][role] },
            { head: t.invitedBy, kind: "long", wideOnly: true, cell: ({ inviter }) => inviter },
            {
              head: t.ends,
              kind: "one-line",
              cell: ({ expiresAtMs }) => <Time atMs={expiresAtMs} locale={locale} dateOnly />,
            },
            {
              head: t.acts,
              hiddenHead: true,
              kind: "buttons",
              cell: ({ email }) => (
                <RowForm
                  visitor={visitor}
                  action="/organisation/invitations/withdraw"
                  field={["email", email]}
                  label={t.withdrawOne(email)}
                >
                  {t.withdraw}
                </RowForm>
              ),
            },
          ]}
        />
      )}
    </Card>
  );
}

function Removed({ visitor, removed }: PartProps & {
  readonly removed: readonly RemovedMember[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <Card title={t.removedTitle}>
      <p class="muted">{t.removedText}</p>
      <DataTable
        label={t.removedTitle}
        rows={removed}
        columns={[
          { head: t.member, kind: "long", cell: nameOf },
          {
            head: t.removedAt,
            kind: "one-line",
            cell: ({ removedAtMs }) => <Time atMs={removedAtMs} locale={locale} dateOnly />,
          },
          {
            head: t.acts,
            hiddenHead: true,
            kind: "buttons",
            cell: (one) => (
              <RowForm
                visitor={visitor}
                action="/organisation/members/readmit"
                field={["person", one.personId]}
                label={t.readmitOne(nameOf(one))}
              >
                {t.readmit}
              </RowForm>
            ),
          },
        ]}
      />
    </Card>
  );
}

function Teams({ visitor, signedIn, errors, teams, isManager }: PartProps & {
  readonly teams: readonly Team[];
  readonly isManager: boolean;
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <Card title={t.teams}>
      <p class="muted">{t.teamsText}</p>
      <DataTable
        label={t.teams}
        rows={teams}
        empty={<p>{t.noTeams}</p>}
        columns={[
          {
            head: t.team,
            kind: "long",
            cell: ({ id, name }) =>
              mayVisit(signedIn, callSettingsPath)
                ? <a href={`${callSettingsPath}?team=${id}`}>{name}</a>
                : name,
          },
          {
            head: t.acts,
            hiddenHead: true,
            kind: "buttons",
            cell: ({ id, name }) =>
              isManager && (
                <RowForm
                  visitor={visitor}
                  action="/organisation/teams/delete"
                  confirm={t.deleteSure(name)}
                  field={["team", id]}
                  label={t.deleteOne(name)}
                >
                  {t.deleteTeam}
                </RowForm>
              ),
          },
        ]}
      />
      {isManager && (
        <PostForm visitor={visitor} action="/organisation/teams" class="inline-form">
          <TextField
            name="teamName"
            label={t.teamName}
            maxlength={maxNameChars}
            required
            error={errors.team}
          />
          <SubmitButton tone="plain">{t.addTeam}</SubmitButton>
        </PostForm>
      )}
      {mayVisit(signedIn, "/organisation/key-rules", "POST") && (
        <PostForm visitor={visitor} action="/organisation/key-rules" class="inline-form">
          <SelectField
            name="movedBy"
            label={t.keyMovers}
            value={keyMovers(signedIn.account)}
            options={keyMoverNames.map((value) => ({ value, label: t.keyMoverNames[value] }))}
          />
          <SubmitButton tone="plain">{t.save}</SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

function NameCard({ visitor, signedIn, errors }: PartProps) {
  const t = organisationTexts[visitor.locale];
  return (
    <Card title={t.nameTitle}>
      <PostForm visitor={visitor} action="/organisation/name" class="inline-form">
        <TextField
          name="name"
          label={t.name}
          value={signedIn.account.organisation?.name}
          maxlength={maxNameChars}
          required
          error={errors.name}
        />
        <SubmitButton tone="plain">{t.save}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function DeletionCard({ visitor, signedIn, errors, balanceMicroVnd }: PartProps & {
  readonly balanceMicroVnd: bigint;
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  const { email } = signedIn.account;
  const failed = errors.deletion !== undefined || errors.giveUp !== undefined;
  return (
    <details class="card" open={failed}>
      <summary>{t.deletion}</summary>
      <p>{t.deletionText}</p>
      {email !== undefined && <p>{t.deletionOfFounder(email)}</p>}
      <PostForm visitor={visitor} action="/organisation/delete">
        <TextField
          name="deletion"
          label={t.confirmation(accountName(signedIn.account))}
          required
          error={errors.deletion}
        />
        {balanceMicroVnd > 0n && (
          <CheckboxField
            name="giveUp"
            value={formatVnd(balanceMicroVnd)}
            label={t.giveUp(formatMoney(balanceMicroVnd, locale))}
            error={errors.giveUp}
          />
        )}
        <SubmitButton tone="danger">{t.deletionButton}</SubmitButton>
      </PostForm>
    </details>
  );
}

function HandOverCard({ visitor, signedIn, errors, members }: PartProps & {
  readonly members: readonly Member[];
}) {
  const t = organisationTexts[visitor.locale];
  const others = members.filter(({ role }) => role !== "owner");
  return (
    <details class="card" open={errors.confirmation !== undefined}>
      <summary>{t.handOver}</summary>
      <p>{t.handOverText}</p>
      <PostForm visitor={visitor} action="/organisation/hand-over">
        <SelectField
          name="newOwner"
          label={t.newOwner}
          options={others.map((member) => ({ value: member.personId, label: nameOf(member) }))}
        />
        <TextField
          name="confirmation"
          label={t.confirmation(accountName(signedIn.account))}
          required
          error={errors.confirmation}
        />
        <SubmitButton tone="danger">{t.handOverButton}</SubmitButton>
      </PostForm>
    </details>
  );
}
