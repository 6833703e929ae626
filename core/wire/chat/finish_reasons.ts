/**
 * Reads and writes finish reasons of Chat.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-answer and docs/conversion.md#answers.
 */
import type { Json } from "../../lib/json/json.ts";
import type { Stop, StopReason } from "../conversation/mod.ts";

const meanings: ReadonlyMap<string, StopReason> = new Map([
  ["stop", "end"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
  ["content_filter", "refusal"],
]);

/**
 * Reads a finish reason. Unknown, empty and absent ones mean the plain end. If the answer has calls, a plain end becomes
 * `tool_calls`, whatever the server sent.
 */
export function readFinishReason(
  reason: Json | undefined,
  hasCalls: boolean,
  refusal: string,
): Stop {
  const known = typeof reason === "string" ? meanings.get(reason.toLowerCase()) : undefined;
  if (refusal !== "" && (known ?? "end") === "end") {
    return { reason: "refusal", explanation: refusal };
  }
  if ((known ?? "end") === "end" && hasCalls) return { reason: "tool_calls" };
  // A server that says `tool_calls` without any has nothing to wait for.
  if (known === "tool_calls" && !hasCalls) return { reason: "end" };
  return { reason: known ?? "end", ...(refusal === "" ? {} : { explanation: refusal }) };
}

const words: Readonly<Record<StopReason, string>> = {
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
  return stop.reason === "refusal" && shape.refusalText ? "stop" : words[stop.reason];
}
