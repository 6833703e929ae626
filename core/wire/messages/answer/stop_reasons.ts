/**
 * Reads and writes stop reasons of Messages.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-answer and docs/conversion.md#answers.
 */
import { isJsonObject, type Json } from "../../../lib/json/json.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";
import { readStop } from "../../fields/stop_words.ts";

/** Reads the stop reason and its details. */
export function readMessagesStop(
  from: {
    readonly stop_reason?: Json;
    readonly stop_sequence?: Json;
    readonly stop_details?: Json;
  },
  hasCalls: boolean,
): Stop {
  const { stop_reason, stop_sequence, stop_details } = from;
  const explanation = isJsonObject(stop_details) ? stop_details.explanation : undefined;
  return {
    ...readStop(stop_reason, hasCalls),
    ...(typeof stop_sequence === "string" ? { sequence: stop_sequence } : {}),
    ...(typeof explanation === "string" ? { explanation } : {}),
  };
}

const words: Readonly<Record<Exclude<StopReason, "unknown">, string>> = {
  end: "end_turn",
  length: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  pause: "pause_turn",
  refusal: "refusal",
};

/** Writes the members of a message (or `message_delta`) for the stop reason. */
export function writeMessagesStop(stop: Stop): {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly stop_details: { type: "refusal"; category: null; explanation: string | null } | null;
} {
  return {
    stop_reason: stop.reason === "unknown" ? stop.name ?? stop.reason : words[stop.reason],
    stop_sequence: stop.sequence ?? null,
    stop_details: stop.reason === "refusal"
      ? { type: "refusal", category: null, explanation: stop.explanation ?? null }
      : null,
  };
}
