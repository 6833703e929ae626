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
import { isExactNumber, isJsonObject, type Outline } from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/long_text.ts";
import { maxJsonDepth } from "../../lib/json/limits.ts";
import { maxReportedTokens } from "../limits.ts";
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
  const tally = { bytes: 0, flatTokens: 0 };
  addValue(body, tally, 0);
  return estimateOutputTokens(tally.bytes) + tally.flatTokens;
}

interface Tally {
  bytes: number;
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
  if (media === null) tally.bytes += utf8Length(text);
  else tally.flatTokens += media[1] === "image" ? tokensOfUnseenImage : tokensOfUnseenPage;
}

/** Escapes count as they are written, as they do in a body that is estimated by its length alone. */
function addLongText(text: LongText, tally: Tally): void {
  const head = text.head();
  if (head.startsWith("data:") && dataUrl.test(head)) addText(head, tally);
  else tally.bytes += text.byteLength;
}

/** Computes the length in UTF-8, exact except for lone surrogates, without encoding. */
function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes: one more for each half.
    length += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return length;
}
