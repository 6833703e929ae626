/** Remembers who was a member of an organisation, for as long as they decide about none of its money as operators. */
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { formerMemberMs } from "../../../core/people/organisations/organisation.ts";
import { formerMemberKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";
import type { Account } from "../accounts/accounts.ts";

/** Addresses and identities of a former member, whatever becomes of their account. */
export type FormerMemberRow = Pick<Account, "email" | "identities">;

/** Adds to the commit by which somebody is a member no more that they were one. */
export function addFormerMember(
  operation: AtomicWrite,
  organisationId: AccountId,
  { id, email, identities }: Account,
): void {
  const row: FormerMemberRow = defined({ email, identities });
  operation.set(formerMemberKey(organisationId, id), row, { expireIn: formerMemberMs });
}
