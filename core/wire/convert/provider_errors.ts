/** Reads error answers of providers, also those that come with a success. */
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { ProviderStyle } from "../contract/contract.ts";
import { decodeErrorAnswer } from "../errors/errors.ts";
import type { ProviderErrorOptions } from "../errors/provider_error.ts";
import { readAnswer } from "./answer_reading.ts";

/**
 * Reads an error answer. If the body has an error field, its text is used without keys, hosts and organisations. HTML
 * pages of a proxy and empty bodies get a text of the gateway.
 *
 * Errors between the operator and the provider (the operator's key or quota) are never shown as the caller's mistake:
 * they become `upstream_unreachable`.
 *
 * @example
 * ```ts
 * import { decodeProviderError } from "./provider_errors.ts";
 * const ours = decodeProviderError("chat", 401, '{"error":{"message":"Incorrect API key provided: sk-1234567890"}}');
 * if (ours.status !== 502 || ours.message.includes("sk-")) throw new Error(ours.message);
 * const long = decodeProviderError("chat", 400, JSON.stringify({
 *   error: { code: "context_length_exceeded", message: "maximum context length is 10 tokens. However, you requested 12 tokens" },
 * }));
 * if (long.message !== "prompt is too long: 12 tokens > 10 maximum") throw new Error(long.message);
 * ```
 */
export function decodeProviderError(
  style: ProviderStyle,
  status: number,
  bodyText: string,
  options: ProviderErrorOptions = {},
): GatewayError {
  return decodeErrorAnswer((body) => readAnswer(style, body).error, status, bodyText, options);
}
