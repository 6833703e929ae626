/** Writes the response object around the output, in a whole answer and in the first and last event of a stream. */
import {
  count,
  listOf,
  maybeText,
  orNull,
  text,
  type Written,
  writtenSchema,
} from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_bounds.ts";
import { answerId } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type { Moderation, Stop, StopReason } from "../../conversation/mod.ts";
import { knownTier, responsesModeration } from "../../content/citations.ts";
import type { GatewayError } from "../../../lib/errors/errors.ts";
import { itemMembers } from "../items/output_items.ts";
import { readStop } from "../../fields/stop_words.ts";

/** Further codes of the vendor, which a provider of this style or of Chat may send. */
const vendorCodes: ReadonlySet<string> = new Set([
  "data_residency_mismatch",
  "bio_policy",
  "misalignment_policy_violation",
  "vector_store_timeout",
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "image_content_policy_violation",
  "invalid_image_mode",
  "image_file_too_large",
  "unsupported_image_media_type",
  "empty_image_file",
  "failed_to_download_image",
  "image_file_not_found",
]);

/**
 * Returns the code of a failed response, by which agents compact, wait or give up. Codex ends its run at
 * `context_length_exceeded`, `invalid_prompt`, `insufficient_quota`, `server_is_overloaded` and `slow_down`, and repeats
 * the request at any other code. Temporary failures, including overload, are therefore `server_error`.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../../lib/errors/errors.ts";
 * import { failureCode } from "./response_object.ts";
 * if (failureCode(new GatewayError("upstream_timeout", "Slow")) !== "server_error") throw new Error("wrong code");
 * ```
 */
export function failureCode(error: GatewayError): string {
  const { providerCode } = error;
  if (providerCode !== undefined && vendorCodes.has(providerCode)) return providerCode;
  return error.responsesCode;
}

/**
 * Writes the `error` member of a failed response. Codex reads the time to wait from the text of a rate limit.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../../lib/errors/errors.ts";
 * import { failureOf } from "./response_object.ts";
 * const failure = failureOf(new GatewayError("rate_limit_exceeded", "Slow down", { retryAfterSeconds: 7 }));
 * if (failure["message"] !== "Slow down. Please try again in 7s.") throw new Error(String(failure["message"]));
 * ```
 */
export function failureOf(error: GatewayError): JsonObject {
  const { retryAfterSeconds, message } = error;
  const code = failureCode(error);
  const tellsWait = code !== "rate_limit_exceeded" || retryAfterSeconds === undefined ||
    /try again in/i.test(message);
  const wait = tellsWait ? "" : ` Please try again in ${retryAfterSeconds}s.`;
  const text = wait === "" || /[.!?]$/.test(message) ? message : `${message}.`;
  return { code, message: text + wait };
}

// Reads and writes how an answer ended, in the members of Responses.

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

/** The members that differ between the beginning and the end of an answer. */
export interface ResponseState {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed";
  readonly output: readonly JsonObject[];
  readonly incomplete_details?: JsonObject | null;
  readonly error?: JsonObject;
  readonly usage?: TokenUsage | undefined;
  readonly serviceTier?: string | undefined;
  readonly moderation?: Moderation | undefined;
  /** Members of the request that the answer repeats. */
  readonly echo?: JsonObject | undefined;
}

const inputMembers = { cached_tokens: count, cache_write_tokens: count };
const outputMembers = { reasoning_tokens: count };
const responsesUsageMembers = {
  input_tokens: count,
  input_tokens_details: writtenSchema("Parts of the input.", inputMembers, []),
  output_tokens: count,
  output_tokens_details: writtenSchema("Parts of the output.", outputMembers, []),
  total_tokens: count,
};

/** The schema of `usage`. */
export const responsesUsageSchema: JsonObject = writtenSchema("Tokens.", responsesUsageMembers, []);

const object: JsonObject = { type: "object" };
const maybeNumber: JsonObject = { type: ["number", "null"] };

/** The members of a response. Those that repeat the request have its values. */
export const responseMembers = {
  id: text,
  object: { const: "response" },
  created_at: { type: "number" },
  status: text,
  background: { type: ["boolean", "null"] },
  error: orNull(object),
  incomplete_details: orNull(object),
  instructions: { description: "Always null where the answer was converted." },
  max_output_tokens: orNull(count),
  model: { ...text, description: "The name that you sent." },
  output: listOf(
    writtenSchema(
      "An item of type `message`, `reasoning`, `function_call` or others.",
      itemMembers,
      ["type"],
    ),
  ),
  parallel_tool_calls: { type: "boolean" },
  previous_response_id: maybeText,
  prompt_cache_key: maybeText,
  prompt_cache_retention: maybeText,
  reasoning: orNull(object),
  safety_identifier: maybeText,
  service_tier: maybeText,
  store: { type: ["boolean", "null"] },
  temperature: maybeNumber,
  text: object,
  tool_choice: { anyOf: [text, object] },
  tools: listOf(object),
  top_logprobs: orNull(count),
  top_p: maybeNumber,
  truncation: maybeText,
  usage: orNull(responsesUsageSchema),
  user: maybeText,
  metadata: orNull(object),
  moderation: orNull(object),
};

/**
 * Writes a response with every member, as strict clients require. Members that repeat the request have the vendor's
 * defaults, except for the short ones that are kept (`core/wire/responses/request/decode_request.ts`).
 */
export function responseObject(
  context: PipeContext,
  state: ResponseState,
): Written<typeof responseMembers> {
  return {
    id: answerId("resp_", context.requestId),
    object: "response",
    created_at: context.nowSeconds,
    status: state.status,
    background: false,
    error: state.error ?? null,
    incomplete_details: state.incomplete_details ?? null,
    instructions: null,
    max_output_tokens: null,
    model: context.clientModel,
    output: [...state.output],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    service_tier: knownTier(state.serviceTier ?? "") ?? null,
    store: false,
    temperature: null,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: null,
    truncation: "disabled",
    usage: state.usage === undefined ? null : writeResponsesUsage(state.usage),
    user: null,
    metadata: {},
    ...state.echo,
    ...(state.moderation === undefined
      ? {}
      : { moderation: responsesModeration(state.moderation) }),
  };
}

/** Writes usage in the counting of Responses: cached tokens are part of the input, reasoning of the output. */
function writeResponsesUsage(usage: TokenUsage): Written<typeof responsesUsageMembers> {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  const inputDetails: Written<typeof inputMembers> = {
    cached_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite,
  };
  const outputDetails: Written<typeof outputMembers> = { reasoning_tokens: usage.reasoning };
  return {
    input_tokens: input,
    input_tokens_details: inputDetails,
    output_tokens: usage.output,
    output_tokens_details: outputDetails,
    total_tokens: input + usage.output,
  };
}
