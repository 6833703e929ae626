/**
 * Web sources of a text as Chat and Responses write them: a URL, a title, and a place in the text.
 *
 * - Folder `core/wire/content/`: pieces of content that several styles write in the same way: web sources, data URLs,
 *   moderation, service tiers.
 * - In: members of one style's JSON, or of the typed form.
 * - Out: the same piece for another style.
 * - Never: imports the folder of a style.
 */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { Citation, TextSpan } from "../conversation/mod.ts";

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

/** Where a source belongs in a text that holds its block from `start` to `end`. */
export function placeOf({ span }: Citation, start: number, end: number): TextSpan {
  // Sent too late for its own block, which is in another text.
  if (span === undefined || start + span.start < 0) return { start, end };
  return { start: start + span.start, end: start + span.end };
}

/** The number of characters that a buffered source takes. */
export function citationChars({ url, title, citedText }: Citation): number {
  return url.length + title.length + (citedText?.length ?? 0);
}
