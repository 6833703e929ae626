/**
 * Detects media types by their first bytes. The type that a client or a server names is never
 * trusted.
 */

export type ImageMediaType = "image/png" | "image/jpeg" | "image/webp" | "image/gif";
/** The media types that are detected. */
export type MediaType = ImageMediaType | "video/mp4" | "application/pdf";

/** The image types that references may have. */
export const imageMediaTypes: ReadonlySet<string> = new Set<ImageMediaType>([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);

/** The document types that chat models accept. */
export const documentMediaTypes: ReadonlySet<string> = new Set<MediaType>(["application/pdf"]);

/** The number of first bytes that {@linkcode sniffMediaType} needs. */
export const sniffBytes = 12;

const extensions: Record<MediaType, string> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "video/mp4": "mp4",
  "application/pdf": "pdf",
};

/** Returns the usual file extension, without the dot. */
export function fileExtension(mediaType: MediaType): string {
  return extensions[mediaType];
}

function hasAscii(bytes: Uint8Array, at: number, text: string): boolean {
  if (bytes.length < at + text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/**
 * Detects the media type of a file from its first {@linkcode sniffBytes} bytes; `undefined` for
 * unsupported types.
 *
 * Signatures: PNG (ISO/IEC 15948), JPEG (ITU T.81), GIF89a, RIFF/WEBP, ISO base media `ftyp`
 * (ISO/IEC 14496-12), PDF (ISO 32000).
 *
 * @example
 * ```ts
 * import { sniffMediaType } from "./sniff.ts";
 * const gif = new TextEncoder().encode("GIF89a......");
 * if (sniffMediaType(gif) !== "image/gif") throw new Error("not seen");
 * if (sniffMediaType(new TextEncoder().encode("<html>")) !== undefined) throw new Error("believed");
 * ```
 */
export function sniffMediaType(bytes: Uint8Array): MediaType | undefined {
  if (bytes[0] === 0x89 && hasAscii(bytes, 1, "PNG\r\n\x1a\n")) return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (hasAscii(bytes, 0, "GIF87a") || hasAscii(bytes, 0, "GIF89a")) return "image/gif";
  if (hasAscii(bytes, 0, "RIFF") && hasAscii(bytes, 8, "WEBP")) return "image/webp";
  if (hasAscii(bytes, 0, "%PDF-")) return "application/pdf";
  if (hasAscii(bytes, 4, "ftyp")) return "video/mp4";
  return undefined;
}
