/**
 * Reads and writes finish reasons of Gemini.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-answer and docs/conversion.md#answers.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxRefusalChars } from "../../contract/limits.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";
import { readStop } from "../../fields/stop_words.ts";

/** Reads a finish reason; a refusal has the vendor's message, or the name of the filter, as its explanation. */
export function readGeminiStop(
  reason: string | undefined,
  message: Json | undefined,
  hasCalls: boolean,
): Stop {
  const stop = readStop(reason, hasCalls);
  if (stop.reason !== "refusal" || reason === undefined) return stop;
  const explanation = typeof message === "string" && message !== "" ? message : reason;
  return { ...stop, explanation: explanation.slice(0, maxRefusalChars) };
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
  // The vendor's libraries accept only listed reasons, so the name of any other goes into `finishMessage`.
  unknown: "OTHER",
};

/** Writes the members of a candidate for the stop reason. */
export function writeGeminiStop({ reason, explanation, name }: Stop): JsonObject {
  const finishMessage = explanation ?? name;
  return {
    finishReason: words[reason],
    ...(finishMessage === undefined ? {} : { finishMessage }),
  };
}
