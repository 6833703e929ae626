/** Finds the account that an operator names, by its id or its e-mail address. */
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Account,
  findAccountByEmail,
  getAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { type Refused, refused } from "./operation.ts";

/**
 * Finds the account that an operator names by id or by e-mail address.
 *
 * @throws {GatewayError} `invalid_request` or `not_found` if there is no such account
 */
export async function requireAccount(kv: KeyValueStore, text: string): Promise<AccountId> {
  const named = await namedAccount(kv, text);
  if (!named.ok) throw named.error;
  return named.account.id;
}

type Named = { readonly ok: true; readonly account: Account } | Refused<"account">;

/** Finds an account by id or by e-mail address. */
export async function namedAccount(kv: KeyValueStore, text: string): Promise<Named> {
  const id = parseId("account", text);
  if (id === undefined && !text.includes("@")) return notAnId(text);
  const email = normaliseEmail(text);
  const account = id !== undefined
    ? await getAccount(kv, id)
    : email !== undefined
    ? await findAccountByEmail(kv, email)
    : undefined;
  return account === undefined ? noAccount(text) : { ok: true, account };
}

function notAnId(text: string) {
  return refused("account", "invalid_request", `Not an account id: ${text}`, "account");
}

/** The refusal of an act on an account that is not there. */
export function noAccount(text: string) {
  return refused("account", "not_found", `No such account: ${text}`, "account");
}
