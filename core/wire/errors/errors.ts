/**
 * Reads a provider's error answer: what the table of errors says of its codes and texts, then the HTTP status.
 *
 * Used for converted and for native routes. See docs/internals/WIRE_FORMATS.md#errors.
 *
 * - Folder `core/wire/errors/`: error answers of providers, in the gateway's terms and in each
 *   style.
 * - In: status, headers and body of a provider's error.
 * - Out: a `GatewayError`, and the fields that clients of the same style may see.
 * - Never: reveals the operator's account or credentials.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { publicMessage } from "./error_fields.ts";
import {
  errorOf,
  OperatorRefusal,
  type ProviderErrorOptions,
  readProviderError,
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

/** Reads an error answer; `errorIn` finds the error in the body of a success. */
export function decodeErrorAnswer(
  errorIn: (body: JsonObject) => GatewayError | undefined,
  status: number,
  bodyText: string,
  options: ProviderErrorOptions = {},
): GatewayError {
  const body = parse(bodyText);
  if (status < 400) return ofSuccess(errorIn, status, body, options);
  const error = errorOf(body, { ...options, status });
  // If the gateway's status differs, the provider's details would contradict it.
  return options.native === true && error.status === status
    ? withVendorMembers(error, body)
    : error;
}

/** Reads a success with an error in it: only the body shows its kind. */
function ofSuccess(
  errorIn: (body: JsonObject) => GatewayError | undefined,
  status: number,
  body: Json | undefined,
  { retryAfterSeconds }: ProviderErrorOptions,
): GatewayError {
  const said = isJsonObject(body) ? errorIn(body) : undefined;
  if (said === undefined) return new OperatorRefusal(status, { marks: "route" });
  if (!said.retry || said instanceof OperatorRefusal || retryAfterSeconds === undefined) {
    return said;
  }
  const { code, message, marks } = said;
  return new GatewayError(code, message, { marks, retryAfterSeconds });
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

/** Parses the body; `undefined` if it is not JSON: empty, cut, or a page of a proxy. */
function parse(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    // Google sends the error of a stream as a list.
    const body = Array.isArray(value) ? value[0] : value;
    return isJsonObject(body) || typeof body === "string" ? body : undefined;
  } catch {
    return undefined;
  }
}
