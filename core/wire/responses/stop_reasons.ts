/** Reads and writes how an answer ended, in the members of Responses. */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { Stop } from "../conversation/mod.ts";

/** Reads the status of a response whose end is not an error. */
export function readResponsesStop(
  from: { readonly status?: Json; readonly incomplete_details?: Json },
  saw: { readonly calls: boolean; readonly refusal: string },
): Stop {
  const { status, incomplete_details: details } = from;
  const explanation = saw.refusal === "" ? {} : { explanation: saw.refusal };
  if (status === "incomplete") {
    const filtered = isJsonObject(details) && details["reason"] === "content_filter";
    return filtered ? { reason: "refusal", ...explanation } : { reason: "length" };
  }
  if (saw.refusal !== "") return { reason: "refusal", ...explanation };
  return { reason: saw.calls ? "tool_calls" : "end" };
}

/**
 * Writes the members of a response for how it ended. A refusal written by the model is a complete answer, as at the
 * vendor; one cut by a filter is not.
 */
export function writeResponsesStop(
  stop: Stop,
  refusalText: boolean,
): { readonly status: "completed" | "incomplete"; readonly incomplete_details: JsonObject | null } {
  const reason = stop.reason === "length"
    ? "max_output_tokens"
    : stop.reason === "refusal" && !refusalText
    ? "content_filter"
    : undefined;
  return reason === undefined
    ? { status: "completed", incomplete_details: null }
    : { status: "incomplete", incomplete_details: { reason } };
}
