import type { JsonObject } from "../../lib/json/json.ts";
import { promptParts } from "./prompt_parts.ts";
import { countTexts, loadTokenizer } from "./tokenizer.ts";

/**
 * Input tokens of a Messages request, for `POST /v1/messages/count_tokens` where the route has no counter of its own.
 * An estimate: the vocabulary is that of one vendor, and the model may be of another. Say so in the answer. What a
 * vendor adds on its own (the Messages vendor some 350 tokens as soon as there are tools) is not in it.
 *
 * Bounded work whatever the body: text beyond {@linkcode maxTokenizedChars} is sampled, base64 is never tokenised.
 * The body may be anything that is a JSON object; its validation is not done here.
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
