/** Chat and Responses: reads how many of the tokens of a report are sound and pictures. */
import type { MediaParts } from "../../billing/tokens/token_bounds.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { readCount } from "./reading.ts";

/** Reads the parts that the details of input and output name; nonsense is none. */
export function readParts(input: Json | undefined, output: Json | undefined): MediaParts {
  return {
    inputAudio: tokensIn(input, "audio_tokens"),
    inputImage: tokensIn(input, "image_tokens"),
    outputAudio: tokensIn(output, "audio_tokens"),
    outputImage: tokensIn(output, "image_tokens"),
  };
}

function tokensIn(details: Json | undefined, name: string): number {
  const count = isJsonObject(details) ? readCount(details[name]) ?? 0 : 0;
  return Number.isNaN(count) ? 0 : count;
}
