/** Teams: names under which an organisation groups its API keys. */
import type { CallSettings } from "../../../core/calls/request/call_settings.ts";
import { type AccountId, newId, type TeamId } from "../../../core/lib/ids/ids.ts";
import { maxTeams } from "../../../core/people/organisations/organisation.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey, teamKey, teamsPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { type Account, hasOnlyBooks, writeAccount } from "../accounts/accounts.ts";

/** A team. */
export interface Team {
  readonly id: TeamId;
  readonly name: string;
  readonly createdAtMs: number;
  /** Settings of the calls of its keys. */
  readonly calls?: CallSettings;
}

/** Lists the teams of an organisation, oldest first. */
export async function listTeams(kv: KeyValueStore, organisationId: AccountId): Promise<Team[]> {
  const rows = kv.list<Team>({ prefix: teamsPrefix(organisationId) }, { limit: maxTeams });
  return await Array.fromAsync(rows, ({ value }) => value);
}

/** Makes a team, unless the organisation has as many as it may, or one of that name. */
export async function createTeam(
  kv: KeyValueStore,
  organisationId: AccountId,
  { name, ...done }: Done & { readonly name: string },
): Promise<Team | "too_many" | "taken"> {
  const { nowMs } = done;
  const id = newId("team", nowMs);
  return await writeAccount<Team | "too_many" | "taken">(async () => {
    const entry = await kv.get<Account>(accountKey(organisationId));
    const teams = await listTeams(kv, organisationId);
    const isGone = entry.value === null || hasOnlyBooks(entry.value);
    if (isGone || teams.length >= maxTeams) return { done: "too_many" };
    if (teams.some((team) => team.name === name)) return { done: "taken" };
    const team: Team = { id, name, createdAtMs: nowMs };
    // The row of the organisation is written, so that two new teams never cross.
    const operation = kv.atomic().check(entry).set(entry.key, entry.value)
      .set(teamKey(organisationId, id), team);
    addAct(operation, organisationId, "team_made", done, { subject: id, after: { name } });
    return (await operation.commit()).ok ? { done: team } : "again";
  });
}

/** Deletes a team. Its keys go on working, without a team. */
export async function deleteTeam(
  kv: KeyValueStore,
  organisationId: AccountId,
  teamId: TeamId,
  done: Done,
): Promise<boolean> {
  const entry = await kv.get<Team>(teamKey(organisationId, teamId));
  if (entry.value === null) return false;
  // Its keys may have been called by its settings.
  const operation = bumpKeysEpoch(kv.atomic()).check(entry).delete(entry.key);
  const { name } = entry.value;
  addAct(operation, organisationId, "team_deleted", done, { subject: teamId, before: { name } });
  return (await operation.commit()).ok;
}
