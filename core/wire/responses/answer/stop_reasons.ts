/** Reads and writes how an answer ended, in the members of Responses. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";
import { readStop } from "../../fields/stop_words.ts";

/** The members of a response that tell how it ended. */
export interface EndedResponse {
  readonly status?: Json;
  readonly incomplete_details?: Json;
}

/** Returns the vendor's reason why a response ended; an incomplete one without details was cut for its length. */
export function responseEnd({ status, incomplete_details: details }: EndedResponse): Json {
  const reason = isJsonObject(details) ? details["reason"] : undefined;
  return reason ?? (status === "incomplete" ? "max_output_tokens" : status) ?? null;
}

/** Reads how a response ended; a refusal of the model counts where the end is regular. */
export function readResponsesStop(
  from: EndedResponse,
  saw: { readonly calls: boolean; readonly refusal: string },
): Stop {
  const stop = readStop(responseEnd(from), saw.calls);
  const explanation = saw.refusal === "" ? {} : { explanation: saw.refusal };
  if (stop.reason === "refusal") return { ...stop, ...explanation };
  const isRegular = stop.reason === "end" || stop.reason === "tool_calls";
  return isRegular && saw.refusal !== "" ? { reason: "refusal", ...explanation } : stop;
}

/** The reasons of `incomplete`; every other end is complete. */
const incomplete: Readonly<Record<StopReason, string | undefined>> = {
  end: undefined,
  stop_sequence: undefined,
  tool_calls: undefined,
  pause: undefined,
  length: "max_output_tokens",
  refusal: "content_filter",
  unknown: "unknown",
};

/**
 * Writes the members of a response for how it ended. A refusal written by the model is a complete answer, as at the
 * vendor; one cut by a filter is not.
 */
export function writeResponsesStop(
  stop: Stop,
  refusalText: boolean,
): { readonly status: "completed" | "incomplete"; readonly incomplete_details: JsonObject | null } {
  const written = stop.reason === "refusal" && refusalText ? undefined : incomplete[stop.reason];
  return written === undefined
    ? { status: "completed", incomplete_details: null }
    : { status: "incomplete", incomplete_details: { reason: stop.name ?? written } };
}
