/** A provider's refusal as ours: by HTTP status first, then by its own words (wire formats, section 11). */
import type { Style } from "./contract.ts";
import { type ErrorCode, GatewayError } from "../errors.ts";
import type { Json } from "../json.ts";
import { readProviderError } from "./provider_error.ts";

const unreachable = "The provider of this model refused the call for reasons on our side";

/** What a status says whatever the body holds. Others are the caller's (4xx) or an outage (the rest). */
const codeOfStatus = new Map<number, ErrorCode>([
  [401, "upstream_unreachable"],
  [402, "upstream_unreachable"],
  [403, "upstream_unreachable"],
  [404, "model_not_found"],
  [408, "upstream_timeout"],
  [409, "overloaded"],
  [413, "request_too_large"],
  [429, "rate_limit_exceeded"],
  [500, "upstream_unreachable"],
  [502, "upstream_unreachable"],
  [503, "overloaded"],
  [504, "upstream_timeout"],
  [529, "overloaded"],
]);

/** Our own key, account or quota is at fault: the client must not learn of it, and cannot do anything about it. */
const oursAlone: ReadonlySet<number> = new Set([401, 402, 403]);

const fallbackMessages: Partial<Record<ErrorCode, string>> = {
  invalid_request: "The provider of this model refused the request",
  model_not_found: "The provider does not know this model",
  request_too_large: "The request is too large for this model",
  rate_limit_exceeded: "The provider of this model limits the rate of calls",
  overloaded: "The provider of this model is overloaded",
  upstream_timeout: "The provider of this model did not answer in time",
  upstream_unreachable: "The provider of this model failed",
};

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // HTML or nothing: only the status speaks
  }
}

/**
 * Decodes the answer of a provider that refused.
 *
 * @example
 * ```ts
 * import { decodeProviderError } from "./errors.ts";
 * const error = decodeProviderError("chat", 401, '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}');
 * if (error.status !== 502 || error.message.includes("key")) throw new Error("our key's failure reached the client");
 * ```
 */
export function decodeProviderError(_style: Style, status: number, body: string): GatewayError {
  if (oursAlone.has(status)) return new GatewayError("upstream_unreachable", unreachable);
  const parsed = parse(body);
  const spoken = parsed === undefined ? undefined : readProviderError(parsed, status);
  let code = codeOfStatus.get(status) ??
    (status >= 400 && status < 500 ? "invalid_request" : "upstream_unreachable");
  // Within the caller's 4xx the provider's words say more; a quota of ours hides behind a 429.
  const refines = spoken?.code === "context_length_exceeded" ||
    spoken?.code === "content_policy_violation" ||
    (status === 429 && spoken?.code === "upstream_unreachable");
  if (refines) code = spoken.code;
  const message = spoken?.message || fallbackMessages[code] || unreachable;
  return new GatewayError(code, message, { cause: `status ${status}` });
}
