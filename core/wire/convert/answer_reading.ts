import type { JsonObject } from "../../lib/json/json.ts";
import { shapedAnswer, UnknownNames } from "../stream/answer_shape.ts";
import type { ReadAnswer } from "../stream/dialect.ts";
import { readChatAnswer } from "../chat/answer/answer_reading.ts";
import type { AnswerReading, ProviderStyle } from "../contract/contract.ts";
import { readConverseAnswer } from "../converse/decode_answer.ts";
import { readGeminiAnswer } from "../gemini/answer/answer_reading.ts";
import { readMessagesAnswer } from "../messages/answer/answer_reading.ts";
import { readResponsesAnswer } from "../responses/answer/answer_reading.ts";

/**
 * Reads a whole (not streamed) answer in the upstream's own style.
 *
 * @example
 * ```ts
 * import { readAnswer } from "./answer_reading.ts";
 * const reading = readAnswer("messages", {
 *   type: "message",
 *   content: [{ type: "text", text: "Hello" }],
 *   stop_reason: "end_turn",
 *   usage: { input_tokens: 9, cache_read_input_tokens: 90, output_tokens: 2 },
 * });
 * if (reading.usage?.input !== 9 || reading.usage.cacheRead !== 90 || reading.empty) throw new Error("wrong");
 * ```
 */
export function readAnswer(style: ProviderStyle, body: JsonObject): AnswerReading {
  switch (style) {
    case "messages":
      return readMessagesAnswer(body);
    case "chat":
      return readChatAnswer(body);
    case "responses":
      return readResponsesAnswer(body);
    case "gemini":
      return readGeminiAnswer(body);
    case "converse":
      return readConverseAnswer(body);
  }
}

/** A whole answer in the form of its style, as its decoder sees it. */
export interface ShapedAnswer extends ReadAnswer {
  /** Names of what it has beside that form. */
  readonly unknown: readonly string[];
}

/**
 * Brings a whole answer that is to be converted into the form of its style.
 *
 * @throws {GatewayError} `upstream_unreachable` where content has a wrong type
 */
export function shapeAnswer(style: ProviderStyle, body: JsonObject): ShapedAnswer {
  const names = new UnknownNames();
  const shaped = shapedAnswer(style, body, names);
  return { body: shaped, reading: readAnswer(style, shaped), unknown: names.take() };
}
