/** Finds what a conversion lost without naming it: in requests by their text, in answers by their content. */
import { decodeBase64 } from "../../../core/lib/runtime/built_ins.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { list } from "../clients.ts";
import { type Gist, gistOf } from "../gist.ts";

/**
 * Members that no other style needs: ids and positions, discriminators, settings (the tables name those),
 * and data that only its producer reads.
 */
const light = new Set([
  ...[
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "item_id",
    "file_id",
    "model",
  ],
  ...["status", "object", "ttl", "detail", "media_type", "format", "phase", "index", "caller"],
  ...["signature", "encrypted_content", "encrypted_index", "thinking", "reasoning", "summary"],
  ...["reasoning_content", "reasoning_details", "thinking_blocks", "redacted_thinking"],
  ...["citations", "annotations", "logprobs", "parsed", "refusal", "cache_control"],
  ...["prompt_cache_breakpoint", "prompt_cache_key", "prompt_cache_retention", "metadata", "user"],
  ...["safety_identifier", "service_tier", "include", "store", "tool_choice", "output_config"],
  ...["function_call"],
  ...[
    "search_context_size",
    "reasoning_effort",
    "verbosity",
    "betas",
    "stop_sequences",
    "stop",
    "modalities",
    "effort",
    "execution",
    "require_approval",
  ],
]);

/** Blocks and items of thinking, whose text and signatures only their producer reads. */
const ofItsMaker: ReadonlySet<Json | undefined> = new Set([
  "thinking",
  "redacted_thinking",
  "reasoning",
]);

interface Leaf {
  readonly path: string;
  readonly text: string;
}

/** Returns the texts of a value: its strings, and those inside strings that are JSON objects. */
function leavesOf(value: Json | undefined, path: string, found: Leaf[]): Leaf[] {
  if (typeof value === "string") {
    const inner = path.endsWith("arguments") ? parsed(value) : undefined;
    if (inner !== undefined) leavesOf(inner, path, found);
    else if (value.trim() !== "") found.push({ path, text: value.trim() });
  } else if (Array.isArray(value)) {
    value.forEach((entry, i) => leavesOf(entry, `${path}.${i}`, found));
  } else if (isJsonObject(value) && !ofItsMaker.has(value["type"])) {
    for (const [key, entry] of Object.entries(value)) {
      if (!light.has(key) && !(key === "name" && isLabel(value))) {
        leavesOf(entry, path === "" ? key : `${path}.${key}`, found);
      }
    }
  }
  return found;
}

/** Names of schemas, and those that the vendor prescribes for its dated tools. */
function isLabel({ schema, type }: JsonObject): boolean {
  return schema !== undefined || (typeof type === "string" && /_\d{8}$/.test(type));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** All strings of a value, in any member, as one text to search. */
function haystack(value: Json | undefined, found: string[] = []): string[] {
  if (typeof value === "string") {
    found.push(value);
    const inner = parsed(value);
    if (inner !== undefined) haystack(inner, found);
  } else if (Array.isArray(value)) { for (const entry of value) haystack(entry, found); }
  else if (isJsonObject(value)) {
    for (const [key, entry] of Object.entries(value)) {
      found.push(key);
      haystack(entry, found);
    }
  }
  return found;
}

/** Returns the text to search for: of a data URL the content, which other styles write as base64 or as decoded text. */
function needle(text: string): string {
  const [, type, data] = /^data:([^,]*);base64,(.*)$/s.exec(text) ?? [];
  if (data === undefined) return text;
  return type?.startsWith("text/") ? new TextDecoder().decode(decodeBase64(data)) : data;
}

/**
 * Returns the paths of a request whose text is missing in the converted body and which no warning names.
 *
 * @param dataOf the data that stands in the body for a URL of the request, where it was fetched
 */
export function lostOfRequest(
  request: JsonObject,
  body: JsonObject,
  named: readonly string[],
  dataOf: (url: string) => string | undefined = () => undefined,
): string[] {
  const there = haystack(body).join("\n");
  const isNamed = (path: string) =>
    named.some((name) => name === "more" || path === name || path.startsWith(`${name}.`));
  return leavesOf(request, "", [])
    .filter(({ path, text }) =>
      !isNamed(path) && !there.includes(needle(text)) && !there.includes(dataOf(text) ?? text)
    )
    .map(({ path }) => path);
}

/** Returns the URLs of the sources of an answer. */
function sourcesOf(style: Style, answer: JsonObject): string[] {
  const cited = style === "messages"
    ? list(answer["content"]).flatMap((block) => list(block["citations"]))
    : style === "chat"
    ? list(answer["choices"]).slice(0, 1).flatMap(({ message }) =>
      isJsonObject(message) ? list(message["annotations"]) : []
    ).flatMap(({ url_citation }) => isJsonObject(url_citation) ? [url_citation] : [])
    : style === "gemini"
    ? list(answer["candidates"]).slice(0, 1).flatMap(({ groundingMetadata: grounding }) =>
      isJsonObject(grounding) ? list(grounding["groundingChunks"]) : []
    ).flatMap(({ web }) => isJsonObject(web) ? [{ url: web["uri"] }] : [])
    : list(answer["output"]).flatMap((item) => list(item["content"]))
      .flatMap((part) => list(part["annotations"]));
  const urls = cited.flatMap(({ url }) => typeof url === "string" ? [url] : []);
  return [...new Set(urls)].sort();
}

/** Returns the names of what an answer loses for a client of another style. */
export function lostOfAnswer(
  from: Style,
  answer: JsonObject,
  to: Style,
  converted: JsonObject,
): string[] {
  const [before, after] = [gistOf(from, answer), gistOf(to, converted)];
  const lost: string[] = [];
  const said = after.text + after.refusal;
  if (!said.includes(before.text)) lost.push("text");
  if (!said.includes(before.refusal)) lost.push("refusal");
  if (!unspaced(after.reasoning).includes(unspaced(before.reasoning))) lost.push("reasoning");
  if (callsOf(before) !== callsOf(after)) lost.push("calls");
  const told = before.tokens.some((count) => count !== undefined && count > 0);
  if (told && JSON.stringify(before.tokens) !== JSON.stringify(after.tokens)) lost.push("tokens");
  const kept = new Set(sourcesOf(to, converted));
  if (sourcesOf(from, answer).some((url) => !kept.has(url))) lost.push("sources");
  return lost;
}

/** Joins the parts of a summary; other styles have one text with blank lines. */
function unspaced(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/** Returns the calls without their ids, which change where the client's style requires another form. */
function callsOf({ calls }: Gist): string {
  return JSON.stringify(calls.map((call) => call.slice(call.indexOf(" "))));
}
