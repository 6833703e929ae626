import { errorBody } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { encodeSseEvent, sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { answerId } from "../../fields/answer_ids.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import { ClientModel, inClientTerms } from "../../stream/client_model.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";
import { ChatMeter } from "./meter.ts";
import { writeChatUsage } from "../answer/write_usage.ts";

const encoder = new TextEncoder();

/** Ends every open choice with `length`; then sends usage, if the client asked for it, and `[DONE]`. */
function lengthStop(meter: ChatMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const { id, created } = meter.shared;
  const head: JsonObject = {
    id: id ?? answerId("chatcmpl-", context.requestId),
    object: "chat.completion.chunk",
    created: created ?? context.nowSeconds,
    model: context.clientModel,
  };
  const noUsage = context.clientWantsUsage ? { usage: null } : {};
  let text = "";
  for (const index of meter.openChoices) {
    const choice = { index, delta: {}, logprobs: null, finish_reason: "length" };
    text += sseEventText(stringifyExactly({ ...head, choices: [choice], ...noUsage }));
  }
  if (context.clientWantsUsage) {
    const chunk = { ...head, choices: [], usage: writeChatUsage(usage) };
    text += sseEventText(stringifyExactly(chunk));
  }
  return encoder.encode(text + sseEventText("[DONE]"));
}

const nothing = new Uint8Array(0);

/**
 * Creates the pipe from a Chat upstream to a Chat client.
 *
 * Some servers end the body without `[DONE]`. After a finish reason the answer is complete, and the client's body also
 * ends without it; without a finish reason the stream was cut.
 */
export function createChatNativePipe(
  context: PipeContext & {
    readonly injectedUsage: boolean;
    readonly readsText?: boolean;
    readonly repairsCalls?: boolean;
  },
): StreamPipe {
  const meter = new ChatMeter({
    model: ClientModel.of(context.clientModel),
    hideUsage: context.injectedUsage && !context.clientWantsUsage,
    readsText: context.readsText ?? false,
    repairsCalls: context.repairsCalls ?? false,
  });
  return new BytePipe(meter, {
    errorEvent: (error) => {
      const body = { error: errorBody(error, "chat", context.requestId)["error"] };
      return encodeSseEvent(stringifyExactly(body));
    },
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => meter.reading.stopReason === undefined ? undefined : nothing,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
