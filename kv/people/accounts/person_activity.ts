/**
 * Writes what a person does to their own access to the activity logs that it concerns: that of the account, and those of
 * the organisations of which the person is a member at that moment. Each of them has to see that somebody with its keys
 * and its money has, say, no second factor any more.
 */
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { maxMemberships } from "../../../core/people/organisations/organisation.ts";
import { accountKey, membershipsPrefix, organisationOf } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  type ActivityAct,
  type ActivityFields,
  addAct,
  type Doer,
  type Done,
  type Whence,
} from "../audit/account_activity.ts";
import { type Account, isOwnersAccount } from "./accounts.ts";

/** A person who acts for themselves, from somewhere. */
export function personAt({ id, email }: Pick<Account, "id" | "email">, whence: Whence): Doer {
  return { kind: "person", accountId: id, ...defined({ email }), ...whence };
}

/** Returns whose logs have the acts of a person on their own access: the organisations of the person, and their own. */
export async function logsOf(
  kv: KeyValueStore,
  personId: AccountId,
): Promise<readonly AccountId[]> {
  const { value: person } = await kv.get<Account>(accountKey(personId));
  const rows = await Array.fromAsync(
    kv.list({ prefix: membershipsPrefix(personId) }, { limit: maxMemberships }),
  );
  const own = person !== null && isOwnersAccount(person) ? [personId] : [];
  return [...new Set([...own, ...rows.map(({ key }) => organisationOf(key))])];
}

/**
 * Prepares the lines of an act of a person, to be added to the commit of the act.
 *
 * @param done absent: the act has no lines
 */
export async function personLines(
  kv: KeyValueStore,
  personId: AccountId,
  act: ActivityAct,
  done: Done | undefined,
  what: {
    readonly subject?: string;
    readonly before?: ActivityFields;
    readonly after?: ActivityFields;
  } = {},
): Promise<(operation: AtomicWrite) => void> {
  if (done?.by === undefined) return () => {};
  const logs = await logsOf(kv, personId);
  return (operation) => {
    for (const accountId of logs) addAct(operation, accountId, act, done, what);
  };
}

/** Writes the lines of an act by themselves, for what changes nothing in the store: a wrong password. */
export async function writePersonAct(
  kv: KeyValueStore,
  personId: AccountId,
  act: ActivityAct,
  done: Done,
): Promise<void> {
  const operation = kv.atomic();
  (await personLines(kv, personId, act, done))(operation);
  await operation.commit();
}
