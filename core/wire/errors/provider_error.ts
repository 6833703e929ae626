import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { concernsAccount } from "./account_errors.ts";
import { bodyWaitSeconds } from "./body_wait.ts";
import { type ErrorFields, readErrorFields } from "./error_fields.ts";
import { readWindowExcess } from "./too_long.ts";

/** Providers' names of errors (`code`, `type` or HTTP status), by the gateway's code. */
const words: readonly (readonly [ErrorCode, readonly string[]])[] = [
  ["overloaded", [
    "overloaded_error",
    "overloaded",
    "server_is_overloaded",
    "over_capacity",
    "engine_overloaded_error",
    "529",
  ]],
  ["service_unavailable", ["service_unavailable_error", "service_unavailable", "503"]],
  ["rate_limit_exceeded", [
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached_error",
    "too_many_requests",
    "resource_exhausted",
    "slow_down",
    "requests",
    "tokens",
    "429",
  ]],
  ["upstream_timeout", ["timeout_error", "timeout", "request_timeout", "408", "504"]],
  ["context_length_exceeded", [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_max_prompt_tokens_exceeded",
    "1261",
  ]],
  ["content_policy_violation", [
    "content_policy_violation",
    "content_filter",
    "content_filtered",
    "moderation_blocked",
  ]],
  ["request_too_large", ["request_too_large", "413"]],
  ["invalid_request", [
    "invalid_request_error",
    "invalid_request",
    "invalid_prompt",
    "bad_request",
    "400",
    "422",
  ]],
];

const codeOfWord: ReadonlyMap<string, ErrorCode> = new Map(
  words.flatMap(([code, names]) => names.map((name) => [name, code] as const)),
);

/** Codes, types and statuses of errors that the caller cannot correct, without details for him. */
const privateWords: ReadonlySet<string> = new Set([
  "not_found_error",
  "model_not_found",
  "401",
  "402",
  "403",
  "404",
]);

const generic = "The provider could not finish this answer";

/** Texts for the client if the provider sent none that may be shown. */
export const ownWords: Partial<Record<ErrorCode, string>> = {
  invalid_request: "The provider of this model refused the request",
  not_found: "The provider of this model does not have what the request refers to",
  model_not_found: "The provider does not know this model",
  request_too_large: "The request is too large for this model",
  rate_limit_exceeded: "The provider of this model limits the rate of calls",
  overloaded: "The provider of this model is overloaded",
  service_unavailable: "The provider of this model is out of service at the moment",
  upstream_timeout: "The provider of this model did not answer in time",
  upstream_unreachable: "The provider of this model failed",
};

/**
 * Turns a provider's error of any shape into a `GatewayError`. `body` is the whole JSON of an error answer or of an error
 * event; known shapes are a nested `error`, flat members, `detail` (a text, or a list of faults from validating servers),
 * and text.
 *
 * The message is passed on only from the provider's own error field and without addresses or keys; errors of the
 * operator's own account (its key, its quota) become `upstream_unreachable` with a generic text. A prompt that is too
 * long gets the one text that agents recognize, in whole answers and in streams.
 *
 * @example
 * ```ts
 * import { readProviderError } from "./provider_error.ts";
 * const error = readProviderError({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
 * if (error.code !== "overloaded" || error.message !== "Overloaded") throw new Error("wrong");
 * ```
 */
export function readProviderError(body: Json | undefined): GatewayError {
  const fields = readErrorFields(body);
  if (concernsAccount(fields, body)) return new GatewayError("upstream_unreachable", generic);
  for (const name of [fields.code, fields.type]) {
    if (privateWords.has(name)) return new GatewayError("upstream_unreachable", generic);
    const code = codeOfWord.get(name);
    if (code === undefined) continue;
    const message = fields.message || (ownWords[code] ?? generic);
    const isCoded = code === "context_length_exceeded";
    const excess = isCoded || code === "invalid_request"
      ? windowError(message, isCoded)
      : undefined;
    return excess ?? new GatewayError(isCoded ? "invalid_request" : code, message, {
      ...providerCode(code, fields),
      ...waitOf(code, body, fields),
    });
  }
  return windowError(fields.message, false) ??
    new GatewayError("upstream_unreachable", fields.message || generic);
}

/** The error of a request beyond the context window, if its code or its text reports one. */
export function windowError(message: string, isCoded: boolean): GatewayError | undefined {
  const excess = readWindowExcess(message, isCoded);
  if (excess === undefined) return undefined;
  const code = excess.kind === "prompt" ? "context_length_exceeded" : "invalid_request";
  return new GatewayError(code, excess.text);
}

/** Codes for which a caller may wait. */
const waitHelps: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "rate_limit_exceeded",
  "overloaded",
  "service_unavailable",
]);

/**
 * The time to wait, as an object to spread: what the body tells, unless a header told it.
 *
 * @param headerSeconds the time of `retry-after`
 */
export function waitOf(
  code: ErrorCode,
  body: Json | undefined,
  { message }: ErrorFields,
  headerSeconds?: number,
): { readonly retryAfterSeconds?: number } {
  if (!waitHelps.has(code)) return {};
  return defined({ retryAfterSeconds: headerSeconds ?? bodyWaitSeconds(body, message) });
}

/**
 * The error of a body with a success status that holds no answer of its style. Only a code shows that waiting, or another
 * request, would help.
 */
export function readNoAnswer(body: JsonObject): GatewayError {
  const said = readProviderError(body);
  return said.code === "upstream_unreachable"
    ? new GatewayError("upstream_unreachable", "The provider of this model sent no answer")
    : said;
}

/** Most characters of a provider's code that are passed on. */
const codeChars = 64;

/**
 * Returns the provider's code if it is more specific than the gateway's, as an object to spread. Chat and Responses
 * clients read the codes of one vendor; a code is a word, never a sentence or a number.
 */
export function providerCode(
  code: ErrorCode,
  { code: word }: ErrorFields,
): { readonly providerCode?: string } {
  if (code !== "invalid_request" || word.length > codeChars) return {};
  return /^[a-z][a-z0-9_]*$/.test(word) ? { providerCode: word } : {};
}
