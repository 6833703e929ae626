/** Writes the response object around the output, in a whole answer and in the first and last event of a stream. */
import type { JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { answerId } from "../../fields/answer_ids.ts";
import type { PipeContext } from "../../contract/contract.ts";
import type { Moderation } from "../../conversation/mod.ts";
import { responsesModeration } from "../../content/moderation.ts";
import { knownTier } from "../../content/service_tiers.ts";

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

/**
 * Writes a response with every member, as strict clients require. Members that repeat the request have the vendor's
 * defaults, except for the short ones that are kept (`core/wire/responses/request/request_echo.ts`).
 */
export function responseObject(context: PipeContext, state: ResponseState): JsonObject {
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
function writeResponsesUsage(usage: TokenUsage): JsonObject {
  const input = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  };
}
