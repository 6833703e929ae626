/** Reads a provider's error answer to a media call. */
import { decodeProviderError } from "../../wire/convert/provider_errors.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import type { Json } from "../../lib/json/json.ts";

/** Parses the JSON of a body; `undefined` if it is not JSON. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    return tryParseExactly(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/**
 * Converts a refusal into an error, by the same rules as for chat: media endpoints have the errors of the Chat style.
 *
 * @param waitSeconds the time for which the provider asks not to be called
 */
export function decodeMediaRefusal(
  status: number,
  text: string,
  waitSeconds: number | undefined,
): GatewayError {
  return decodeProviderError("chat", status, text, defined({ retryAfterSeconds: waitSeconds }));
}
