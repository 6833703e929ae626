/**
 * Selects the members of a provider's error for clients that speak its style: codes and details that their libraries
 * read, without those that reveal the operator's account or the provider.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { publicMessage } from "./error_fields.ts";

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
 * import { vendorErrorMembers } from "./vendor_error_body.ts";
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
