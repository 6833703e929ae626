import { errorBody } from "../../errors.ts";
import { encodeSseEvent } from "../../sse/writer.ts";
import { BytePipe } from "../byte_pipe.ts";
import type { PipeContext, StreamPipe } from "../contract.ts";
import { ChatMeter } from "./meter.ts";

/**
 * Chat upstream, Chat client.
 *
 * Some servers end the body without `[DONE]`. After a finish reason that is a whole answer, and the client gets the
 * `[DONE]` that its library waits for; without one the stream was cut.
 */
export function createChatNativePipe(
  context: PipeContext & { readonly injectedUsage: boolean },
): StreamPipe {
  const meter = new ChatMeter({ hideUsage: context.injectedUsage && !context.clientWantsUsage });
  return new BytePipe(meter, {
    errorEvent: (error) => {
      const body = { error: errorBody(error, "chat", context.requestId)["error"] };
      return encodeSseEvent(JSON.stringify(body));
    },
    missingEnd: () => meter.reading.stopReason === undefined ? undefined : encodeSseEvent("[DONE]"),
  });
}
