/** Who acts in tests of acts of customers: the owner of an organisation, on a page. */
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import type { Acting } from "../../../routes/acts/operation.ts";

const address = "203.0.113.9";

/**
 * Returns the owner of an organisation as who acts for it.
 *
 * @param more what is otherwise
 */
export function ownerOf(account: Account, nowMs: number, more: Partial<Acting> = {}): Acting {
  return {
    account,
    personId: account.id,
    roles: ["owner"],
    by: { kind: "person", accountId: account.id, address, browser: "" },
    actorName: "x",
    address,
    locale: "en",
    nowMs,
    ...more,
  };
}
