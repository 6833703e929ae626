/**
 * Web sources of a text as Chat and Responses write them: a URL, a title, and a place in the text.
 *
 * - Folder `core/wire/content/`: pieces of content that several styles write in the same way: web sources, data URLs,
 *   moderation, service tiers.
 * - In: members of one style's JSON, or of the typed form.
 * - Out: the same piece for another style.
 * - Never: imports the folder of a style.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { Citation, Moderation, TextSpan, Turn } from "../conversation/mod.ts";
import { decodeBase64 } from "../../lib/runtime/built_ins.ts";
import type { Warnings } from "../contract/warnings.ts";
import { defined } from "../../lib/base/defined.ts";

// Reads and writes data URLs (RFC 2397) in base64, the only form that vendors take.

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the media type (lower case, without parameters) and the base64 text; `undefined` if it is another kind of URL.
 * `image/jpg`, which many clients write, becomes `image/jpeg`.
 *
 * @example
 * ```ts
 * import { dataUrl } from "./citations.ts";
 * const read = dataUrl("data:image/JPG;base64,aGk=");
 * if (read?.mediaType !== "image/jpeg" || read.data !== "aGk=") throw new Error("not read");
 * if (dataUrl("https://example.com/a.png") !== undefined) throw new Error("no data URL");
 * ```
 */
export function dataUrl(
  url: string,
): { readonly mediaType: string; readonly data: string } | undefined {
  const comma = url.indexOf(",");
  // Bounds the search for the comma: without it, a string that is not a data URL would be scanned to its end.
  if (comma < 0 || comma > 200) return undefined;
  const match = /^data:([^;,]*)((?:;[^;,]*)*);base64$/i.exec(url.slice(0, comma));
  if (match === null) return undefined;
  const mediaType = (match[1] || "text/plain").toLowerCase();
  return {
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    data: url.slice(comma + 1),
  };
}

/** Writes base64 text as a data URL. */
export function writeDataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`;
}

/** Decodes base64 of UTF-8 text; `undefined` if it is something else. */
export function decodeBase64Text(data: string): string | undefined {
  const bytes = decodeBase64(data);
  if (bytes === undefined) return undefined;
  try {
    return strictUtf8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined; // the Encoding Standard's error for other bytes
    throw error;
  }
}

/** Writes an instruction as text of the user at its place, for models without system turns; the cached prefix stays. */
export function systemAsUser(turn: Turn, warnings: Warnings): Turn {
  warnings.add(turn.path);
  return {
    ...turn,
    role: "user",
    blocks: turn.blocks.map((block) =>
      block.type === "text"
        ? { ...block, text: `[Instruction from the system, not from the user]\n${block.text}` }
        : block
    ),
  };
}

// Converts results of moderation between Chat, which writes a list of results, and Responses, which writes the result.
// A failed moderation is an error in both.

/** Reads the member `moderation` of an answer of either style, as an object to spread. */
export function readModeration(value: Json | undefined): { readonly moderation?: Moderation } {
  if (!isJsonObject(value)) return {};
  const [input, output] = [single(value["input"]), single(value["output"])];
  return input === undefined || output === undefined ? {} : { moderation: { input, output } };
}

/** Returns the first result: one answer has one result. */
function single(value: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(value)) return undefined;
  const { results } = value;
  return Array.isArray(results) ? results.find(isJsonObject) : value;
}

/**
 * Writes the member in the form of Chat.
 *
 * @example
 * ```ts
 * import { chatModeration, readModeration } from "./citations.ts";
 * const result = { type: "moderation_result", model: "m", flagged: false };
 * const error = { type: "error", code: "c", message: "m" };
 * const { moderation } = readModeration({ input: result, output: error });
 * if (moderation === undefined) throw new Error("not read");
 * const chat = chatModeration(moderation);
 * if (JSON.stringify(readModeration(chat).moderation) !== JSON.stringify(moderation)) throw new Error("changed");
 * ```
 */
export function chatModeration({ input, output }: Moderation): JsonObject {
  return { input: listed(input), output: listed(output) };
}

function listed(result: JsonObject): JsonObject {
  if (result["type"] !== "moderation_result") return result;
  const { model } = result;
  return {
    type: "moderation_results",
    ...defined({ model }),
    results: [result],
  };
}

/** Writes the member in the form of Responses. */
export function responsesModeration({ input, output }: Moderation): JsonObject {
  return { input, output };
}

// Translates service tiers of other vendors into the values that Chat and Responses share.

/** The vendor's values, in requests and in answers. */
const known: ReadonlySet<string> = new Set([
  "auto",
  "default",
  "flex",
  "scale",
  "priority",
  "fast",
]);

/** Values of others: Groq, the Messages vendor, and capacity bought in advance. */
const others: ReadonlyMap<string, string> = new Map([
  ["on_demand", "default"],
  ["standard", "default"],
  ["batch", "default"],
  ["provisioned", "default"],
  ["performance", "priority"],
]);

/** Tiers that every provider gives without being asked. */
const usual: ReadonlySet<string> = new Set(["auto", "default", "standard", "on_demand"]);

/** Warns of a tier that is not carried, unless it asks for the usual one. */
export function warnOfTier(
  { tier, path }: { readonly tier: string; readonly path: string },
  warnings: Warnings,
): void {
  if (!usual.has(tier)) warnings.add(path);
}

/**
 * Returns the vendor's value for a tier; `undefined` if there is none or the value is unknown.
 *
 * @example
 * ```ts
 * import { knownTier } from "./citations.ts";
 * const told = ["flex", "on_demand", "provisioned", ""].map(knownTier);
 * if (told.join() !== "flex,default,default,") throw new Error(told.join());
 * ```
 */
export function knownTier(word: string): string | undefined {
  return known.has(word) ? word : others.get(word);
}

/**
 * Reads the members of a URL citation; `undefined` without a URL. An impossible range is ignored.
 *
 * @example
 * ```ts
 * import { readUrlCitation } from "./citations.ts";
 * const read = readUrlCitation({ url: "https://example.com", title: "T", start_index: 2, end_index: 9 });
 * if (read?.span?.end !== 9) throw new Error("not placed");
 * if (readUrlCitation({ url: "https://example.com", start_index: 9, end_index: 2 })?.span) throw new Error("placed");
 * ```
 */
export function readUrlCitation(source: JsonObject): Citation | undefined {
  const { url, title, content, start_index: start, end_index: end } = source;
  if (typeof url !== "string" || url === "") return undefined;
  const isPlaced = isPlace(start) && isPlace(end) && start <= end;
  return {
    url,
    title: typeof title === "string" ? title : "",
    ...(typeof content === "string" && content !== "" ? { citedText: content } : {}),
    ...(isPlaced ? { span: { start, end } } : {}),
  };
}

function isPlace(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** The members of a URL citation at `place`. */
export function writeUrlCitation({ url, title }: Citation, place: TextSpan): JsonObject {
  return { start_index: place.start, end_index: place.end, title, url };
}

/** Place of a source in a text that holds its block from `start` to `end`. */
export function placeOf({ span }: Citation, start: number, end: number): TextSpan {
  // Sent too late for its own block, which is in another text.
  if (span === undefined || start + span.start < 0) return { start, end };
  return { start: start + span.start, end: start + span.end };
}

/** The number of characters that a buffered source takes. */
export function citationChars({ url, title, citedText }: Citation): number {
  return url.length + title.length + (citedText?.length ?? 0);
}
