/** Counts the prompt of a chat call with the tokenizer, for a call whose provider reported no usage. */
import { estimateInputTokens } from "../../billing/tokens/estimate_input.ts";
import type { Model } from "../../catalog/catalog.ts";
import type { Style } from "../../wire/contract/contract.ts";
import { convertRequest } from "../../wire/convert/convert.ts";
import type { JsonBody } from "../body/json_body.ts";

/**
 * Bytes of the largest body that a stream keeps for its count: thousands of streams run at once. A longer prompt is
 * counted by its text at four bytes per token.
 */
const maxKeptBodyBytes = 16 * 1024;

/** Returns the body that a call keeps until its end; a whole answer has it in memory anyway. */
export function keptForCount(body: JsonBody, stream: boolean): JsonBody | undefined {
  return !stream || body.bytes.length <= maxKeptBodyBytes ? body : undefined;
}

/**
 * Counts the tokens as `count_tokens` does: text by the tokenizer, tools and pictures by their rules. `undefined` if the
 * request cannot be put into the form of those rules.
 */
export async function countPrompt(
  style: Style,
  body: JsonBody,
  model: Model,
): Promise<number | undefined> {
  if (style === "messages") return await estimateInputTokens(body.value);
  const converted = convertRequest(style, "messages", body.value, {
    capabilities: { images: "url" },
    upstreamModel: model.id,
    maxOutputTokens: model.maxOutputTokens,
  });
  return converted.ok ? await estimateInputTokens(converted.request.body) : undefined;
}
