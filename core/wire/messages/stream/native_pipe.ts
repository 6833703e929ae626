import { errorBody } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { encodeSseEvent, sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import { ClientModel, inClientTerms } from "../../stream/client_model.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";
import { MessagesMeter } from "./meter.ts";
import { writeMessagesStop } from "../answer/stop_reasons.ts";
import { writeMessagesUsage } from "../answer/write_usage.ts";

const encoder = new TextEncoder();

/** Closes the open blocks and stops with `max_tokens`, unless the provider already sent a stop reason. */
function lengthStop(meter: MessagesMeter, usage: TokenUsage): Uint8Array {
  const events: JsonObject[] = meter.openBlocks.map((index) => ({
    type: "content_block_stop",
    index,
  }));
  if (meter.reading.stopReason === undefined) {
    const { stop_reason, stop_sequence } = writeMessagesStop({ reason: "length" });
    events.push({
      type: "message_delta",
      delta: { stop_reason, stop_sequence },
      usage: writeMessagesUsage(usage),
    });
  }
  events.push({ type: "message_stop" });
  return encoder.encode(
    events.map((event) => sseEventText(stringifyExactly(event), String(event["type"]))).join(""),
  );
}

/** Creates the pipe from a Messages upstream to a Messages client. A stream without `message_stop` was cut. */
export function createMessagesNativePipe(context: PipeContext): StreamPipe {
  const meter = new MessagesMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) =>
      encodeSseEvent(stringifyExactly(errorBody(error, "messages", context.requestId)), "error"),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => undefined,
    lengthStop: (usage) => lengthStop(meter, usage),
  });
}
