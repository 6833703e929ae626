/**
 * Reads and writes finish reasons of Chat.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-answer and docs/conversion.md#answers.
 */
import type { Json } from "../../../lib/json/json.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";
import { readStop } from "../../fields/stop_words.ts";

/**
 * Reads a finish reason. An absent one means the plain end. If the answer has calls, a plain end becomes `tool_calls`,
 * whatever the server sent; with a refusal of the model it is a refusal.
 */
export function readFinishReason(
  reason: Json | undefined,
  hasCalls: boolean,
  refusal: string,
): Stop {
  const stop = readStop(reason, hasCalls);
  if (refusal === "") return stop;
  const { reason: kind } = stop;
  const isRefusal = kind === "end" || kind === "tool_calls";
  return { ...stop, ...(isRefusal ? { reason: "refusal" } : {}), explanation: refusal };
}

const words: Readonly<Record<Exclude<StopReason, "unknown">, string>> = {
  end: "stop",
  length: "length",
  stop_sequence: "stop",
  tool_calls: "tool_calls",
  pause: "stop",
  refusal: "content_filter",
};

/** Writes the finish reason for a Chat client. A refusal written by the model ends with `stop`, as at the vendor. */
export function writeFinishReason(
  stop: Stop,
  shape: { readonly legacyFunctions: boolean; readonly refusalText: boolean },
): string {
  if (stop.reason === "tool_calls" && shape.legacyFunctions) return "function_call";
  if (stop.reason === "unknown") return stop.name ?? stop.reason;
  return stop.reason === "refusal" && shape.refusalText ? "stop" : words[stop.reason];
}
