import { type ErrorCode, GatewayError } from "../../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { saysTooLong, tooLongText } from "./too_long.ts";

/**
 * Characters of a provider's error text that are passed on: a sentence or two. Some providers put whole
 * prompts or stack traces there.
 */
export const maxErrorMessageChars = 500;

/** Providers' names of errors (`code`, `type` or HTTP status), by the gateway's code. */
const words: readonly (readonly [ErrorCode, readonly string[]])[] = [
  ["overloaded", [
    "overloaded_error",
    "overloaded",
    "server_is_overloaded",
    "over_capacity",
    "engine_overloaded_error",
    "service_unavailable_error",
    "service_unavailable",
    "503",
    "529",
  ]],
  ["rate_limit_exceeded", [
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached_error",
    "too_many_requests",
    "slow_down",
    "requests",
    "tokens",
    "429",
  ]],
  ["upstream_timeout", ["timeout_error", "timeout", "request_timeout", "408", "504"]],
  ["context_length_exceeded", ["context_length_exceeded"]],
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

/** Errors between operator and provider: the caller cannot correct them and gets no details. */
const privateWords: ReadonlySet<string> = new Set([
  "authentication_error",
  "permission_error",
  "billing_error",
  "not_found_error",
  "insufficient_quota",
  "credit_balance_exhausted",
  "invalid_api_key",
  "model_not_found",
  "unsupported_country_region_territory",
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

/** An error in the provider's own terms. */
export interface ErrorFields {
  readonly type: string;
  readonly code: string;
  /** The cleaned text for the client; empty if there is none. */
  readonly message: string;
  /** The wrong field of the request, as the provider's style names it. */
  readonly param: string | undefined;
}

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
export function readProviderError(body: Json | undefined, status?: number): GatewayError {
  const fields = readErrorFields(body);
  for (const name of [fields.code, fields.type, status === undefined ? "" : String(status)]) {
    if (privateWords.has(name)) return new GatewayError("upstream_unreachable", generic);
    const code = codeOfWord.get(name);
    if (code === undefined) continue;
    const isLong = code === "context_length_exceeded" ||
      code === "invalid_request" && saysTooLong(fields.message);
    const message = fields.message || (ownWords[code] ?? generic);
    if (isLong) return new GatewayError("context_length_exceeded", tooLongText(message));
    return new GatewayError(code, message, providerCode(code, fields));
  }
  return saysTooLong(fields.message)
    ? new GatewayError("context_length_exceeded", tooLongText(fields.message))
    : new GatewayError("upstream_unreachable", fields.message || generic);
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

/** Reads the body of an error of any shape. */
export function readErrorFields(body: Json | undefined): ErrorFields {
  if (typeof body === "string") return fieldsOf({}, body);
  if (!isJsonObject(body)) return fieldsOf({}, undefined);
  const nested = body["error"];
  if (isJsonObject(nested)) {
    return fieldsOf(nested, nested["message"] ?? nested["error"]);
  }
  if (typeof nested === "string" && nested !== "") return fieldsOf(body, nested);
  return fieldsOf(body, body["message"] ?? body["detail"] ?? body["msg"]);
}

function fieldsOf(object: JsonObject, said: Json | undefined): ErrorFields {
  const fault = Array.isArray(said) ? said[0] : said;
  const { text, path } = isJsonObject(fault) ? faultOf(fault) : { text: fault, path: "" };
  const message = typeof text === "string" ? publicMessage(text) : "";
  const param = object["param"] ?? path;
  return {
    type: word(object["type"]),
    code: word(object["code"]),
    message: path === "" || message === "" ? message : `${path}: ${message}`,
    param: typeof param === "string" && param !== "" && param.length <= paramChars
      ? param
      : undefined,
  };
}

/** Most characters of a field's name that are passed on. */
const paramChars = 256;

/** One fault of a list, as validating servers write it: `{"loc":["body","messages",0],"msg":"field required"}`. */
function faultOf(fault: JsonObject): { readonly text: Json | undefined; readonly path: string } {
  const { loc } = fault;
  const steps = Array.isArray(loc) ? loc.slice(loc[0] === "body" ? 1 : 0) : [];
  const path = publicMessage(steps.join("."));
  return {
    text: fault["msg"] ?? fault["message"],
    path: path.length <= paramChars ? path : "",
  };
}

function word(value: Json | undefined): string {
  if (typeof value === "number") return String(value);
  return typeof value === "string" ? value.toLowerCase() : "";
}

const control = /[\p{Cc}&&\p{ASCII}]+/gv;
const secret = /\b(?:sk|key|pk|gsk|xai|org|proj)[-_](?=[\w-]*\d)[\w-]{6,}|\bBearer\s+\S+/g;
const url = /\b[a-z][a-z0-9+.-]{0,20}:\/\/\S+/gi;
const host =
  /\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|ai|dev|app|cloud|co|cn|vn|eu|us|internal|local|svc)\b(?::\d+)?\S*/gi;
const address = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g;

/**
 * Cleans a provider's error text for the client.
 *
 * It is cut to {@linkcode maxErrorMessageChars}, without control characters, URLs, host names,
 * addresses and anything that resembles a key or an organisation.
 *
 * @example
 * ```ts
 * import { publicMessage } from "./provider_error.ts";
 * const text = publicMessage("Bad key sk-abc123456 at https://api.example.com/v1");
 * if (text !== "Bad key [removed] at [removed]") throw new Error(text);
 * ```
 */
export function publicMessage(text: string): string {
  const cut = text.slice(0, 2 * maxErrorMessageChars).replace(control, " ");
  const clean = cut.replace(url, "[removed]").replace(host, "[removed]")
    .replace(address, "[removed]").replace(secret, "[removed]").trim();
  return clean.length > maxErrorMessageChars ? `${clean.slice(0, maxErrorMessageChars)}…` : clean;
}
