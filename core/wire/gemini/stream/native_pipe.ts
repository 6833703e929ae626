import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { sseEventText } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import { ClientModel, inClientTerms } from "../../stream/client_model.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";
import { answerFrame } from "../answer/encode_answer.ts";
import { GeminiMeter } from "./meter.ts";
import { writeGeminiStop } from "../answer/stop_reasons.ts";
import { streamError } from "./stream_encoder.ts";
import { writeGeminiUsage } from "../answer/usage.ts";

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** Ends every open candidate for length. */
function lengthStop(meter: GeminiMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const chunk = {
    candidates: meter.openCandidates.map((index) => ({
      content: { parts: [{ text: "" }], role: "model" },
      ...writeGeminiStop({ reason: "length" }),
      index,
    })),
    usageMetadata: writeGeminiUsage(usage),
    ...answerFrame(context),
  };
  return encoder.encode(sseEventText(stringifyExactly(chunk)));
}

/** Creates the pipe from a Gemini upstream to a Gemini client. A stream without a finish reason was cut. */
export function createGeminiNativePipe(context: PipeContext): StreamPipe {
  const meter = new GeminiMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) => encoder.encode(streamError(error, context.requestId)),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => meter.reading.stopReason === undefined ? undefined : nothing,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
