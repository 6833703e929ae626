/** Pictures in answers: how they are read, counted and named where the client's style has no place for them. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { ReportedUsage, TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { defined } from "../../lib/base/defined.ts";
import { dataUrl, writeDataUrl } from "../content/citations.ts";

/**
 * Bytes of output that a picture counts as where usage is estimated or checked: its data says nothing of its tokens. It
 * is what 1,290 tokens of text are, the tokens of a picture of the usual size at Gemini.
 */
export const pictureOutputBytes = 5_160;

/** Reads the URL of an `image_url` part, which is an object or, at some servers, a text. */
export function readImagePart(part: Json): string | undefined {
  if (!isJsonObject(part)) return undefined;
  const holder = part["image_url"];
  const url = isJsonObject(holder) ? holder["url"] : holder;
  return typeof url === "string" && url !== "" ? url : undefined;
}

/** Reads data with its media type as a URL; `undefined` unless it is a picture. */
export function readInlinePicture(data: Json | undefined): string | undefined {
  if (!isJsonObject(data)) return undefined;
  const { mimeType = data["mime_type"], data: base64 } = data;
  return typeof mimeType === "string" && /^image\//i.test(mimeType) &&
      typeof base64 === "string" && base64 !== ""
    ? writeDataUrl(mimeType.toLowerCase(), base64)
    : undefined;
}

/** Writes a picture as a part of a Chat message, as aggregators do in `images`. */
export function imagePart(url: string, index: number): JsonObject {
  return { type: "image_url", image_url: { url }, index };
}

/** The text in place of a picture, in styles without pictures in answers. */
export function pictureNote(url: string): string {
  const read = dataUrl(url);
  return read === undefined
    ? `![image](${url})`
    : `[${read.mediaType} left out: this API has no pictures in answers]`;
}

/** The error of an answer that is nothing but pictures, for a client whose style has none. */
export function pictureRefusal(): GatewayError {
  return new GatewayError(
    "conversion_refused",
    "The model answered with a picture, which the Messages API cannot carry; call the model at " +
      "/v1/chat/completions, /v1/responses or the Gemini API",
  );
}

/**
 * Returns usage without the tokens of pictures, which a client whose style has no place for them does not get.
 *
 * @example
 * ```ts
 * import { withoutPictures } from "./pictures.ts";
 * const usage = { input: 20, cacheRead: 0, cacheWrite: 0, output: 1_125, outputImage: 1_120, reasoning: 0 };
 * if (withoutPictures(usage).output !== 5) throw new Error("a picture is paid that never came");
 * ```
 */
export function withoutPictures(usage: ReportedUsage): ReportedUsage {
  const { said } = usage;
  const { outputImage: _, ...rest } = usage;
  return {
    ...rest,
    ...withoutTheirTokens(usage),
    ...defined({ said: said && withoutTheirTokens(said) }),
  };
}

function withoutTheirTokens({ outputImage = 0, ...usage }: TokenUsage): TokenUsage {
  return { ...usage, output: Math.max(usage.output - outputImage, 0) };
}
