/** Sets how calls of an organisation or one of its teams are served; on all instances within two seconds. */
import {
  type CallSettings,
  loggedCallSettings,
} from "../../../core/calls/request/call_settings.ts";
import type { AccountId, TeamId } from "../../../core/lib/ids/ids.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { accountKey, teamKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, writeAccount } from "../accounts/accounts.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import type { Team } from "./teams.ts";

function replaced<Row extends { readonly calls?: CallSettings }>(
  { calls: _, ...rest }: Row,
  calls: CallSettings | undefined,
) {
  return calls === undefined ? rest : { ...rest, calls };
}

/**
 * Replaces the settings of calls of an organisation, or of one of its teams.
 *
 * @param teamId absent: those of the organisation
 * @returns whether there is such an organisation or team
 */
export async function setCallSettings(
  kv: KeyValueStore,
  organisationId: AccountId,
  { teamId, calls, ...done }: Done & {
    readonly teamId: TeamId | undefined;
    readonly calls: CallSettings | undefined;
  },
): Promise<boolean> {
  return await writeAccount<boolean>(async () => {
    const account = await kv.get<Account>(accountKey(organisationId));
    if (account.value === null || hasOnlyBooks(account.value)) return { done: false };
    const entry = teamId === undefined
      ? account
      : await kv.get<Team>(teamKey(organisationId, teamId));
    if (entry.value === null) return { done: false };
    const { calls: former } = entry.value;
    const operation = bumpKeysEpoch(kv.atomic()).check(account).check(entry)
      .set(entry.key, replaced(entry.value, calls));
    addAct(operation, organisationId, "call_settings_changed", done, {
      ...(teamId !== undefined && { subject: teamId }),
      before: loggedCallSettings(former ?? {}),
      after: loggedCallSettings(calls ?? {}),
    });
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}
