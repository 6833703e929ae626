/** Operations on the organisation itself: its name, members, invitations and teams. */
import { z } from "zod";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { type AccountId, parseId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  isoTime,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import { normaliseEmail } from "../../core/people/accounts/email_address.ts";
import { givenRoles, type Role, roles } from "../../core/people/organisations/acts.ts";
import { parseName } from "../../core/people/organisations/organisation.ts";
import {
  type Account,
  accountName,
  requiresSecondFactor,
} from "../../kv/people/accounts/accounts.ts";
import {
  endInvitation,
  type Invitation,
  invite,
  listInvitations,
} from "../../kv/people/organisations/invitations.ts";
import {
  changeRole,
  listMembers,
  type Member,
  removeMember,
} from "../../kv/people/organisations/members.ts";
import {
  organisationFacts,
  renameOrganisation,
} from "../../kv/people/organisations/organisations.ts";
import {
  listRemovedMembers,
  readmitMember,
  type RemovedMember,
} from "../../kv/people/organisations/removed_members.ts";
import {
  createTeam,
  deleteTeam,
  listTeams,
  type Team,
} from "../../kv/people/organisations/teams.ts";
import { countTry } from "../../kv/people/accounts/rate_limits.ts";
import { rateRules } from "../auth/sign_in_budgets.ts";
import { wrongParameter } from "../http/query.ts";
import { listing } from "./lists.ts";
import {
  type AnswerShape,
  goneFields,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

const maxTextChars = 200;

const nameBody = z.strictObject({ name: z.string().max(maxTextChars) });
const roleBody = z.strictObject({ role: z.enum(givenRoles) });
const invitationBody = z.strictObject({ email: z.string().max(254), role: z.enum(givenRoles) });

const roleSchema: JsonObject = { type: "string", enum: [...roles] };
const organisationFields: readonly DescribedField<Account>[] = [
  constant("object", "organisation"),
  always("id", text, ({ id }) => id),
  always("name", text, accountName),
  always("members", count, (account) => organisationFacts(account).memberCount),
  always("owner_id", text, (account) => organisationFacts(account).ownerId),
  // Whoever signs in sets up a second factor before anything else; switched in a browser.
  always("second_factor_required", { type: "boolean" }, requiresSecondFactor),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
];

const memberFields: readonly DescribedField<Member>[] = [
  constant("object", "member"),
  always("id", text, ({ personId }) => personId),
  optional("email", text, ({ email }) => email),
  always("role", roleSchema, ({ role }) => role),
  optional("joined_at", dateTime, ({ joinedAtMs }) => joinedAtMs && isoTime(joinedAtMs)),
];

const invitationFields: readonly DescribedField<Invitation>[] = [
  constant("object", "invitation"),
  always("email", text, ({ email }) => email),
  always("role", roleSchema, ({ role }) => role),
  always("inviter", text, ({ inviter }) => inviter),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
  always("expires_at", dateTime, ({ expiresAtMs }) => isoTime(expiresAtMs)),
];

const removedFields: readonly DescribedField<RemovedMember>[] = [
  constant("object", "removed_member"),
  always("id", text, ({ personId }) => personId),
  optional("email", text, ({ email }) => email),
  always("removed_at", dateTime, ({ removedAtMs }) => isoTime(removedAtMs)),
];

const teamFields: readonly DescribedField<Team>[] = [
  constant("object", "team"),
  always("id", text, ({ id }) => id),
  always("name", text, ({ name }) => name),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
];

const shapes = {
  organisation: {
    name: "Organisation",
    description: "An organisation.",
    fields: organisationFields,
  },
  member: { name: "Member", description: "A member of an organisation.", fields: memberFields },
  invitation: {
    name: "Invitation",
    description: "An invitation that waits for an answer.",
    fields: invitationFields,
  },
  removed: {
    name: "RemovedMember",
    description: "A person who was removed from an organisation.",
    fields: removedFields,
  },
  team: { name: "Team", description: "A team of API keys.", fields: teamFields },
} as const satisfies Record<string, AnswerShape>;

const gone = (id: string) => fieldsJson(goneFields, { id });

function missing(what: string): GatewayError {
  return new GatewayError("not_found", `There is no such ${what}`);
}

async function rename(
  { deps, account, by, nowMs, body }: ManagementCall<z.infer<typeof nameBody>>,
) {
  const name = parseName(body.name);
  if (name === undefined) throw wrongParameter("name", "must have 1 to 60 visible characters");
  return fieldsJson(
    organisationFields,
    await renameOrganisation(deps.kv, account.id, name, { by, nowMs }) ?? account,
  );
}

async function memberOf(call: ManagementCall<unknown>, id: AccountId | undefined): Promise<Member> {
  const members = await listMembers(call.deps.kv, call.account);
  const member = members.find(({ personId }) => personId === id);
  if (member === undefined) throw missing("member");
  return member;
}

/** The role of an owner is handed over on the pages, by the owner. */
function refuseOwner({ role }: { readonly role: Role }): void {
  if (role === "owner") {
    throw new GatewayError("permission_denied", "The owner hands the organisation over first");
  }
}

async function giveRole(call: ManagementCall<z.infer<typeof roleBody>>): Promise<JsonObject> {
  const id = parseId("account", call.param("id"));
  refuseOwner(await memberOf(call, id));
  const isChanged = id !== undefined &&
    await changeRole(call.deps.kv, call.account.id, id, call.body.role, call);
  if (!isChanged) throw missing("member");
  return fieldsJson(memberFields, await memberOf(call, id));
}

async function removeOne(call: ManagementCall<unknown>): Promise<JsonObject> {
  const id = parseId("account", call.param("id"));
  const member = await memberOf(call, id);
  refuseOwner(member);
  const { deps, account, by, nowMs } = call;
  await removeMember(deps.kv, account.id, member.personId, { by, nowMs });
  await deps.control.refresh();
  return gone(member.personId);
}

async function inviteOne(
  { deps, account, key, by, nowMs, body }: ManagementCall<z.infer<typeof invitationBody>>,
): Promise<JsonObject> {
  const email = normaliseEmail(body.email);
  if (email === undefined) throw wrongParameter("email", "is no email address");
  const tries = await countTry(deps.kv, rateRules.mailToNewAddress, email, nowMs);
  if (!tries.allowed) {
    const { retryAfterSeconds } = tries;
    const message = "Too many mails to this address in an hour";
    throw new GatewayError("rate_limit_reached", message, { retryAfterSeconds });
  }
  const { role } = body;
  const locale = account.locale ?? "vi";
  const inviter = accountName(account);
  const result = await invite(deps.kv, account.id, {
    email,
    role,
    inviter,
    locale,
    by,
    nowMs,
  });
  if (result === "member") throw wrongParameter("email", "belongs to a member");
  if (result === "too_many") throw wrongParameter("email", "too many invitations are open");
  deps.hintMail();
  const open = await listInvitations(deps.kv, key.organisationId, nowMs);
  const made = open.find((one) => one.email === email);
  if (made === undefined) throw missing("invitation");
  return fieldsJson(invitationFields, made);
}

async function addTeam(
  { deps, account, by, nowMs, body }: ManagementCall<z.infer<typeof nameBody>>,
): Promise<JsonObject> {
  const name = parseName(body.name);
  if (name === undefined) throw wrongParameter("name", "must have 1 to 60 visible characters");
  const team = await createTeam(deps.kv, account.id, { name, by, nowMs });
  if (team === "taken") throw wrongParameter("name", "another team has it");
  if (team === "too_many") throw wrongParameter("name", "there are as many teams as there can be");
  return fieldsJson(teamFields, team);
}

const organisationPath = "/v1/organisation";

const organisationItself: readonly ManagementOperation[] = [
  {
    id: "getOrganisation",
    method: "get",
    path: organisationPath,
    summary: "The organisation",
    description: "The organisation of the management key.",
    act: "view_members",
    answer: shapes.organisation,
    errors: [],
    run: ({ account }) => Promise.resolve(fieldsJson(organisationFields, account)),
  },
  withBody({
    id: "renameOrganisation",
    method: "patch",
    path: organisationPath,
    summary: "Rename the organisation",
    description: "Changes what pages and mails call it.",
    act: "change_organisation",
    answer: shapes.organisation,
    errors: ["invalid_request", "overloaded"],
    body: { schema: nameBody, example: { name: "Acme" } },
    run: rename,
  }),
];

const memberOperations: readonly ManagementOperation[] = [
  listing({
    id: "listMembers",
    path: `${organisationPath}/members`,
    summary: "Members",
    description: "The owner first, then the others.",
    act: "view_members",
    item: shapes.member,
    rows: ({ deps, account }) => listMembers(deps.kv, account),
    idOf: ({ personId }) => personId,
    json: (member) => fieldsJson(memberFields, member),
  }),
  withBody({
    id: "changeMember",
    method: "patch",
    path: `${organisationPath}/members/{id}`,
    summary: "Change the role of a member",
    description: "Works from the member's next request on.",
    act: "change_members",
    answer: shapes.member,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: roleBody, example: { role: "billing" } },
    run: giveRole,
  }),
  {
    id: "removeMember",
    method: "delete",
    path: `${organisationPath}/members/{id}`,
    summary: "Remove a member",
    description:
      "Pages refuse the person from the next request on, and the API keys and management keys that the person has made are revoked.",
    act: "change_members",
    answer: goneShape,
    errors: ["not_found", "overloaded"],
    run: removeOne,
  },
  listing({
    id: "listRemovedMembers",
    path: `${organisationPath}/removed-members`,
    summary: "Removed people",
    description: "Who does not come back by the sign-in of the company, the latest first.",
    act: "change_members",
    item: shapes.removed,
    rows: ({ deps, account }) => listRemovedMembers(deps.kv, account.id),
    idOf: ({ personId }) => personId,
    json: (removed) => fieldsJson(removedFields, removed),
  }),
  {
    id: "readmitMember",
    method: "delete",
    path: `${organisationPath}/removed-members/{id}`,
    summary: "Let a removed person back in",
    description:
      "The person joins again at the next sign-in at the company's provider. Answers with what the list said.",
    act: "change_members",
    answer: shapes.removed,
    errors: ["not_found"],
    run: async ({ deps, account, by, nowMs, param }) => {
      const id = parseId("account", param("id"));
      const listed = await listRemovedMembers(deps.kv, account.id);
      const removed = listed.find(({ personId }) => personId === id);
      const isBack = removed !== undefined &&
        await readmitMember(deps.kv, account.id, removed.personId, { by, nowMs });
      if (!isBack) throw missing("removed person");
      return fieldsJson(removedFields, removed);
    },
  },
];

const invitationOperations: readonly ManagementOperation[] = [
  listing({
    id: "listInvitations",
    path: `${organisationPath}/invitations`,
    summary: "Open invitations",
    description: "Invitations that wait for an answer, by address.",
    act: "view_members",
    item: shapes.invitation,
    rows: ({ deps, account, nowMs }) => listInvitations(deps.kv, account.id, nowMs),
    idOf: ({ email }) => email,
    json: (invitation) => fieldsJson(invitationFields, invitation),
  }),
  withBody({
    id: "createInvitation",
    method: "post",
    path: `${organisationPath}/invitations`,
    summary: "Invite a person",
    description: "Sends a mail; the person answers after signing in with the address.",
    act: "change_members",
    answer: shapes.invitation,
    errors: ["invalid_request", "overloaded"],
    body: { schema: invitationBody, example: { email: "an@example.com", role: "developer" } },
    run: inviteOne,
  }),
  {
    id: "withdrawInvitation",
    method: "delete",
    path: `${organisationPath}/invitations/{id}`,
    summary: "Withdraw an invitation",
    description: "By its address. Withdrawing it again changes nothing.",
    act: "change_members",
    answer: goneShape,
    errors: [],
    run: async ({ deps, account, by, nowMs, param }) => {
      await endInvitation(deps.kv, account.id, param("id"), { by, nowMs });
      return gone(param("id"));
    },
  },
];

const teamOperations: readonly ManagementOperation[] = [
  listing({
    id: "listTeams",
    path: `${organisationPath}/teams`,
    summary: "Teams",
    description: "The teams of the organisation, oldest first.",
    act: "view_members",
    item: shapes.team,
    rows: ({ deps, account }) => listTeams(deps.kv, account.id),
    idOf: ({ id }) => id,
    json: (team) => fieldsJson(teamFields, team),
  }),
  withBody({
    id: "createTeam",
    method: "post",
    path: `${organisationPath}/teams`,
    summary: "Add a team",
    description: "Keys name their team by its id.",
    act: "change_members",
    answer: shapes.team,
    errors: ["invalid_request", "overloaded"],
    body: { schema: nameBody, example: { name: "Search" } },
    run: addTeam,
  }),
  {
    id: "deleteTeam",
    method: "delete",
    path: `${organisationPath}/teams/{id}`,
    summary: "Delete a team",
    description: "Its keys go on working, without a team.",
    act: "change_members",
    answer: goneShape,
    errors: ["not_found"],
    run: async ({ deps, account, by, nowMs, param }) => {
      const id = parseId("team", param("id"));
      const isGone = id !== undefined && await deleteTeam(deps.kv, account.id, id, { by, nowMs });
      if (!isGone) throw missing("team");
      return gone(id);
    },
  },
];

/** The operations. */
export const peopleOperations: readonly ManagementOperation[] = [
  ...organisationItself,
  ...memberOperations,
  ...invitationOperations,
  ...teamOperations,
];
