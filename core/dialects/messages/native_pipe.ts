import { errorBody } from "../../errors.ts";
import { encodeSseEvent } from "../../sse/writer.ts";
import { BytePipe } from "../byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../contract.ts";
import { MessagesMeter } from "./meter.ts";

/** Messages upstream, Messages client. A stream without `message_stop` was cut. */
export function createMessagesNativePipe(context: PipeContext): StreamPipe {
  return new BytePipe(new MessagesMeter(), {
    errorEvent: (error) =>
      encodeSseEvent(JSON.stringify(errorBody(error, "messages", context.requestId)), "error"),
    missingEnd: () => undefined,
  });
}
