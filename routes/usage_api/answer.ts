/** What the answers of the usage API share: how they are called, and the parts of queries that several read. */
import type { Context } from "hono";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { parseId, type RequestId } from "../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import type { Principal } from "../../kv/people/api_keys/key_directory.ts";
import { wrongParameter } from "../http/query.ts";

/** What the server knows of the connection. */
export interface Env {
  Bindings: { readonly clientAddress?: string };
}

/** Makes the body of an answer for a known caller. */
export type Answer = (c: Context<Env>, principal: Principal) => Promise<JsonObject>;

/** Calls on one page of a list: about 200 KB of JSON. */
export const maxListRows = 200;

/** Before the first call of any installation. */
export const firstDay = "2000-01-01";

/**
 * The key whose calls the query asks for. A key that reads only its own calls gets itself.
 *
 * @throws {GatewayError} if such a key asks for another one
 */
export function keyAskedFor(c: Context<Env>, { key }: Principal): string | undefined {
  const asked = c.req.query("key");
  if (key.readsOnlyOwnCalls !== true) return asked;
  if (asked === undefined || asked === key.id) return key.id;
  throw new GatewayError("permission_denied", "This key may read only its own calls");
}

/**
 * The call before which a page begins.
 *
 * @throws {GatewayError} if it is no request id
 */
export function cursorOf(c: Context<Env>): RequestId | undefined {
  const cursor = c.req.query("before");
  const before = cursor === undefined ? undefined : parseId("request", cursor);
  if (cursor !== undefined && before === undefined) {
    throw wrongParameter("before", "must be a request id");
  }
  return before;
}
