/** Acts on an organisation and its people: name, members, invitations, teams. */
import { z } from "zod";
import { parsedText } from "../../core/lib/base/parsed_text.ts";
import { nameOf } from "../../core/lib/base/names.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { maxEmailChars, normaliseEmail } from "../../core/people/accounts/email_address.ts";
import { givenRoles } from "../../core/people/organisations/acts.ts";
import { type Account, getAccount } from "../../kv/people/accounts/accounts.ts";
import {
  endInvitation,
  type Invitation,
  invite,
} from "../../kv/people/organisations/invitations.ts";
import {
  changeRole,
  listMembers,
  type Member,
  removeMember,
} from "../../kv/people/organisations/members.ts";
import {
  handOver as handOverOrganisation,
  renameOrganisation,
} from "../../kv/people/organisations/organisations.ts";
import {
  listRemovedMembers,
  readmitMember,
  type RemovedMember,
} from "../../kv/people/organisations/removed_members.ts";
import { createTeam, deleteTeam, type Team } from "../../kv/people/organisations/teams.ts";
import { type ActDeps, type Acting, done, idOf, operation, refused } from "./operation.ts";

const name = nameOf();

/** Normalised where it enters, so that it is found again in any spelling. */
const email = parsedText(
  z.string().max(maxEmailChars),
  normaliseEmail,
  "must be an email address",
);

const role = z.enum(givenRoles);
const person = idOf("account", "must be the id of a person");
const team = idOf("team", "must be the id of a team");

const noMember = { code: "not_found", message: "There is no such member" } as const;
const isOwner = {
  code: "permission_denied",
  message: "The owner hands the organisation over first",
} as const;

async function memberOf(
  { kv }: ActDeps,
  { account }: Acting,
  id: AccountId,
): Promise<Member | undefined> {
  return (await listMembers(kv, account)).find(({ personId }) => personId === id);
}

/** Changes what pages and mails call the organisation. */
export const renaming = operation({
  name: "renameOrganisation",
  act: "change_organisation",
  line: "organisation_renamed",
  input: z.strictObject({ name }),
  refusals: { closed: { code: "not_found", message: "The organisation was deleted" } },
  async run({ kv }, { account, ...by }, { name }) {
    const renamed: Account | undefined = await renameOrganisation(kv, account.id, name, by);
    return renamed === undefined ? refused("closed") : done(renamed);
  },
});

/** Gives a member another role. */
export const roleChange = operation({
  name: "changeMember",
  act: "change_members",
  line: "member_role_changed",
  input: z.strictObject({ id: person, role }),
  refusals: { missing: noMember, owner: isOwner },
  async run(deps, acting, { id, role }) {
    const member = await memberOf(deps, acting, id);
    if (member === undefined) return refused("missing");
    if (member.role === "owner") return refused("owner");
    const isChanged = await changeRole(deps.kv, acting.account.id, id, role, acting);
    deps.hintMail();
    return isChanged ? done<Member>({ ...member, role }) : refused("missing");
  },
});

/** Removes a member, and revokes the keys that they have made. */
export const removal = operation({
  name: "removeMember",
  act: "change_members",
  line: "member_removed",
  input: z.strictObject({ id: person }),
  refusals: { missing: noMember, owner: isOwner },
  async run(deps, acting, { id }) {
    const member = await memberOf(deps, acting, id);
    if (member === undefined) return refused("missing");
    if (member.role === "owner") return refused("owner");
    const { by, nowMs } = acting;
    const isRemoved = await removeMember(deps.kv, acting.account.id, id, { by, nowMs });
    deps.hintMail();
    await deps.control.refresh();
    return isRemoved ? done(member) : refused("missing");
  },
});

/** Lets a removed person come back by the sign-in of the company. */
export const readmission = operation({
  name: "readmitMember",
  act: "change_members",
  line: "member_readmitted",
  input: z.strictObject({ id: person }),
  refusals: { missing: { code: "not_found", message: "There is no such removed person" } },
  async run({ kv }, acting, { id }) {
    const listed = await listRemovedMembers(kv, acting.account.id);
    const removed: RemovedMember | undefined = listed.find(({ personId }) => personId === id);
    const isBack = removed !== undefined &&
      await readmitMember(kv, acting.account.id, removed.personId, acting);
    return isBack ? done(removed) : refused("missing");
  },
});

/** Invites an address, and mails it. */
export const invitation = operation({
  name: "createInvitation",
  act: "change_members",
  line: "member_invited",
  input: z.strictObject({ email, role }),
  refusals: {
    member: { code: "invalid_request", field: "email", message: "belongs to a member" },
    too_many: {
      code: "invalid_request",
      field: "email",
      message: "as many invitations are open as there can be",
    },
  },
  mailTo: ({ email }) => email,
  async run({ kv, hintMail }, acting, { email, role }) {
    const { account, personId, by, nowMs, locale, actorName: inviter } = acting;
    const restsOn = by.kind === "management_key" ? { personId, keyId: by.keyId } : { personId };
    const options = { email, role, inviter, restsOn, locale, by, nowMs };
    const made: Invitation | "member" | "too_many" = await invite(kv, account.id, options);
    if (typeof made === "string") return refused(made);
    hintMail();
    return done(made);
  },
});

/** Withdraws an invitation. */
export const withdrawal = operation({
  name: "withdrawInvitation",
  act: "change_members",
  line: "invitation_withdrawn",
  input: z.strictObject({ id: email }),
  refusals: { missing: { code: "not_found", message: "There is no such invitation" } },
  async run({ kv }, acting, { id }) {
    const isEnded = await endInvitation(kv, acting.account.id, id, acting);
    return isEnded ? done(id) : refused("missing");
  },
});

/** Makes a team of API keys. */
export const teamCreation = operation({
  name: "createTeam",
  act: "change_members",
  line: "team_made",
  input: z.strictObject({ name }),
  refusals: {
    taken: { code: "invalid_request", field: "name", message: "another team has it" },
    too_many: {
      code: "invalid_request",
      field: "name",
      message: "there are as many teams as there can be",
    },
  },
  async run({ kv }, { account, by, nowMs }, { name }) {
    const team: Team | "taken" | "too_many" = await createTeam(kv, account.id, { name, by, nowMs });
    return typeof team === "string" ? refused(team) : done(team);
  },
});

/** Deletes a team; its keys go on working. */
export const teamDeletion = operation({
  name: "deleteTeam",
  act: "change_members",
  line: "team_deleted",
  input: z.strictObject({ id: team }),
  refusals: { missing: { code: "not_found", message: "There is no such team" } },
  async run({ kv }, acting, { id }) {
    return await deleteTeam(kv, acting.account.id, id, acting) ? done(id) : refused("missing");
  },
});

/** Makes another member the owner; the former one stays as an admin. */
export const handOver = operation({
  name: "handOver",
  act: "hand_over",
  line: "ownership_handed_over",
  input: z.strictObject({ to: person }),
  refusals: {
    missing: noMember,
    too_many: {
      code: "invalid_request",
      field: "to",
      message: "owns as many organisations as a person can",
    },
  },
  async run({ kv, hintMail }, { account, personId, by, nowMs }, { to }) {
    const from = await getAccount(kv, personId);
    if (from === undefined) return refused("missing");
    const result = await handOverOrganisation(kv, account.id, { from, to, by, nowMs });
    if (result === "not_member") return refused("missing");
    if (result === "too_many") return refused("too_many");
    hintMail();
    return done(to);
  },
});
