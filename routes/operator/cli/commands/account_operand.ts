/** Finds the account that a command names by id or by e-mail address. */
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import { findAccountByEmail, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

function accountIdOf(text: string): AccountId {
  const id = parseId("account", text);
  if (id === undefined) throw new GatewayError("invalid_request", `Not an account id: ${text}`);
  return id;
}

/** @throws {GatewayError} `invalid_request` or `not_found` if there is no such account */
export async function requireAccount(kv: KeyValueStore, text: string): Promise<AccountId> {
  const id = text.includes("@")
    ? (await findAccountByEmail(kv, text.toLowerCase()))?.id
    : (await getAccount(kv, accountIdOf(text)))?.id;
  if (id === undefined) throw new GatewayError("not_found", `No such account: ${text}`);
  return id;
}
