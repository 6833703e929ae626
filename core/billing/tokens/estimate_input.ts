import type { JsonObject } from "../../lib/json/json.ts";
import { promptParts } from "./prompt_parts.ts";
import { countTexts, loadTokenizer } from "./tokenizer.ts";

/**
 * Estimates the input tokens of a Messages request, for `POST /v1/messages/count_tokens` if the
 * route has no counter of its own.
 *
 * The vocabulary is that of one vendor, and the model may be of another; the answer must say that
 * it is an estimate. It excludes what a vendor adds itself (the Messages vendor some 350 tokens if
 * there are tools).
 *
 * The work is bounded whatever the body: text beyond {@linkcode maxTokenizedChars} is sampled,
 * base64 is never tokenised. The body may be any JSON object; it is not validated here.
 *
 * @example
 * ```ts
 * import { estimateInputTokens } from "./estimate_input.ts";
 * const tokens = await estimateInputTokens({
 *   model: "m",
 *   messages: [{ role: "user", content: "Hello, how are you?" }],
 * });
 * if (tokens !== 13) throw new Error(String(tokens));
 * ```
 */
export async function estimateInputTokens(body: JsonObject): Promise<number> {
  const { texts, flatTokens } = promptParts(body);
  return countTexts(texts, await loadTokenizer()) + flatTokens;
}
