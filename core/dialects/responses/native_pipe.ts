import { errorBody } from "../../errors.ts";
import { encodeSseEvent } from "../../sse/writer.ts";
import { BytePipe } from "../byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../contract.ts";
import { ResponsesMeter } from "./meter.ts";

/** Responses upstream, Responses client. A stream without a closing `response.*` event was cut. */
export function createResponsesNativePipe(context: PipeContext): StreamPipe {
  const meter = new ResponsesMeter();
  return new BytePipe(meter, {
    errorEvent: (error) => {
      const event = {
        type: "error",
        sequence_number: meter.nextSequenceNumber,
        error: errorBody(error, "chat", context.requestId)["error"],
      };
      return encodeSseEvent(JSON.stringify(event), "error");
    },
    missingEnd: () => undefined,
  });
}
