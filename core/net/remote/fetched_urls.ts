/**
 * Finds the URLs in a request that a provider may fetch (pictures, files, sound, video, tool servers) and refuses those
 * that do not lead to public addresses. Otherwise a client could reach into the network of the provider or the operator
 * through a provider that fetches.
 *
 * Every string is looked at, whatever its member is called, since providers have members and spellings of their own.
 * Left out is only what is text by its exact place: prompts, arguments and results of functions, schemas of functions
 * and of formats, and what is shown or passed on without being fetched.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isText } from "../../lib/json/outline.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import type { LongText } from "../../lib/json/scan/long_text.ts";
import { decodeBase64 } from "../../lib/runtime/built_ins.ts";
import { sniffBytes, sniffMediaType } from "./guarded_fetch.ts";
import { mayBeUrl, readNamedUrl } from "./named_url.ts";

/** A URL of a request. */
export interface FetchedUrl {
  readonly url: URL;
  /** Path of the part, or of the member elsewhere, in the client's request. */
  readonly path: string;
}

/** Members whose strings, and strings in lists, are text or names. Objects in them are looked at. */
const textMembers: ReadonlySet<string> = new Set([
  ...["text", "content", "input", "output", "instructions", "system", "prompt", "suffix"],
  ...["systemInstruction", "system_instruction", "thinking", "reasoning", "reasoning_content"],
  ...["refusal", "summary", "title", "name", "description", "context", "transcript", "cited_text"],
  ...["code", "logs", "stdout", "stderr", "command", "commands", "diff", "error", "definition"],
  ...["query", "queries", "arguments", "type", "role", "model", "filename", "displayName"],
  ...["id", "call_id", "tool_use_id", "tool_call_id", "user", "safety_identifier"],
  ...["prompt_cache_key", "stop", "stop_sequences", "stopSequences"],
  ...["signature", "thoughtSignature", "thought_signature", "encrypted_content"],
]);

/** Members of the request itself that no provider reads as more than labels. */
const labels: ReadonlySet<string> = new Set([
  "metadata",
  "client_metadata",
  "labels",
  "logit_bias",
]);

/**
 * Fields of a request whose parts are texts and names where their members are called so. A field that is not among them
 * is one of a provider's own, in which every text may be an address.
 */
const textFields: ReadonlySet<string> = new Set([
  ...["messages", "input", "contents", "system", "systemInstruction", "system_instruction"],
  ...["instructions", "prediction", "prompt", "tools", "functions", "documents"],
]);

/** Fields of a request that hold the conversation. */
const conversations: ReadonlySet<string> = new Set(["messages", "input", "contents"]);

/** Members in a conversation that are arguments, results, or only shown, with everything in them. */
const shownMembers: ReadonlySet<string> = new Set([
  ...["arguments", "args", "response", "input_examples", "action", "operation", "env"],
  ...["citations", "annotations", "attributes"],
]);

/** Keys that directly hold declarations of functions: in a list, or as their value. */
const declarations: ReadonlySet<string> = new Set([
  ...["tools", "functions", "function", "functionDeclarations", "function_declarations"],
  "definition",
]);

/** Types of tools that the client runs. */
const ownTypes: ReadonlySet<unknown> = new Set([undefined, null, "function", "custom"]);

/** Members of such a declaration that are schemas or examples. */
const declaredMembers: ReadonlySet<string> = new Set([
  ...["parameters", "parametersJsonSchema", "parameters_json_schema", "input_schema"],
  ...["response", "responseJsonSchema", "response_json_schema", "input_examples"],
]);

/** Fields of a request that hold the format of the answer, and the members that are its schema. */
const formats: ReadonlySet<string> = new Set([
  ...["response_format", "text", "output_config", "output_format"],
  ...["generationConfig", "generation_config"],
]);
const formatMembers: ReadonlySet<string> = new Set([
  ...["schema", "json_schema", "responseSchema", "response_schema"],
  ...["responseJsonSchema", "response_json_schema"],
]);

const none: ReadonlySet<string> = new Set();

/** Members that are not fetched in objects of one type. */
const unfetchedOfTypes: Readonly<Record<string, string>> = {
  tool_use: "input",
  server_tool_use: "input",
  mcp_tool_use: "input",
  text: "data",
  search_result: "source",
  web_search_result: "url",
  web_fetch_result: "url",
};

/** Names of members that hold a URL and nothing else. */
const urlName = /(?:url|uri)s?$/i;

/**
 * Finds the URLs that a provider may fetch.
 *
 * @param texts further members of the request that are text, where an endpoint has them
 * @param takesPictures a member that holds a URL may hold the base64 of a picture itself
 * @throws {GatewayError} `invalid_request` naming the place of a URL that cannot lead to a public server
 *
 * @example
 * ```ts
 * import { fetchedUrls } from "./fetched_urls.ts";
 * const asking = (url: string) => ({
 *   messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
 * });
 * if (fetchedUrls(asking("https://example.com/a.png"))[0]?.url.hostname !== "example.com") throw new Error();
 * let refusal = "";
 * try {
 *   fetchedUrls(asking("http://169.254.169.254/latest"));
 * } catch (error) {
 *   refusal = String(error);
 * }
 * if (!refusal.includes("messages.0.content.0: must point to a public address")) throw new Error(refusal);
 * ```
 */
