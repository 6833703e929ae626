/**
 * People who may profit from the wallet of an account: everybody who is, or lately was, a member of its organisation,
 * by their accounts, mailboxes and identities at sign-in providers. None of them moves its money as an operator.
 */
import { mailboxOf } from "../../../core/people/accounts/email_address.ts";
import { formerMembersPrefix, memberOf } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, getAccount, type Identity } from "../accounts/accounts.ts";
import type { Operator } from "../audit/operator_audit.ts";
import { type FormerMemberRow, listMemberIds } from "../organisations/members.ts";

/** Whether two operators, or an operator and a customer, may be the same person. */
export function isSamePerson(
  operator: Operator,
  other: { readonly accountId: string; readonly email?: string | undefined },
): boolean {
  return operator.accountId === other.accountId ||
    (other.email !== undefined && mailboxOf(operator.email) === mailboxOf(other.email));
}

/** Names by which a person is known. */
interface KnownPerson {
  readonly accountId: string;
  readonly email?: string | undefined;
  readonly identities?: readonly Identity[] | undefined;
}

async function readPerson(kv: KeyValueStore, id: Account["id"]): Promise<KnownPerson> {
  const account = await getAccount(kv, id);
  return { accountId: id, email: account?.email, identities: account?.identities };
}

/** The people who may profit from an account. */
export type Beneficiaries = readonly KnownPerson[];

/** Reads them; members of the last 90 days are kept by rows that expire. */
export async function readBeneficiaries(
  kv: KeyValueStore,
  account: Account,
): Promise<Beneficiaries> {
  const former = await Array.fromAsync(
    kv.list<FormerMemberRow>({ prefix: formerMembersPrefix(account.id) }),
    ({ key, value }): KnownPerson => ({ accountId: memberOf(key), ...value }),
  );
  const ids = new Set([account.id, ...await listMemberIds(kv, account)]);
  const members = await Promise.all([...ids].map((id) => readPerson(kv, id)));
  // A wallet warns and bills an address that may be of nobody else's account.
  const { organisation } = account;
  const reader = { accountId: organisation?.ownerId ?? account.id, email: organisation?.mailTo };
  return [...members, ...former, reader];
}

/** Whether an operator, whose account has these identities, may be one of them. */
export function isOneOf(
  beneficiaries: Beneficiaries,
  operator: Operator,
  identities: readonly Identity[] = [],
): boolean {
  return beneficiaries.some((one) =>
    isSamePerson(operator, one) ||
    one.identities?.some(({ issuer, subject }) =>
        identities.some((own) => own.issuer === issuer && own.subject === subject)
      ) === true
  );
}

/** Whether one of some operators may be one of them. */
export async function isAnyAmong(
  kv: KeyValueStore,
  operators: readonly Operator[],
  beneficiaries: Beneficiaries,
): Promise<boolean> {
  const people = await Promise.all(operators.map(({ accountId }) => readPerson(kv, accountId)));
  return operators.some((operator, at) => isOneOf(beneficiaries, operator, people[at]?.identities));
}

/** Whether one of some operators may profit from an account. */
export async function mayProfit(
  kv: KeyValueStore,
  operators: readonly Operator[],
  account: Account,
): Promise<boolean> {
  return await isAnyAmong(kv, operators, await readBeneficiaries(kv, account));
}
