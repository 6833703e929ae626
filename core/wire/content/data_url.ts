/** Reads and writes data URLs (RFC 2397) in base64, the only form that vendors take. */
import { decodeBase64 } from "../../lib/runtime/mod.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads the media type (lower case, without parameters) and the base64 text; `undefined` if it is another kind of URL.
 * `image/jpg`, which many clients write, becomes `image/jpeg`.
 *
 * @example
 * ```ts
 * import { dataUrl } from "./data_url.ts";
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
