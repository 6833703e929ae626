/**
 * Reads why an answer ended.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-answer and docs/conversion.md#answers.
 */
import type { Stop } from "../conversation/mod.ts";
import { readStop } from "../fields/stop_words.ts";

/** Reads a stop reason; a refusal has the name of its filter as its explanation. */
export function readConverseStop(reason: string | undefined, hasCalls: boolean): Stop {
  const stop = readStop(reason, hasCalls);
  return stop.reason === "refusal" && reason !== undefined
    ? { ...stop, explanation: reason }
    : stop;
}
