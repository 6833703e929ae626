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
import { type ErrorCode, GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { concernsAccount } from "./account_errors.ts";
import { type ErrorFields, publicMessage, readErrorFields } from "./error_fields.ts";
import {
  ownWords,
  providerCode,
  readProviderError,
  waitOf,
  windowError,
} from "./provider_error.ts";

// Selects the members of a provider's error for clients that speak its style: codes and details that their libraries
// read, without those that reveal the operator's account or the provider.

/** Most levels of nested details; deeper ones are dropped. Vendors' errors have up to four levels. */
const maxDepth = 8;

/** Members that identify the operator, the provider or a host of theirs, by any vendor's name for them. */
const privateMember =
  /^(?:(?:user|account|org|organi[sz]ation|project|team|tenant|workspace|subscription|resource|deployment|request|trace|correlation|session|provider)[_-]?(?:id|name|identifier)?|model|hosts?|hostname|urls?|endpoint|server|headers|ip|raw)$/i;

/** The member with the model's output when its tool call could not be parsed: it belongs to the caller, like an answer. */
const answerMember = "failed_generation";

/** Members that are dropped: the text, replaced by {@linkcode GatewayError.message}, and those around a flat error. */
const framing: ReadonlySet<string> = new Set(["message", "detail", "object", "status"]);

function cleaned(value: Json, depth: number): Json {
  if (typeof value === "string") return publicMessage(value);
  if (Array.isArray(value)) {
    return depth === 0 ? [] : value.map((element) => cleaned(element, depth - 1));
  }
  return isJsonObject(value) ? cleanedObject(value, depth) : value;
}

function cleanedObject(object: JsonObject, depth: number): JsonObject {
  const clean: JsonObject = {};
  if (depth === 0) return clean;
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || name === "__proto__" || privateMember.test(name)) continue;
    const isAnswer = name === answerMember && typeof value === "string";
    clean[name] = isAnswer ? value : cleaned(value, depth - 1);
  }
  return clean;
}

/**
 * Returns the members of a provider's error object that clients may see, except the message; `undefined` if the body has
 * no such object.
 *
 * @example
 * ```ts
 * import { vendorErrorMembers } from "./errors.ts";
 * const members = vendorErrorMembers({
 *   error: { message: "No", code: "unsupported_parameter", metadata: { raw: "…", user_id: "user_7" } },
 * });
 * const text = JSON.stringify(members);
 * if (text !== '{"code":"unsupported_parameter","metadata":{}}') throw new Error(text);
 * ```
 */
export function vendorErrorMembers(body: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(body)) return undefined;
  const { error } = body;
  const members = cleanedObject(isJsonObject(error) ? error : body, maxDepth);
  for (const name of framing) delete members[name];
  return typeof error === "string" || Object.keys(members).length === 0 ? undefined : members;
}

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

