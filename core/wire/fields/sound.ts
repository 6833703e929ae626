/** Sound in answers: what providers send, by the names that Chat has for it. */
import { isJsonObject, type Json } from "../../lib/json/json.ts";

/** Formats that the first characters of base64 show. */
const beginnings: readonly (readonly [string, string])[] = [
  ["UklGR", "audio/wav"],
  ["SUQz", "audio/mpeg"],
  ["//", "audio/mpeg"],
  ["T2dn", "audio/ogg"],
  ["ZkxhQ", "audio/flac"],
];

/** Samples without a header, as Chat has them under `pcm16`. */
const samples = "audio/L16;codec=pcm;rate=24000";

/** The media type of sound whose provider does not name it. */
export function mediaTypeOfSound(base64: string): string {
  return beginnings.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? samples;
}

/** Returns the name of a format in Chat: `wav`, `mp3` or `pcm16`, for example. */
export function formatOfSound(mediaType: string): string {
  const [, subtype = ""] = /^audio\/(?:x-)?([\w.+-]+)/i.exec(mediaType) ?? [];
  const name = subtype.toLowerCase();
  if (name === "l16" || name === "pcm" || name === "") return "pcm16";
  return name === "mpeg" ? "mp3" : name === "wave" ? "wav" : name;
}

/** Reads data with its media type as sound; `undefined` unless it is that. */
export function readInlineSound(
  data: Json | undefined,
): { readonly mediaType: string; readonly data: string } | undefined {
  if (!isJsonObject(data)) return undefined;
  const { mimeType = data["mime_type"], data: base64 } = data;
  return typeof mimeType === "string" && /^audio\//i.test(mimeType) &&
      typeof base64 === "string" && base64 !== ""
    ? { mediaType: mimeType, data: base64 }
    : undefined;
}
