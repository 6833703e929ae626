import { joined } from "../../../lib/bytes/byte_parts.ts";
import { errorBody, type GatewayError } from "../../../lib/errors/errors.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";
import { encodeSseEvent } from "../../../lib/sse/writer.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { BytePipe } from "../../stream/byte_pipe.ts";
import { ClientModel, inClientTerms } from "../../stream/client_model.ts";
import type { PipeContext, StreamPipe } from "../../contract/contract.ts";
import { failureOf } from "../answer/failure_codes.ts";
import type { ClosingEvent } from "../items/kept_output.ts";
import { ResponsesMeter } from "./meter.ts";
import { responseObject, type ResponseState } from "../answer/response_object.ts";
import { writeResponsesStop } from "../answer/stop_reasons.ts";

/** Writes a response object that continues the upstream's, with the members of its first event. */
function continued(
  { identity }: ResponsesMeter,
  context: PipeContext,
  state: ResponseState,
): JsonObject {
  const response = responseObject(context, state);
  for (const [name, value] of Object.entries(identity)) {
    if (value !== undefined) response[name] = value;
  }
  return response;
}

/** Closes the open items, then the response with the collected output. */
function lengthStop(meter: ResponsesMeter, context: PipeContext, usage: TokenUsage): Uint8Array {
  const stop = writeResponsesStop({ reason: "length" }, false);
  const { events, output } = meter.kept.close();
  const response = continued(meter, context, { ...stop, output, usage });
  let sequence = meter.nextSequenceNumber;
  const closing: readonly ClosingEvent[] = [...events, ["response.incomplete", { response }]];
  return joined(closing.map(([type, members]) => {
    const event = { type, sequence_number: sequence++, ...members };
    return encodeSseEvent(stringifyExactly(event), type);
  }));
}

/**
 * Writes both error events of the vendor: SDKs stop at `error`, agents read the reason from `response.failed`. A stream
 * that has not begun gets `response.created` first, since strict clients accept nothing before it.
 */
function failure(meter: ResponsesMeter, context: PipeContext, error: GatewayError): Uint8Array {
  let sequence = meter.nextSequenceNumber;
  const events: Uint8Array[] = [];
  const add = (type: string, members: JsonObject) => {
    const event = { type, sequence_number: sequence++, ...members };
    events.push(encodeSseEvent(stringifyExactly(event), type));
  };
  const hasBegun = sequence > 0 || meter.identity.id !== undefined;
  if (!hasBegun) {
    const begun = responseObject(context, { status: "in_progress", output: [] });
    add("response.created", { response: begun });
  }
  add("error", { error: errorBody(error, "chat", context.requestId)["error"] });
  const failed = { status: "failed", output: [], error: failureOf(error) } as const;
  add("response.failed", { response: continued(meter, context, failed) });
  return joined(events);
}

/** Creates the pipe from a Responses upstream to a Responses client. A stream without a closing event was cut. */
export function createResponsesNativePipe(context: PipeContext): StreamPipe {
  const meter = new ResponsesMeter(ClientModel.of(context.clientModel));
  return new BytePipe(meter, {
    errorEvent: (error) => failure(meter, context, error),
    clientError: (error) => inClientTerms(error, context),
    missingEnd: () => undefined,
    lengthStop: (usage) => lengthStop(meter, context, usage),
  });
}
