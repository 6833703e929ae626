/** Reads a provider's error answer to a media call. */
import { readProviderError } from "../wire/errors/provider_error.ts";
import { GatewayError } from "../errors.ts";
import { tryParseExactly } from "../lib/json/exact_json.ts";
import type { Json } from "../lib/json/json.ts";

/** Parses the JSON of a body; `undefined` if it is not JSON. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    return tryParseExactly(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * Converts a refusal into an error; `waitSeconds` is the time for which the provider asks not to be
 * called.
 */
export function decodeMediaRefusal(
  status: number,
  text: string,
  waitSeconds: number | undefined,
): GatewayError {
  const error = readProviderError(tryParseExactly(text), status);
  if (waitSeconds === undefined || error.retryAfterSeconds !== undefined) return error;
  return new GatewayError(error.code, error.message, { retryAfterSeconds: waitSeconds });
}
