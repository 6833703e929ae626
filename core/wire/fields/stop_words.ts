/**
 * The words by which providers of all styles say why an answer ended. Servers borrow the words of each other's styles, so
 * that there is one table. What it does not have is unknown, and never the plain end.
 *
 * See docs/conversion.md#answers.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import type { Json } from "../../lib/json/json.ts";
import type { Stop, StopReason } from "../conversation/mod.ts";

/**
 * Meaning of a known word. `failure`: the provider failed, and another attempt or route may succeed. `unusable`: the
 * same for what the model wrote, which depends on the request and says nothing about the route.
 */
type Meaning = Exclude<StopReason, "unknown"> | "failure" | "unusable";

/** Words in lower case, as providers differ in that alone. */
const words: readonly (readonly [Meaning, readonly string[]])[] = [
  ["end", [
    "stop", // Chat, Gemini
    "end_turn", // Messages, Converse
    "completed", // Responses
    "complete", // Cohere
    "eos", // Together
    "eos_token", // Text Generation Inference, watsonx
    "normal", // Baidu
    "finish_reason_stop", // proxies that write enums of Google's libraries
  ]],
  ["length", [
    "length", // Chat
    "max_tokens", // Messages, Converse, Gemini
    "max_output_tokens", // Responses
    // The context window was full.
    "model_context_window_exceeded", // Messages, Converse, Z.AI
    "model_length", // Mistral
    "token_limit", // watsonx
    "error_limit", // Cohere
    // The vendor can continue such an answer by a token of its own, which other styles have no place for.
    "continuation", // Gemini
  ]],
  ["stop_sequence", ["stop_sequence"]],
  ["tool_calls", [
    "tool_calls", // Chat
    "function_call", // Chat, before tools
    "tool_use", // Messages, Converse
    "tool_call", // Cohere
  ]],
  ["pause", ["pause_turn", "compaction"]],
  ["refusal", [
    "refusal", // Messages
    "content_filter", // Chat, Responses
    "content_filtered", // Converse
    "guardrail_intervened", // Converse, by a guardrail of the operator
    "sensitive", // Z.AI, Hunyuan
    "error_toxic", // Cohere
    // Gemini
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "language",
    "image_safety",
    "image_prohibited_content",
    "image_recitation",
    "model_armor",
  ]],
  ["failure", [
    "error", // Mistral, OpenRouter, vLLM
    "failed", // Responses
    "cancelled", // Responses
    "canceled",
    "queued", // Responses: the answer has not begun or ended, and is not stored here
    "in_progress",
    "abort", // vLLM, SGLang
    "aborted",
    "timeout",
    "time_limit", // watsonx
    "network_error", // Z.AI
    "insufficient_system_resource", // DeepSeek
    "not_finished", // watsonx
    "finish_reason_unspecified", // Gemini
  ]],
  ["unusable", [
    "malformed_tool_use", // Converse
    "malformed_model_output",
    // Gemini
    "malformed_function_call",
    "malformed_response",
    "unexpected_tool_call",
    "too_many_tool_calls",
    "missing_thought_signature",
    "no_image",
    "image_other",
  ]],
];

const meanings: ReadonlyMap<string, Meaning> = new Map(
  words.flatMap(([meaning, names]) => names.map((word) => [word, meaning] as const)),
);

/** Names of reasons that are passed on; anything else is no name. */
const name = /^[\w.-]{1,64}$/;

function nameOf(reason: Json | undefined): string {
  return typeof reason === "string" && name.test(reason) ? reason : "unknown";
}

/** Meaning of a reason; `undefined` if there is none, as at some servers. */
function meaningOf(reason: Json | undefined): Meaning | "unknown" | undefined {
  if (reason === undefined || reason === null || reason === "") return undefined;
  return typeof reason === "string" ? meanings.get(reason.toLowerCase()) ?? "unknown" : "unknown";
}

/** Whether a reason means that the model or a filter refused; such an answer may have no content. */
export function isRefusal(reason: Json | undefined): boolean {
  return meaningOf(reason) === "refusal";
}

/**
 * Ending of an answer without content, by its reason. `explained`: it says why there is none. `plain`: it is the
 * regular end. `none`: it does not explain that. What waits for calls has some.
 */
export type Ending = "explained" | "plain" | "none";

const endings: Readonly<Record<Meaning | "unknown", Ending>> = {
  end: "plain",
  length: "explained",
  stop_sequence: "explained",
  tool_calls: "none",
  pause: "explained",
  refusal: "explained",
  failure: "none",
  unusable: "none",
  unknown: "none",
};

/** Ending of an answer that has no content, by its reason. */
export function endingOf(reason: Json | undefined): Ending {
  const meaning = meaningOf(reason);
  return meaning === undefined ? "none" : endings[meaning];
}

/** The same for a reason in the typed form. */
export function endingOfStop(reason: StopReason): Ending {
  return endings[reason];
}

/**
 * Reads a reason. Whether the answer waits for results of calls depends on whether it has calls, whatever the server
 * sent. No reason at all means the plain end; an unknown one, or that of a failure, keeps its name.
 *
 * @example
 * ```ts
 * import { readStop } from "./stop_words.ts";
 * if (readStop("model_length", false).reason !== "length") throw new Error("cut answers look whole");
 * const { reason, name } = readStop("new_reason", false);
 * if (reason !== "unknown" || name !== "new_reason") throw new Error("an unknown end looks regular");
 * ```
 */
export function readStop(reason: Json | undefined, hasCalls: boolean): Stop {
  const meaning = meaningOf(reason);
  switch (meaning) {
    case undefined:
    case "end":
    case "tool_calls":
      // A server that names calls without any has nothing to wait for.
      return { reason: hasCalls ? "tool_calls" : "end" };
    case "unknown":
    case "failure":
    case "unusable":
      return { reason: "unknown", name: nameOf(reason) };
    default:
      return { reason: meaning };
  }
}

/**
 * The error of an answer whose reasons, one for each choice, all mean that it failed; `undefined` if one may be used. An
 * unknown end without output is a failure too: nothing shows that the answer is one.
 *
 * @example
 * ```ts
 * import { stopFailure } from "./stop_words.ts";
 * if (stopFailure(["network_error"], true) === undefined) throw new Error("a failure was taken for an answer");
 * if (stopFailure(["new_reason"], true) !== undefined) throw new Error("output was thrown away");
 * ```
 */
export function stopFailure(
  reasons: readonly (Json | undefined)[],
  hasOutput: boolean,
): GatewayError | undefined {
  const found = reasons.map(meaningOf);
  const isFailure = found.length > 0 &&
    found.every((meaning) =>
      meaning === "failure" || meaning === "unusable" || (meaning === "unknown" && !hasOutput)
    );
  if (!isFailure) return undefined;
  const text = `The provider did not finish this answer (${nameOf(reasons[0])})`;
  return new GatewayError("upstream_unreachable", text, {
    marks: found.includes("failure") ? "route" : "nothing",
  });
}
