/** Pictures and sound in answers: how they are read, counted and named where the client's style has no place for them. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { estimateOutputTokens } from "../../billing/tokens/rough_estimate.ts";
import type { ReportedUsage, TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { Style } from "../contract/contract.ts";
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

const apiNames: Readonly<Record<Style, string>> = {
  chat: "Chat Completions API",
  messages: "Messages API",
  responses: "Responses API",
  gemini: "Gemini API",
};

/** The error of an answer that is nothing but media which the client's style has no place for; it costs nothing. */
export function mediaRefusal(kind: string, style: Style): GatewayError {
  const what = kind === "image" ? "a picture" : kind === "audio" ? "sound" : kind;
  const places = kind === "image"
    ? "/v1/chat/completions, /v1/responses or the Gemini API"
    : style === "chat"
    ? "the Gemini API"
    : "/v1/chat/completions or the Gemini API";
  const elsewhere = kind === "image" || kind === "audio" ? `; call the model at ${places}` : "";
  const why = kind === "audio" && style === "chat"
    ? "this request did not ask for"
    : `the ${apiNames[style]} cannot carry`;
  return new GatewayError(
    "conversion_refused",
    `The model answered with ${what}, which ${why}${elsewhere}`,
  );
}

/** Parts of an answer beside the media that its client does not get. */
export interface RestOfAnswer {
  /** Bytes of its text and calls. */
  readonly bytes: number;
}

/**
 * Returns usage without the tokens of pictures and sound, which a client whose style has no place for them does not get.
 * Where the provider does not tell them apart, the text alone is counted.
 *
 * @example
 * ```ts
 * import { withoutMedia } from "./pictures.ts";
 * const usage = { input: 20, cacheRead: 0, cacheWrite: 0, output: 1_125, outputImage: 1_120, reasoning: 0 };
 * if (withoutMedia(usage, { bytes: 20 }).output !== 5) throw new Error("a picture is paid that never came");
 * const { outputImage: _, ...untold } = usage;
 * if (withoutMedia(untold, { bytes: 20 }).output > 10) throw new Error("the same without details");
 * ```
 */
export function withoutMedia(usage: ReportedUsage, rest: RestOfAnswer): ReportedUsage {
  const { said } = usage;
  const { outputImage: _, outputAudio: __, ...others } = usage;
  return {
    ...others,
    ...withoutTheirTokens(usage, rest),
    ...defined({ said: said && withoutTheirTokens(said, rest) }),
  };
}

function withoutTheirTokens(
  { outputImage = 0, outputAudio = 0, ...usage }: TokenUsage,
  { bytes }: RestOfAnswer,
): TokenUsage {
  const media = outputImage + outputAudio;
  const output = media > 0
    ? Math.max(usage.output - media, 0)
    : Math.min(usage.output, usage.reasoning + estimateOutputTokens(bytes));
  return { ...usage, output };
}
