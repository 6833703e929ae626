/** Operations on the organisation itself: its name, members, invitations and teams. */
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
import { roles } from "../../core/people/organisations/acts.ts";
import {
  type Account,
  accountName,
  requiresSecondFactor,
} from "../../kv/people/accounts/accounts.ts";
import { type Invitation, listInvitations } from "../../kv/people/organisations/invitations.ts";
import { listMembers, type Member } from "../../kv/people/organisations/members.ts";
import { organisationFacts } from "../../kv/people/organisations/organisations.ts";
import {
  listRemovedMembers,
  type RemovedMember,
} from "../../kv/people/organisations/removed_members.ts";
import { listTeams, type Team } from "../../kv/people/organisations/teams.ts";
import {
  invitation,
  readmission,
  removal,
  renaming,
  roleChange,
  teamCreation,
  teamDeletion,
  withdrawal,
} from "../acts/people.ts";
import { listing } from "./lists.ts";
import {
  actOperation,
  type AnswerShape,
  goneFields,
  goneShape,
  type ManagementOperation,
} from "./operation.ts";

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
  actOperation({
    operation: renaming,
    method: "patch",
    path: organisationPath,
    summary: "Rename the organisation",
    description: "Changes what pages and mails call it.",
    answer: shapes.organisation,
    example: { name: "Acme" },
    json: (account) => fieldsJson(organisationFields, account),
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
  actOperation({
    operation: roleChange,
    method: "patch",
    path: `${organisationPath}/members/{id}`,
    summary: "Change the role of a member",
    description: "Works from the member's next request on.",
    answer: shapes.member,
    example: { role: "billing" },
    json: (member) => fieldsJson(memberFields, member),
  }),
  actOperation({
    operation: removal,
    method: "delete",
    path: `${organisationPath}/members/{id}`,
    summary: "Remove a member",
    description:
      "Pages refuse the person from the next request on, and the API keys and management keys that the person has made are revoked.",
    answer: goneShape,
    json: ({ personId }) => gone(personId),
  }),
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
  actOperation({
    operation: readmission,
    method: "delete",
    path: `${organisationPath}/removed-members/{id}`,
    summary: "Let a removed person back in",
    description:
      "The person joins again at the next sign-in at the company's provider. Answers with what the list said.",
    answer: shapes.removed,
    json: (removed) => fieldsJson(removedFields, removed),
  }),
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
  actOperation({
    operation: invitation,
    method: "post",
    path: `${organisationPath}/invitations`,
    summary: "Invite a person",
    description:
      "Sends a mail; the person answers after signing in with the address. The invitation ends with the right of the member whose key made it.",
    answer: shapes.invitation,
    example: { email: "an@example.com", role: "developer" },
    json: (made) => fieldsJson(invitationFields, made),
  }),
  actOperation({
    operation: withdrawal,
    method: "delete",
    path: `${organisationPath}/invitations/{id}`,
    summary: "Withdraw an invitation",
    description: "By its address.",
    answer: goneShape,
    json: gone,
  }),
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
  actOperation({
    operation: teamCreation,
    method: "post",
    path: `${organisationPath}/teams`,
    summary: "Add a team",
    description: "Keys name their team by its id.",
    answer: shapes.team,
    example: { name: "Search" },
    json: (team) => fieldsJson(teamFields, team),
  }),
  actOperation({
    operation: teamDeletion,
    method: "delete",
    path: `${organisationPath}/teams/{id}`,
    summary: "Delete a team",
    description: "Its keys go on working, without a team.",
    answer: goneShape,
    json: gone,
  }),
];

/** The operations. */
export const peopleOperations: readonly ManagementOperation[] = [
  ...organisationItself,
  ...memberOperations,
  ...invitationOperations,
  ...teamOperations,
];
