/**
 * Counts the tokens of pictures and documents by the rule that the Messages vendor documents.
 *
 * A picture is scaled until its long edge is at most 1568 pixels and it takes no more than about
 * 1600 tokens; then width × height / 750. A page of a PDF is 1,500 to 3,000 tokens of text, and it
 * is also shown as a picture.
 */
import { decodeBase64 } from "../../lib/runtime/mod.ts";

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
 * import { imageTokens } from "./media_tokens.ts";
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
  return Math.min(pages, mostPdfPages) * tokensOfUnseenPage;
}

/** More is refused by every vendor. */
const mostPdfPages = 1000;
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
 * import { imageSize } from "./media_tokens.ts";
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
