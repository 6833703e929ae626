/** Operations on the organisation itself: its name, members, invitations and teams. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { roles } from "../../core/people/organisations/acts.ts";
import {
  always,
  constant,
  count,
  dateTime,
  isoTime,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
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
  goneShape,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
} from "./operation.ts";

const roleSchema: JsonObject = { type: "string", enum: [...roles] };
const organisationShape = shape<Account>("Organisation", "An organisation.", [
  constant("object", "organisation"),
  always("id", text, ({ id }) => id),
  always("name", text, accountName),
  always("members", count, (account) => organisationFacts(account).memberCount),
  always("owner_id", text, (account) => organisationFacts(account).ownerId),
  // Whoever signs in sets up a second factor before anything else; switched in a browser.
  always("second_factor_required", { type: "boolean" }, requiresSecondFactor),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
]);

const memberShape = shape<Member>("Member", "A member of an organisation.", [
  constant("object", "member"),
  always("id", text, ({ personId }) => personId),
  optional("email", text, ({ email }) => email),
  always("role", roleSchema, ({ role }) => role),
  optional("joined_at", dateTime, ({ joinedAtMs }) => joinedAtMs && isoTime(joinedAtMs)),
]);

const invitationShape = shape<Invitation>("Invitation", "An invitation that waits for an answer.", [
  constant("object", "invitation"),
  always("email", text, ({ email }) => email),
  always("role", roleSchema, ({ role }) => role),
  always("inviter", text, ({ inviter }) => inviter),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
  always("expires_at", dateTime, ({ expiresAtMs }) => isoTime(expiresAtMs)),
]);

const removedShape = shape<RemovedMember>(
  "RemovedMember",
  "A person who was removed from an organisation.",
  [
    constant("object", "removed_member"),
    always("id", text, ({ personId }) => personId),
    optional("email", text, ({ email }) => email),
    always("removed_at", dateTime, ({ removedAtMs }) => isoTime(removedAtMs)),
  ],
);

const teamShape = shape<Team>("Team", "A team of API keys.", [
  constant("object", "team"),
  always("id", text, ({ id }) => id),
  always("name", text, ({ name }) => name),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
]);

const organisationItself: readonly ManagementOperation[] = [
  reading({
    id: "getOrganisation",
    path: organisationPath,
    summary: "The organisation",
    description: "The organisation of the management key.",
    act: "view_members",
    answer: organisationShape,
    read: ({ account }) => account,
  }),
  actOperation({
    operation: renaming,
    method: "patch",
    path: organisationPath,
    summary: "Rename the organisation",
    description: "Changes what pages and mails call it.",
    answer: organisationShape,
    example: { name: "Acme" },
  }),
];

const memberOperations: readonly ManagementOperation[] = [
  listing({
    id: "listMembers",
    path: `${organisationPath}/members`,
    summary: "Members",
    description: "The owner first, then the others.",
    act: "view_members",
    item: memberShape,
    rows: ({ deps, account }) => listMembers(deps.kv, account),
  }),
  actOperation({
    operation: roleChange,
    method: "patch",
    path: `${organisationPath}/members/{id}`,
    summary: "Change the role of a member",
    description: "Works from the member's next request on.",
    answer: memberShape,
    example: { role: "billing" },
  }),
  actOperation({
    operation: removal,
    method: "delete",
    path: `${organisationPath}/members/{id}`,
    summary: "Remove a member",
    description:
      "Pages refuse the person from the next request on, and the API keys and management keys that the person has made are revoked.",
    answer: goneShape,
    rowOf: ({ personId }) => personId,
  }),
  listing({
    id: "listRemovedMembers",
    path: `${organisationPath}/removed-members`,
    summary: "Removed people",
    description: "Who does not come back by the sign-in of the company, the latest first.",
    act: "change_members",
    item: removedShape,
    rows: ({ deps, account }) => listRemovedMembers(deps.kv, account.id),
  }),
  actOperation({
    operation: readmission,
    method: "delete",
    path: `${organisationPath}/removed-members/{id}`,
    summary: "Let a removed person back in",
    description:
      "The person joins again at the next sign-in at the company's provider. Answers with what the list said.",
    answer: removedShape,
  }),
];

const invitationOperations: readonly ManagementOperation[] = [
  listing({
    id: "listInvitations",
    path: `${organisationPath}/invitations`,
    summary: "Open invitations",
    description: "Invitations that wait for an answer, by address.",
    act: "view_members",
    item: invitationShape,
    rows: ({ deps, account, nowMs }) => listInvitations(deps.kv, account.id, nowMs),
    cursorOf: ({ email }) => String(email),
  }),
  actOperation({
    operation: invitation,
    method: "post",
    path: `${organisationPath}/invitations`,
    summary: "Invite a person",
    description:
      "Sends a mail; the person answers after signing in with the address. The invitation ends with the right of the member whose key made it.",
    answer: invitationShape,
    example: { email: "an@example.com", role: "developer" },
  }),
  actOperation({
    operation: withdrawal,
    method: "delete",
    path: `${organisationPath}/invitations/{id}`,
    summary: "Withdraw an invitation",
    description: "By its address.",
    answer: goneShape,
  }),
];

const teamOperations: readonly ManagementOperation[] = [
  listing({
    id: "listTeams",
    path: `${organisationPath}/teams`,
    summary: "Teams",
    description: "The teams of the organisation, oldest first.",
    act: "view_members",
    item: teamShape,
    rows: ({ deps, account }) => listTeams(deps.kv, account.id),
  }),
  actOperation({
    operation: teamCreation,
    method: "post",
    path: `${organisationPath}/teams`,
    summary: "Add a team",
    description: "Keys name their team by its id.",
    answer: teamShape,
    example: { name: "Search" },
  }),
  actOperation({
    operation: teamDeletion,
    method: "delete",
    path: `${organisationPath}/teams/{id}`,
    summary: "Delete a team",
    description: "Its keys go on working, without a team.",
    answer: goneShape,
  }),
];

/** The operations. */
export const peopleOperations: readonly ManagementOperation[] = [
  ...organisationItself,
  ...memberOperations,
  ...invitationOperations,
  ...teamOperations,
];