export function fetchedUrls(
  body: OutlineObject,
  texts: ReadonlySet<string> = new Set(),
  takesPictures = false,
): readonly FetchedUrl[] {
  const walk = new Walk(takesPictures);
  for (const name in body) {
    const isLabel = labels.has(name) || texts.has(name);
    if (!isLabel) walk.member(name, body[name]);
  }
  return walk.found;
}

/** Looks at all strings of a request. The depth of the request was bounded when it was read. */
class Walk {
  readonly found: FetchedUrl[] = [];
  /** The members above, for the path of a URL. */
  readonly #path: (string | number)[] = [];
  readonly #takesPictures: boolean;

  constructor(takesPictures: boolean) {
    this.#takesPictures = takesPictures;
  }

  member(name: string, value: Outline | undefined): void {
    this.#path.push(name);
    this.#value(value, name);
    this.#path.pop();
  }

  /** @param name the member that holds the value, or the list that it is in */
  #value(value: Outline | undefined, name: string): void {
    if (isText(value)) {
      if (!textMembers.has(name) || !this.#holdsTexts(name)) this.#string(value, name);
    } else if (Array.isArray(value)) this.#list(value, name);
    else if (isJsonObject(value)) this.#object(value, name);
  }

  #list(list: readonly Outline[], name: string): void {
    for (let i = 0; i < list.length; i++) {
      this.#path.push(i);
      this.#value(list[i], name);
      this.#path.pop();
    }
  }

  /** @param holder the member that holds the object, or the list that it is in */
  #object(object: OutlineObject, holder: string): void {
    const type = object["type"];
    const unfetched = typeof type === "string" && Object.hasOwn(unfetchedOfTypes, type)
      ? unfetchedOfTypes[type]
      : undefined;
    const skipped = this.#skipped(type, holder);
    for (const name in object) {
      if (name !== unfetched && !skipped.has(name)) this.member(name, object[name]);
    }
  }

  /** The field of the request that the present place is in. */
  get #field(): string {
    return String(this.#path[0]);
  }

  /** Whether a member that is called like a text is one: it is the field itself, or within one of texts. */
  #holdsTexts(name: string): boolean {
    return this.#field === name || textFields.has(this.#field);
  }

  /** The members of the object at the present place that are not looked at. */
  #skipped(type: Outline | undefined, holder: string): ReadonlySet<string> {
    if (formats.has(this.#field)) return formatMembers;
    if (declarations.has(holder) && ownTypes.has(type)) return declaredMembers;
    return conversations.has(this.#field) ? shownMembers : none;
  }

  /** The part or item of a conversation as a whole, as other errors name it; elsewhere the member. */
  #place(): string {
    const [field, ...inside] = this.#path;
    const isConversation = field === "messages" || field === "input";
    const last = isConversation ? inside.findLastIndex((step) => typeof step === "number") : -1;
    return (last < 0 ? this.#path : this.#path.slice(0, last + 2)).join(".");
  }

  #string(value: string | LongText, name: string): void {
    const isUrl = urlName.test(name) && !(this.#takesPictures && isPicture(value));
    if (typeof value !== "string" && !isUrl && !mayBeUrl(value.head())) return;
    const text = typeof value === "string" ? value : value.text();
    const url = readNamedUrl(text, isUrl);
    if (url === undefined) return;
    const path = this.#place();
    if (typeof url === "string") throw refusedUrl(path, url);
    this.found.push({ url, path });
  }
}

/** Four base64 characters make three bytes. */
const sniffChars = Math.ceil(sniffBytes / 3) * 4;

/** Whether a text begins as the base64 of a picture does. */
function isPicture(value: string | LongText): boolean {
  const head = typeof value === "string" ? value : value.head();
  const bytes = decodeBase64(head.slice(0, sniffChars).replace(/=+$/, ""));
  return bytes !== undefined && sniffMediaType(bytes) !== undefined;
}

/** Most different hosts of one call: each may need a DNS lookup. */
const maxHosts = 32;

/**
 * Refuses host names that do not lead to public addresses only. All causes have the same message: a client must not
 * learn from a difference which internal names exist.
 *
 * @throws {GatewayError} `invalid_request` naming the place
 */
export async function refuseInternalNames(
  urls: readonly FetchedUrl[],
  isPublic: (host: string) => Promise<boolean>,
): Promise<void> {
  const byHost = new Map(urls.map((one) => [one.url.hostname, one]));
  const distinct = [...byHost.values()];
  const beyond = distinct[maxHosts];
  if (beyond !== undefined) throw refusedUrl(beyond.path, `more than ${maxHosts} hosts are named`);
  const verdicts = await Promise.all(distinct.map(({ url }) => isPublic(url.hostname)));
  const inside = distinct[verdicts.indexOf(false)];
  if (inside !== undefined) throw refusedUrl(inside.path, "must point to a public address");
}

/** Makes the refusal of a URL. */
function refusedUrl(path: string, why: string): GatewayError {
  return new GatewayError("invalid_request", `${path}: ${why}`, { param: path });
}