/** Reads an error answer; `errorIn` finds the error in the body of a success. */
export function decodeErrorAnswer(
  errorIn: (body: JsonObject) => GatewayError | undefined,
  status: number,
  bodyText: string,
  options: ProviderErrorOptions = {},
): GatewayError {
  const body = parse(bodyText);
  if (status < 400) return ofSuccess(errorIn, status, body, options);
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

/** Advice to the operator in a rate limit: a customer would take the plan or the balance for his own. */
const accountTalk = /\b(?:billing|recharge|balance|payment|your (?:current )?(?:plan|quota))\b/i;

function refusal(
  status: number,
  body: Json | undefined,
  options: ProviderErrorOptions,
): GatewayError {
  const said = readProviderError(body);
  const fields = readErrorFields(body);
  if (isOurs(status, said, fields, body)) return new OperatorRefusal(status);
  if (mayBeTooLong(status)) {
    const isCap = said.code === "invalid_request" &&
      windowError(fields.message, false) !== undefined;
    // The provider's own words for clients of its style, which may know them.
    const text = isCap && options.native === true ? fields.message : said.message;
    if (isCap || said.code === "context_length_exceeded") {
      return new GatewayError(said.code, text, field(fields, options));
    }
  }
  if (status < 500 && said.code === "content_policy_violation") return said;
  const code = codeOf(status, said, fields, body);
  // The provider sent no text, or none that may be shown: use the text for the status.
  const isPrivate = said.code === "upstream_unreachable" && said.message !== fields.message;
  const isOperators = code === "rate_limit_exceeded" && accountTalk.test(fields.message);
  const hasText = !isPrivate && !isOperators && fields.message !== "" &&
    code !== "model_not_found";
  const message = hasText ? fields.message : ownWords[code] ?? said.message;
  return new GatewayError(code, message, {
    cause: `status ${status}`,
    ...(code === "invalid_request" && status !== 400 && status < 500 ? { status } : {}),
    ...(status < 500 ? { ...field(fields, options), ...providerCode(code, fields) } : {}),
    ...waitOf(code, body, fields, options.retryAfterSeconds),
  });
}

function codeOf(
  status: number,
  said: GatewayError,
  fields: ErrorFields,
  body: Json | undefined,
): ErrorCode {
  if (status === 404 && isAboutModel(fields, body)) return "model_not_found";
  const known = codeOfStatus.get(status);
  if (known !== undefined) return known;
  // Some servers report overload with a 400 or an unusual status.
  if (said.code === "overloaded" || said.code === "rate_limit_exceeded") return said.code;
  return status < 500 ? "invalid_request" : "upstream_unreachable";
}

/** Reads a 200 with an error: only the body shows its kind. */
function ofSuccess(
  errorIn: (body: JsonObject) => GatewayError | undefined,
  status: number,
  body: Json | undefined,
  options: ProviderErrorOptions,
): GatewayError {
  const said = isJsonObject(body) ? errorIn(body) : undefined;
  if (said === undefined) return new OperatorRefusal(status);
  if (said.code === "context_length_exceeded") return said;
  const { code, message } = said;
  return new GatewayError(
    code,
    message,
    waitOf(code, body, readErrorFields(body), options.retryAfterSeconds),
  );
}

/** A refusal for the key, the rights or the credit of the operator. Clients read that it is our fault, not why. */
export class OperatorRefusal extends GatewayError {
  /** The status of the provider's answer. */
  readonly providerStatus: number;

  constructor(providerStatus: number) {
    const message = "The provider of this model refused the call for reasons on our side";
    super("upstream_unreachable", message, { cause: `status ${providerStatus}` });
    this.providerStatus = providerStatus;
  }
}

/** Whether an error is between operator and provider, so that the caller cannot correct it. */
function isOurs(
  status: number,
  said: GatewayError,
  fields: ErrorFields,
  body: Json | undefined,
): boolean {
  if (status === 401 || status === 402 || status === 407) return true;
  if (status === 403) return said.code !== "content_policy_violation";
  return status < 500 && status !== 404 && concernsAccount(fields, body);
}

/** What providers write first of a model that they do not have: its name follows, or comes before. */
const aboutModel =
  /^(?:the )?(?:requested |specified )?(?:models?\b|publisher model\b|deployment\b)|^no (?:allowed |available )?(?:endpoints|providers|models?)\b|^(?:unknown|invalid|unsupported|no such) model\b/i;

/** Codes and types of a model that the provider does not have, in lower case. */
const modelCodes: ReadonlySet<string> = new Set([
  "model_not_found",
  "modelnotfound",
  "deploymentnotfound",
]);

/** Whether a 404 is about the model: its code, its field or the beginning of its text says so, or it cannot be read. */
function isAboutModel(
  { code, type, param, message }: ErrorFields,
  body: Json | undefined,
): boolean {
  return body === undefined || modelCodes.has(code) || modelCodes.has(type) ||
    param === "model" || aboutModel.test(message);
}

/** Whether a status can report a request beyond the context window. */
function mayBeTooLong(status: number): boolean {
  return status === 400 || status === 413 || status === 422;
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
