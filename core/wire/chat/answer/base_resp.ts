import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";

/**
 * Errors that come with status 200 in `base_resp`, by their number: https://platform.minimax.io/docs/api-reference/errorcode
 * Other numbers are outages.
 */
const words: ReadonlyMap<Json | undefined, string> = new Map<Json | undefined, string>([
  [1001, "timeout"],
  [1002, "rate_limit_exceeded"],
  [1004, "invalid_api_key"],
  [1008, "insufficient_quota"],
  [1026, "content_filter"],
  [1027, "content_filter"],
  [1039, "rate_limit_exceeded"],
  [1041, "rate_limit_exceeded"],
  [2013, "invalid_request_error"],
  [2045, "rate_limit_exceeded"],
  [2049, "invalid_api_key"],
  [2056, "insufficient_quota"],
]);

/**
 * Reads the error of an answer without choices; `undefined` if it has none.
 *
 * @example
 * ```ts
 * import { readBaseResp } from "./base_resp.ts";
 * const error = readBaseResp({ choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } });
 * if (error?.code !== "rate_limit_exceeded") throw new Error(JSON.stringify(error));
 * ```
 */
export function readBaseResp(body: JsonObject): JsonObject | undefined {
  const { base_resp: said, choices } = body;
  if (!isJsonObject(said) || (Array.isArray(choices) && choices.length > 0)) return undefined;
  const { status_code: number, status_msg: message } = said;
  if (typeof number !== "number" || number === 0) return undefined;
  return { code: words.get(number) ?? "server_error", message: message ?? "" };
}
