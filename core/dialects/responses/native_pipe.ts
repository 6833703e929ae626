import { errorBody } from "../../errors.ts";
import type { TokenUsage } from "../../money/token_usage.ts";
import { encodeSseEvent } from "../../sse/writer.ts";
import { BytePipe } from "../byte_pipe.ts";
import { ClientModel, inClientTerms } from "../client_model.ts";
import type { PipeContext, StreamPipe } from "../contract.ts";
import { ResponsesMeter } from "./meter.ts";
import { responseObject } from "./response_object.ts";
import { writeResponsesStop } from "./stop_reasons.ts";

/**
 * The closing event alone. What passed is not kept, so open items get no `done` event, which would have to repeat their
 * text, and the response lists no output: its deltas are the answer, as libraries gather it.
 */
function lengthStop(meter: ResponsesMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const stop = writeResponsesStop({ reason: "length" }, false);
  const response = responseObject(context, { ...stop, output: [], usage });
  for (const [name, value] of Object.entries(meter.identity)) {
    if (value !== undefined) response[name] = value;
  }
  const event = {
    type: "response.incomplete",
    sequence_number: meter.nextSequenceNumber,
    response,
  };
  return encodeSseEvent(JSON.stringify(event), event.type);
}

/** Responses upstream, Responses client. A stream without a closing `response.*` event was cut. */
export function createResponsesNativePipe(context: PipeContext): StreamPipe {
  const meter = new ResponsesMeter(new ClientModel(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) => {
      const event = {
        type: "error",
        sequence_number: meter.nextSequenceNumber,
        error: errorBody(error, "chat", context.requestId)["error"],
      };
      return encodeSseEvent(JSON.stringify(event), "error");
    },
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => undefined,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
