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
import { decodeBase64 } from "../../lib/runtime/built_ins.ts";

// Counts the tokens of pictures and documents by the rule that the Messages vendor documents.
//
// A picture is scaled until its long edge is at most 1568 pixels and it takes no more than about
// 1600 tokens; then width × height / 750. A page of a PDF is 1,500 to 3,000 tokens of text, and it
// is also shown as a picture.

/** Bytes of a picture in which its size is searched: a JPEG may have a 64 KB profile before it. */
const imageHeaderBytes = 128 * 1024;

/** Bytes of a PDF that are searched for pages. */
const pdfScanBytes = 1024 * 1024;

const longEdgePixels = 1568;
const pixelsPerToken = 750;

/** The most tokens of a picture; also used if its size is unknown (a URL, an uploaded file). */
export const tokensOfUnseenImage = 1600;

/** One page of a PDF: the middle of the documented range. */
export const tokensOfUnseenPage = 2250;

/**
 * Computes the tokens of a picture of this size.
 *
 * @example
 * ```ts
 * import { imageTokens } from "./rough_estimate.ts";
 * if (imageTokens(200, 200) !== 54 || imageTokens(8000, 6000) !== 1600) throw new Error("wrong rule");
 * ```
 */
export function imageTokens(widthPixels: number, heightPixels: number): number {
  const scale = Math.min(1, longEdgePixels / Math.max(widthPixels, heightPixels, 1));
  const tokens = Math.ceil((widthPixels * scale) * (heightPixels * scale) / pixelsPerToken);
  return Math.min(Math.max(tokens, 1), tokensOfUnseenImage);
}

/** Computes the tokens of a picture in base64, from the size in its first bytes. */
export function base64ImageTokens(base64: string): number {
  const size = imageSize(decodePrefix(base64, imageHeaderBytes));
  return size === undefined ? tokensOfUnseenImage : imageTokens(size.width, size.height);
}

/**
 * Computes the tokens of a PDF in base64. Pages are counted by their marks in the file; if those
 * are compressed, by the usual size of a page.
 */
export function base64PdfTokens(base64: string): number {
  const bytes = Math.floor(base64.length * 3 / 4);
  // The marks are ASCII; the text between them does not matter.
  const head = new TextDecoder("latin1").decode(decodePrefix(base64, pdfScanBytes));
  let pages = [...head.matchAll(/\/Type\s*\/Page\b/g)].length;
  for (const [, count] of head.matchAll(/\/Count\s+(\d{1,5})\b/g)) {
    pages = Math.max(pages, Number(count));
  }
  if (pages === 0) pages = Math.ceil(bytes / usualPdfPageBytes);
  return Math.min(pages, maxPdfPages) * tokensOfUnseenPage;
}

/** More is refused by every vendor. */
const maxPdfPages = 1000;
const usualPdfPageBytes = 64 * 1024;

function decodePrefix(base64: string, maxBytes: number): Uint8Array {
  return decodeBase64(base64.slice(0, Math.ceil(maxBytes / 3) * 4)) ?? new Uint8Array(0);
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/**
 * Reads width and height of a PNG, GIF, WebP or JPEG from its first bytes; `undefined` if they do
 * not contain it.
 *
 * @example
 * ```ts
 * import { imageSize } from "./rough_estimate.ts";
 * const gif = new TextEncoder().encode("GIF89a\u0010\u0000\u0020\u0000");
 * const size = imageSize(gif);
 * if (size?.width !== 16 || size.height !== 32) throw new Error(JSON.stringify(size));
 * ```
 */
export function imageSize(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const signature = String.fromCharCode(...bytes.subarray(0, 16));
  let size: Size | undefined;
  if (signature.startsWith("\x89PNG") && bytes.length >= 24) {
    size = { width: view.getUint32(16), height: view.getUint32(20) };
  } else if (signature.startsWith("GIF8") && bytes.length >= 10) {
    size = { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  } else if (signature.startsWith("RIFF") && signature.slice(8, 12) === "WEBP") {
    size = webpSize(view, signature.slice(12, 16));
  } else if (bytes[0] === 0xff && bytes[1] === 0xd8) {
    size = jpegSize(view);
  }
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

/**
 * Reads the size of WebP (container specification): simple lossy, lossless and extended files have
 * it in three places.
 */
function webpSize(view: DataView, kind: string): Size | undefined {
  if (view.byteLength < 30) return undefined;
  if (kind === "VP8 ") {
    return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
  if (kind === "VP8L") {
    const bits = view.getUint32(21, true);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (kind === "VP8X") {
    return {
      width: (view.getUint32(24, true) & 0xffffff) + 1,
      height: (view.getUint32(26, true) >>> 8) + 1,
    };
  }
  return undefined;
}

/**
 * Reads the size of a JPEG (ITU-T T.81): segments are skipped by their lengths up to the frame
 * header.
 */
function jpegSize(view: DataView): Size | undefined {
  let at = 2;
  while (at + 9 < view.byteLength) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf &&
      marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

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
  else if (text.mayHaveEscapedCharacters) tally.bytes += utf8Length(text.text());
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
