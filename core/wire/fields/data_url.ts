/** Data URLs (RFC 2397) in base64 form, which is the only one that vendors take. */
import { decodeBase64 } from "../../lib/runtime/mod.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The media type (lower case, without parameters) and the base64 text; `undefined` when it is no such URL.
 * `image/jpg`, which many clients write, is `image/jpeg`.
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
  // The head is short; a long one is no data URL and must not cost a scan of megabytes.
  if (comma < 0 || comma > 200) return undefined;
  const match = /^data:([^;,]*)((?:;[^;,]*)*);base64$/i.exec(url.slice(0, comma));
  if (match === null) return undefined;
  const mediaType = (match[1] || "text/plain").toLowerCase();
  return {
    mediaType: mediaType === "image/jpg" ? "image/jpeg" : mediaType,
    data: url.slice(comma + 1),
  };
}

/** A data URL of base64 text. */
export function writeDataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`;
}

/** Base64 of UTF-8 text, decoded; `undefined` when it is not that. */
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
