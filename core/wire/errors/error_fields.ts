/**
 * Reads the members of a provider's error of any shape, with its text cleaned for the client.
 *
 * Known shapes are those of `core/wire/errors/table/row.ts`: a nested `error`, flat members, lists of errors, `detail` (a
 * text, an object, or a list of faults from validating servers), text, and the envelopes of aggregators around any of
 * these.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { masked } from "./masking.ts";

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
  /** Codes, types and reasons in lower case, the innermost first. A number has `#` and the member that it stands in. */
  readonly words: readonly string[];
  /** The text as the provider wrote it, cut, without the path of the fault. Not for clients. */
  readonly said: string;
  /** An HTTP status that the body names, as streams and successes have it. */
  readonly status: number | undefined;
  /** Tokens of the prompt and of the window that members of the error tell. */
  readonly counts: { readonly used: number; readonly most: number } | undefined;
}

/** Levels of envelopes that are opened: an aggregator may have called another. */
const maxEnvelopes = 3;

/** Reads the body of an error of any shape, and what an aggregator has put into an envelope. */
export function readErrorFields(body: Json | undefined, envelopes = maxEnvelopes): ErrorFields {
  const outer = outerFields(body);
  const inner = envelopes === 0 ? undefined : envelopedError(body);
  if (inner === undefined) return outer;
  const fields = readErrorFields(inner, envelopes - 1);
  // The vendor's own words come before those of the aggregator; what it leaves out does not.
  return {
    type: fields.type || outer.type,
    code: fields.code || outer.code,
    message: fields.message || outer.message,
    param: fields.param ?? outer.param,
    words: [...fields.words, ...outer.words],
    said: fields.said || outer.said,
    status: fields.status ?? outer.status,
    counts: fields.counts ?? outer.counts,
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
  return typeof message === "string" ? parsedObject(withoutLead(message)) : undefined;
}

const fieldRoots = String
  .raw`(?:metadata|messages|tools|tool_choice|input|system|contents|response_format|instructions|prompt|stop|user|body|json|\$)`;

/** A text that begins with the path of a field goes on with names and values of the client. */
export const fieldPath = new RegExp(`^${fieldRoots}[.[]`, "i");

/**
 * Words that libraries and vendors write before their texts: `litellm.BadRequestError: OpenAIException - `, `<400> …:
 * `. The path of a field is none, whatever its name ends with.
 */
const lead = new RegExp(
  String
    .raw`^(?:<\d{3,7}>\s*)?(?:InternalError(?:\.\w{1,40}){1,4}: |[Ee]rror(?: code)?: (?:\d{3} ?-? ?)?|(?!${fieldRoots}[.[])[A-Za-z_][\w.]{0,60}(?:Error|Exception|InvalidParameter)\w{0,20}\s?(?::|-)\s?|Invalid request: |Request [\w-]{1,64}: |Input validation error: |Invalid input argument for Model(?: '[\w./:-]{1,100}')?: |Invalid response received from [\w-]{1,40}: |invalid params, |The model returned the following errors: |Error from provider(?: \([\w ./-]{1,40}\))?: |Upstream error from [\w ./-]{1,40}: |Provider returned error: |type \w{1,60}, code \w{1,60}, message ){0,4}`,
);

/** Returns a text without what libraries write before it. */
export function withoutLead(text: string): string {
  return text.replace(lead, "");
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

/** Names of the member with the text, in the order in which they are looked at. */
const textMembers = [
  "message",
  "Message",
  "msg",
  "error_msg",
  "err_msg",
  "status_msg",
  "detail",
  "error",
  "error_message",
  "title",
] as const;

/** Names of members with a code, a type or a reason. */
const wordMembers = [
  "code",
  "Code",
  "error_code",
  "err_code",
  "status_code",
  "type",
  "error_type",
  "__type",
  "status",
  "reason",
  "name",
  "category",
] as const;

/** Members that hold the error itself: an object, or a list of which the first counts. */
const holders = ["error", "Error", "errors", "Response", "detail", "message", "base_resp"] as const;

/** Levels of {@linkcode holders} within each other. */
const maxHolders = 3;

/** Returns the objects that hold an error, the innermost last, and the name of the member that it stands in. */
function errorObjects(body: JsonObject): { object: JsonObject; member: string }[] {
  const found = [{ object: body, member: "" }];
  let object = body;
  for (let level = 0; level < maxHolders; level++) {
    const inner = holders.map((name) => [name, firstOf(object[name])] as const)
      .find(([, value]) => isJsonObject(value));
    if (inner === undefined || !isJsonObject(inner[1])) break;
    object = inner[1];
    found.push({ object, member: inner[0] });
  }
  return found;
}

function firstOf(value: Json | undefined): Json | undefined {
  return Array.isArray(value) ? value[0] : value;
}

const nothing: ErrorFields = {
  type: "",
  code: "",
  message: "",
  param: undefined,
  words: [],
  said: "",
  status: undefined,
  counts: undefined,
};

function outerFields(body: Json | undefined): ErrorFields {
  if (typeof body === "string") {
    return { ...nothing, said: plainText(body), message: publicMessage(body) };
  }
  if (!isJsonObject(body)) return nothing;
  const objects = errorObjects(body);
  // What stands further in says more.
  objects.reverse();
  const [{ object: inner }] = [objects[0] ?? { object: body }];
  const said = textOf(objects.map(({ object }) => object));
  const path = pathOf(inner);
  const { words, status } = wordsOf(objects);
  const param =
    objects.map(({ object }) => object["param"]).find((name) => typeof name === "string") ??
      path;
  const message = publicMessage(said);
  return {
    // Google writes the name of the status where others write a type.
    type: firstWord(objects, "type") || firstWord(objects, "status"),
    code: firstWord(objects, "code"),
    message: path === "" || message === "" ? message : `${path}: ${message}`,
    param: typeof param === "string" && param !== "" && param.length <= paramChars
      ? param
      : undefined,
    words,
    said: plainText(said),
    status,
    counts: countsOf(inner),
  };
}

function textOf(objects: readonly JsonObject[]): string {
  for (const object of objects) {
    for (const name of textMembers) {
      const value = firstOf(object[name]);
      if (typeof value === "string" && value !== "") return value;
    }
    const listed = firstOf(object["errors"]);
    if (typeof listed === "string") return listed;
  }
  return "";
}

/** Most characters of a field's name that are passed on. */
const paramChars = 256;

/** The place of a fault of a list, as validating servers write it: `{"loc":["body","messages",0],"msg":"field required"}`. */
function pathOf({ loc }: JsonObject): string {
  const steps = Array.isArray(loc) ? loc.slice(loc[0] === "body" ? 1 : 0) : [];
  const path = publicMessage(steps.join("."));
  return path.length <= paramChars ? path : "";
}

/** llama.cpp tells the counts beside a text without numbers. */
function countsOf(error: JsonObject): ErrorFields["counts"] {
  const { n_prompt_tokens: used, n_ctx: most } = error;
  return typeof used === "number" && typeof most === "number" ? { used, most } : undefined;
}

/** Most characters of a word; some vendors write a sentence as their code. */
const wordChars = 100;

function firstWord(objects: readonly { object: JsonObject }[], name: string): string {
  for (const { object } of objects) {
    const value = object[name];
    if (typeof value === "number") return String(value);
    if (typeof value === "string" && value !== "") return value.toLowerCase();
  }
  return "";
}

/** Collects all codes, types and reasons. */
function wordsOf(
  objects: readonly { object: JsonObject; member: string }[],
): { readonly words: string[]; readonly status: number | undefined } {
  const words: string[] = [];
  let status: number | undefined;
  for (const { object, member } of objects) {
    for (const name of wordMembers) {
      const value = object[name];
      const number = typeof value === "number" || typeof value === "string" ? Number(value) : NaN;
      if (number >= 400 && number < 600) status ??= number;
      else if (typeof value === "number") words.push(numbered(name, member, value));
      else if (typeof value === "string" && value !== "") words.push(wordOf(value));
    }
    words.push(...reasonsOf(object));
  }
  return { words, status };
}

function wordOf(value: string): string {
  return (value.split("#").at(-1) ?? "").slice(0, wordChars).toLowerCase();
}

/** Numbers mean something else at each vendor; the member that they stand in tells some of them apart. */
function numbered(name: string, member: string, value: number): string {
  const place = member === "base_resp" || member === "errors"
    ? member
    : name === "code"
    ? ""
    : name;
  return `${place}#${value}`;
}

/** The reasons of Google's `ErrorInfo`, the code that Anthropic puts into `details`, and Azure's inner error. */
function reasonsOf({ details, innererror, metadata }: JsonObject): string[] {
  const listed = Array.isArray(details) ? details.slice(0, maxDetails) : [details];
  return [...listed, innererror, metadata].flatMap((detail) =>
    isJsonObject(detail)
      ? [detail["reason"], detail["error_code"], detail["code"], detail["error_type"]]
        .filter((reason) => typeof reason === "string").map(wordOf)
      : []
  );
}

/** Details of an error that are looked at; vendors send up to four. */
const maxDetails = 16;

const control = /[\p{Cc}&&\p{ASCII}]+/gv;

/** Cuts a text to what is read of it, on one line. */
function plainText(text: string): string {
  return text.slice(0, 2 * maxErrorMessageChars).replace(control, " ").trim();
}

/**
 * Cleans a provider's error text for the client.
 *
 * It is cut to {@linkcode maxErrorMessageChars}, without control characters, URLs, host names, addresses and anything
 * that identifies the operator or resembles a key.
 *
 * @example
 * ```ts
 * import { publicMessage } from "./error_fields.ts";
 * const text = publicMessage("Bad key sk-abc123456 at https://api.example.com/v1");
 * if (text !== "Bad key [removed] at [removed]") throw new Error(text);
 * ```
 */
export function publicMessage(text: string): string {
  const clean = masked(plainText(text)).trim();
  return clean.length > maxErrorMessageChars ? `${clean.slice(0, maxErrorMessageChars)}…` : clean;
}
