/** Writes a lower limit of output into a request than its client set, because no more is paid for. */
import { isJsonObject, type JsonObject, type OutlineObject } from "../../lib/json/json.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import type { Style } from "../../wire/contract/contract.ts";

/** The fields of the Chat style for the limit, of which a request may have both. */
const chatFields = ["max_completion_tokens", "max_tokens"] as const;

/**
 * Returns the fields to replace or add in a request of a style so that an answer has at most `limit` tokens.
 *
 * @param chatField the field for a Chat request that has none
 *
 * @example
 * ```ts
 * import { loweredLimit } from "./lowered_limit.ts";
 * const fields = loweredLimit("gemini", { generationConfig: { topK: 4 } }, 100);
 * if (JSON.stringify(fields) !== '{"generationConfig":{"topK":4,"maxOutputTokens":100}}') {
 *   throw new Error(JSON.stringify(fields));
 * }
 * ```
 */
export function loweredLimit(
  style: Style,
  body: OutlineObject,
  limit: number,
  chatField: typeof chatFields[number] = "max_completion_tokens",
): JsonObject {
  switch (style) {
    case "messages":
      return { max_tokens: limit };
    case "responses":
      return { max_output_tokens: limit };
    case "chat": {
      const sent = chatFields.filter((field) => typeof body[field] === "number");
      const fields = sent.length > 0 ? sent : [chatField];
      return Object.fromEntries(fields.map((field) => [field, Math.min(limit, own(body, field))]));
    }
    case "gemini": {
      const config = wholeOf(body["generationConfig"] ?? {});
      return {
        generationConfig: { ...(isJsonObject(config) ? config : {}), maxOutputTokens: limit },
      };
    }
  }
}

function own(body: OutlineObject, field: string): number {
  const value = body[field];
  return typeof value === "number" ? value : Infinity;
}
