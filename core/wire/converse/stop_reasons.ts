/**
 * Reads why an answer ended.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-answer and docs/conversion.md#answers.
 */
import { GatewayError } from "../../errors.ts";
import type { Stop } from "../conversation/mod.ts";

/** Stops of a filter: of the vendor's own, or of a guardrail that the operator set. */
const refusals: ReadonlySet<string> = new Set(["content_filtered", "guardrail_intervened"]);

/** The model wrote what the vendor could not read: the answer is not whole, and another attempt may succeed. */
const failures: ReadonlySet<string> = new Set(["malformed_model_output", "malformed_tool_use"]);

/** Whether a filter stopped the answer, which then may have no content. */
export function isRefusal(reason: unknown): boolean {
  return typeof reason === "string" && refusals.has(reason);
}

/** The error of an answer that the vendor could not read; `undefined` for any other stop. */
export function failureOf(reason: unknown): GatewayError | undefined {
  return typeof reason === "string" && failures.has(reason)
    ? new GatewayError("upstream_unreachable", "The model wrote an answer that cannot be read")
    : undefined;
}

/** Reads a stop reason. Unknown and absent ones mean the plain end, or the wait for results of calls. */
export function readConverseStop(reason: string | undefined, hasCalls: boolean): Stop {
  switch (reason) {
    case "max_tokens":
    case "model_context_window_exceeded":
      return { reason: "length" };
    case "stop_sequence":
      return { reason: "stop_sequence" };
    case "content_filtered":
    case "guardrail_intervened":
      return { reason: "refusal", explanation: reason };
    default:
      return { reason: hasCalls ? "tool_calls" : "end" };
  }
}
