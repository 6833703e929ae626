/**
 * Reads the members of a provider's error of any shape, with its text cleaned for the client.
 *
 * Known shapes are a nested `error`, flat members, `detail` (a text, or a list of faults from validating servers), text,
 * and the envelopes of aggregators around any of these.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/**
 * Characters of a provider's error text that are passed on: a sentence or two. Some providers put whole
 * prompts or stack traces there.
 */
export const maxErrorMessageChars = 500;

/** An error in the provider's own terms. */
export interface ErrorFields {
  readonly type: string;
  readonly code: string;
  /** The cleaned text for the client; empty if there is none. */
  readonly message: string;
  /** The wrong field of the request, as the provider's style names it. */
  readonly param: string | undefined;
}

/** Levels of envelopes that are opened: an aggregator may have called another. */
const maxEnvelopes = 3;

/** Reads the body of an error of any shape, and what an aggregator has put into an envelope. */
export function readErrorFields(body: Json | undefined, envelopes = maxEnvelopes): ErrorFields {
  const outer = outerFields(body);
  const inner = envelopes === 0 ? undefined : envelopedError(body);
  if (inner === undefined) return outer;
  const { type, code, message, param } = readErrorFields(inner, envelopes - 1);
  // The vendor's own words come before those of the aggregator; what it leaves out does not.
  return {
    type: type || outer.type,
    code: code || outer.code,
    message: message || outer.message,
    param: param ?? outer.param,
  };
}

/**
 * The vendor's error in the answer of an aggregator: OpenRouter puts it into `metadata.raw`, as text or as JSON, others
 * into the message as JSON.
 */
function envelopedError(body: Json | undefined): Json | undefined {
  const error = isJsonObject(body) ? body["error"] ?? body : undefined;
  if (!isJsonObject(error)) return undefined;
  const { metadata, message, code } = error;
  // Why a vendor's server failed is no reason for the caller, and may be a trace of it.
  if (Number(code) >= 500) return undefined;
  const raw = isJsonObject(metadata) ? metadata["raw"] : undefined;
  if (isJsonObject(raw)) return raw;
  if (typeof raw === "string" && raw !== "") return parsedObject(raw) ?? raw;
  return typeof message === "string" ? parsedObject(message) : undefined;
}

function parsedObject(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function outerFields(body: Json | undefined): ErrorFields {
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
    // Google writes the name of the status where others write a type.
    type: word(object["type"]) || word(object["status"]),
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
 * import { publicMessage } from "./error_fields.ts";
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
