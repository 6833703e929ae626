/**
 * Estimates token counts by arithmetic alone, for calls whose provider reported no usage. Every
 * such number is marked as an estimate on the receipt. The ratio is chosen in favour of the
 * customer: English text and code run at about four bytes per token, other scripts at two to four.
 *
 * - Folder `core/billing/tokens/`: counts of tokens that the gateway makes itself, for quotes,
 *   bounds and unreported usage.
 * - In: parsed requests, texts, and the bytes of pictures and documents.
 * - Out: counts of tokens, exact or estimated.
 * - Never: knows prices, or asks a provider.
 */
import {
  isExactNumber,
  isJsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { maxJsonDepth } from "../../lib/json/scan/limits.ts";
import { maxReportedTokens } from "./limits.ts";
import { tokensOfUnseenImage, tokensOfUnseenPage } from "./media_tokens.ts";

/** Bytes of UTF-8 text that are billed as one token if the provider did not count. */
export const bytesPerEstimatedToken = 4;

/**
 * Estimates the tokens of produced text, reasoning and tool arguments.
 *
 * @example
 * ```ts
 * import { estimateOutputTokens } from "./rough_estimate.ts";
 * if (estimateOutputTokens(0) !== 0 || estimateOutputTokens(9) !== 3) throw new Error("wrong ratio");
 * ```
 */
export function estimateOutputTokens(outputBytes: number): number {
  return Math.min(Math.ceil(outputBytes / bytesPerEstimatedToken), maxReportedTokens);
}

/**
 * Estimates the input tokens of a request of any style: its text by the same ratio, pictures and
 * files at a flat rate, never by the length of their base64. One pass over the parsed body, no
 * tokenizer.
 *
 * @example
 * ```ts
 * import { roughInputTokens } from "./rough_estimate.ts";
 * const text = { role: "user", content: "x".repeat(400) };
 * const tokens = roughInputTokens({ model: "m", messages: [text] });
 * if (tokens < 100 || tokens > 120) throw new Error(String(tokens));
 * ```
 */
export function roughInputTokens(body: Outline): number {
  const tally = { bytes: 0, flatTokens: 0, isSampled: false };
  addValue(body, tally, 0);
  return estimateOutputTokens(tally.bytes) + tally.flatTokens;
}

/** The fields of all styles that the model reads. */
const promptFields = [
  "system",
  "messages",
  "tools",
  "functions",
  "instructions",
  "input",
  "systemInstruction",
  "contents",
  "response_format",
  "output_config",
  "text",
] as const;

/**
 * Estimates the input tokens of a chat request from the fields that the model reads. White space of the JSON, escapes,
 * metadata and settings cost nothing.
 *
 * @example
 * ```ts
 * import { roughPromptTokens } from "./rough_estimate.ts";
 * const request = { messages: [{ role: "user", content: "x".repeat(400) }], metadata: { note: "y".repeat(8_000) } };
 * if (roughPromptTokens(request) > 120) throw new Error("metadata is not read");
 * ```
 */
export function roughPromptTokens(body: OutlineObject): number {
  const tally = { bytes: 0, flatTokens: 0, isSampled: true };
  for (const field of promptFields) addValue(body[field], tally, 0);
  return estimateOutputTokens(tally.bytes) + tally.flatTokens;
}

interface Tally {
  bytes: number;
  /** The bytes of long texts are extrapolated from a sample: every call is estimated before it is sent. */
  readonly isSampled: boolean;
  flatTokens: number;
}

/** Opaque proofs and ids, whose tokens are counted elsewhere or do not exist. */
const uncounted: ReadonlySet<string> = new Set([
  "signature",
  "thoughtSignature",
  // Counted by its kind.
  "inlineData",
  "encrypted_content",
  "encrypted_index",
  "id",
  "call_id",
  "tool_use_id",
  "tool_call_id",
  "file_id",
  "cache_control",
  "model",
  "metadata",
]);

function addValue(value: Outline | undefined, tally: Tally, depth: number): void {
  if (typeof value === "string") {
    addText(value, tally);
  } else if (value instanceof LongText) {
    addLongText(value, tally);
  } else if (typeof value === "number") {
    tally.bytes += 2;
  } else if (isExactNumber(value)) {
    tally.bytes += value.rawJSON.length;
  } else if (depth > maxJsonDepth || value === null) {
    return;
  } else if (Array.isArray(value)) {
    for (const item of value) addValue(item, tally, depth + 1);
  } else if (isJsonObject(value)) {
    addObject(value, tally, depth);
  }
}

function addObject(value: Exclude<Outline, string>, tally: Tally, depth: number): void {
  if (!isJsonObject(value)) return;
  if (value["type"] === "base64") {
    tally.flatTokens += value["media_type"] === "application/pdf"
      ? tokensOfUnseenPage
      : tokensOfUnseenImage;
    return;
  }
  const data = value["inlineData"];
  if (isJsonObject(data)) {
    const type = data["mimeType"];
    const isImage = typeof type === "string" && type.startsWith("image/");
    tally.flatTokens += isImage ? tokensOfUnseenImage : tokensOfUnseenPage;
  }
  for (const key in value) {
    if (uncounted.has(key)) continue;
    // A name and its punctuation cost about as much as its letters.
    tally.bytes += key.length;
    addValue(value[key], tally, depth + 1);
  }
}

const dataUrl = /^data:([a-z]+)\/[^,]{0,128};base64,/i;

function addText(text: string, tally: Tally): void {
  const media = text.startsWith("data:") ? dataUrl.exec(text.slice(0, 256)) : null;
  if (media === null) tally.bytes += tally.isSampled ? sampledLength(text) : utf8Length(text);
  else tally.flatTokens += media[1] === "image" ? tokensOfUnseenImage : tokensOfUnseenPage;
}

/** A long text is decoded only if its beginning has escapes of characters, which are six bytes each as written. */
function addLongText(text: LongText, tally: Tally): void {
  const head = text.mayBeDataUrl ? text.head() : "";
  if (dataUrl.test(head)) addText(head, tally);
  else if (text.hasEscapedCharacters) tally.bytes += utf8Length(text.text());
  else tally.bytes += text.byteLength;
}

/** UTF-16 units of a text that are examined to extrapolate its length in UTF-8. */
const sampledUnits = 32;

/** Estimates the length in UTF-8 from units that are spread evenly; exact for ASCII. */
function sampledLength(text: string): number {
  if (text.length <= sampledUnits) return utf8Length(text);
  const stride = text.length / sampledUnits;
  let further = 0;
  for (let i = 0; i < sampledUnits; i++) {
    further += furtherBytes(text.charCodeAt(Math.floor(i * stride)));
  }
  return Math.round(text.length * (1 + further / sampledUnits));
}

/** Bytes of a unit in UTF-8 beyond the first. A surrogate pair is two units and four bytes: one more for each half. */
function furtherBytes(unit: number): number {
  if (unit < 0x80) return 0;
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
}

/** Computes the length in UTF-8, exact except for lone surrogates, without encoding. */
function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    length += furtherBytes(text.charCodeAt(i));
  }
  return length;
}
