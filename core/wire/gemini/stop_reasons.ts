/**
 * Reads and writes finish reasons of Gemini.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-answer and docs/conversion.md#answers.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { maxRefusalChars } from "../limits.ts";
import type { Stop, StopReason } from "../conversation/mod.ts";

const refusals: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

/** Whether a finish reason means that the model or a filter refused; such an answer may have no parts. */
export function isRefusal(reason: Json | undefined): boolean {
  return typeof reason === "string" && refusals.has(reason);
}

/**
 * Reads a finish reason. Unknown and absent ones mean the plain end; if the answer has calls, the plain end waits for
 * their results.
 */
export function readGeminiStop(
  reason: string | undefined,
  message: Json | undefined,
  hasCalls: boolean,
): Stop {
  // The vendor can continue such an answer by a token of its own, which other styles have no place for.
  if (reason === "MAX_TOKENS" || reason === "CONTINUATION") return { reason: "length" };
  if (reason !== undefined && isRefusal(reason)) {
    const explanation = typeof message === "string" && message !== "" ? message : reason;
    return { reason: "refusal", explanation: explanation.slice(0, maxRefusalChars) };
  }
  return { reason: hasCalls ? "tool_calls" : "end" };
}

/** Reads why a prompt was blocked; `undefined` if it was not. */
export function readBlockedPrompt(feedback: Json | undefined): string | undefined {
  if (!isJsonObject(feedback)) return undefined;
  const { blockReason } = feedback;
  return typeof blockReason === "string" && blockReason !== "" ? blockReason : undefined;
}

/** Returns the reason and the text with which an answer to a blocked prompt stops. */
export function blockedStop(feedback: Json | undefined): Stop | undefined {
  const reason = readBlockedPrompt(feedback);
  if (reason === undefined || !isJsonObject(feedback)) return undefined;
  const { blockReasonMessage: said } = feedback;
  const explanation = typeof said === "string" && said !== "" ? said : reason;
  return { reason: "refusal", explanation: explanation.slice(0, maxRefusalChars) };
}

const words: Readonly<Record<StopReason, string>> = {
  end: "STOP",
  length: "MAX_TOKENS",
  stop_sequence: "STOP",
  tool_calls: "STOP",
  pause: "OTHER",
  refusal: "SAFETY",
};

/** Writes the members of a candidate for the stop reason. */
export function writeGeminiStop({ reason, explanation }: Stop): JsonObject {
  return {
    finishReason: words[reason],
    ...(explanation === undefined ? {} : { finishMessage: explanation }),
  };
}
