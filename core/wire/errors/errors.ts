/**
 * Classifies a provider's error answer: by HTTP status first, then by what the body says.
 *
 * Used for converted and for native routes. See docs/internals/WIRE_FORMATS.md#errors.
 *
 * - Folder `core/wire/errors/`: error answers of providers, in the gateway's terms and in each
 *   style.
 * - In: status, headers and body of a provider's error.
 * - Out: a `GatewayError`, and the fields that clients of the same style may see.
 * - Never: reveals the operator's account or credentials.
 */
import { type ErrorCode, GatewayError } from "../../errors.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { readAnswer } from "../answer_reading.ts";
import type { ProviderStyle } from "../contract.ts";
import {
  type ErrorFields,
  ownWords,
  providerCode,
  readErrorFields,
  readProviderError,
} from "./provider_error.ts";
import { vendorErrorMembers } from "./vendor_error_body.ts";
import { saysTooLong, tooLongText } from "./too_long.ts";

/** Properties of a call on which reading a provider's error depends. */
export interface ProviderErrorOptions {
  /** The time of the provider's `retry-after`. */
  readonly retryAfterSeconds?: number;
  /**
   * The client speaks the route's style, so the field that the provider names is a field of the client's request.
   */
  readonly native?: boolean;
}

/** Codes by status, whatever the body. Other 4xx are errors of the caller, everything else is an outage. */
const codeOfStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [404, "not_found"],
  [408, "upstream_timeout"],
  [409, "overloaded"],
  [413, "request_too_large"],
  [429, "rate_limit_exceeded"],
  [503, "service_unavailable"],
  [504, "upstream_timeout"],
  [529, "overloaded"],
]);

/**
 * Reads an error answer. If the body has an error field, its text is used without keys, hosts and organisations. HTML
 * pages of a proxy and empty bodies get a text of the gateway.
 *
 * Errors between the operator and the provider (the operator's key or quota) are never shown as the caller's mistake:
 * they become `upstream_unreachable`.
 *
 * @example
 * ```ts
 * import { decodeProviderError } from "./errors.ts";
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
  const body = parse(bodyText);
  if (status < 400) return ofSuccess(style, status, body, options);
  const error = refusal(status, body, options);
  // If the gateway's status differs, the provider's details would contradict it.
  return options.native === true && error.status === status
    ? withVendorMembers(error, body)
    : error;
}

/**
 * Reads an error that a provider of the caller's own style put into its stream.
 *
 * @example
 * ```ts
 * import { nativeStreamError } from "./errors.ts";
 * const { vendorMembers } = nativeStreamError({
 *   error: { message: "No call", type: "invalid_request_error", code: "tool_use_failed", failed_generation: "<f>" },
 * });
 * if (vendorMembers?.["failed_generation"] !== "<f>") throw new Error(JSON.stringify(vendorMembers));
 * ```
 */
export function nativeStreamError(body: Json): GatewayError {
  const error = readProviderError(body);
  return isJsonObject(body) && isJsonObject(body["error"]) ? withVendorMembers(error, body) : error;
}

/** Adds the provider's codes and details, unless the error concerns the operator. */
function withVendorMembers(error: GatewayError, body: Json | undefined): GatewayError {
  const isCallers = error.status < 500 && error.code !== "model_not_found";
  const members = isCallers ? vendorErrorMembers(body) : undefined;
  return members === undefined ? error : error.reworded(error.message, members);
}

function refusal(
  status: number,
  body: Json | undefined,
  options: ProviderErrorOptions,
): GatewayError {
  const said = readProviderError(body);
  const fields = readErrorFields(body);
  if (isOurs(status, said, body)) return ours(status);
  if (isTooLong(status, said)) {
    return new GatewayError(
      "context_length_exceeded",
      tooLongText(said.message),
      field(fields, options),
    );
  }
  if (status < 500 && said.code === "content_policy_violation") return said;
  const code = codeOf(status, said, body);
  // The provider sent no text, or none that may be shown: use the text for the status.
  const isTheirs = said.message === fields.message || said.code === "context_length_exceeded";
  const hasText = isTheirs && fields.message !== "" && code !== "model_not_found";
  const message = hasText ? fields.message : ownWords[code] ?? said.message;
  return new GatewayError(code, message, {
    cause: `status ${status}`,
    ...(code === "invalid_request" && status !== 400 && status < 500 ? { status } : {}),
    ...(status < 500 ? { ...field(fields, options), ...providerCode(code, fields) } : {}),
    ...wait(code, options),
  });
}

function codeOf(status: number, said: GatewayError, body: Json | undefined): ErrorCode {
  if (status === 404 && isAboutModel(body)) return "model_not_found";
  const known = codeOfStatus.get(status);
  if (known !== undefined) return known;
  // Some servers report overload with a 400 or an unusual status.
  if (said.code === "overloaded" || said.code === "rate_limit_exceeded") return said.code;
  return status < 500 ? "invalid_request" : "upstream_unreachable";
}

/** Reads a 200 with an error: only the body shows its kind. */
function ofSuccess(
  style: ProviderStyle,
  status: number,
  body: Json | undefined,
  options: ProviderErrorOptions,
): GatewayError {
  const said = isJsonObject(body) ? readAnswer(style, body).error : undefined;
  if (said === undefined) return ours(status);
  if (said.code === "context_length_exceeded") return said;
  return new GatewayError(said.code, said.message, wait(said.code, options));
}

function ours(status: number): GatewayError {
  const message = "The provider of this model refused the call for reasons on our side";
  return new GatewayError("upstream_unreachable", message, { cause: `status ${status}` });
}

/** Returns the time to wait, for codes where waiting helps. */
function wait(code: ErrorCode, { retryAfterSeconds }: ProviderErrorOptions) {
  const helps = code === "rate_limit_exceeded" || code === "overloaded" ||
    code === "service_unavailable";
  return helps && retryAfterSeconds !== undefined ? { retryAfterSeconds } : {};
}

const ourWords =
  /api[ _-]?key|credit balance|insufficient[ _]quota|credit_balance_exhausted|enforced_spend_limit_reached|usage limits?\b|billing|organization has been disabled/i;

/** Whether an error is between operator and provider, so that the caller cannot correct it. */
function isOurs(status: number, said: GatewayError, body: Json | undefined): boolean {
  if (status === 401 || status === 402 || status === 407) return true;
  if (status === 403) return said.code !== "content_policy_violation";
  if (status !== 400 && status !== 429) return false;
  return ourWords.test(said.message) || ourWords.test(kindOf(body));
}

/** Returns `type` and `code` of the body's error, as text. */
function kindOf(body: Json | undefined): string {
  const error = isJsonObject(body) && isJsonObject(body.error) ? body.error : body;
  if (!isJsonObject(error)) return "";
  return [error.type, error.code].filter((word) => typeof word !== "object").join(" ");
}

/** Whether a 404 is about the model: the body names one, or cannot be read. */
function isAboutModel(body: Json | undefined): boolean {
  return body === undefined || /model/i.test(stringifyExactly(body));
}

function isTooLong(status: number, said: GatewayError): boolean {
  if (status !== 400 && status !== 413 && status !== 422) return false;
  return said.code === "context_length_exceeded" || saysTooLong(said.message);
}

/** Parses the body; `undefined` if it is not JSON: empty, cut, or a page of a proxy. */
function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) || typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

function field(
  { param }: ErrorFields,
  options: ProviderErrorOptions,
): { readonly param?: string } {
  return options.native === true && param !== undefined ? { param } : {};
}
