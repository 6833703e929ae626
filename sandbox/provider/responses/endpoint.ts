/**
 * Answers Responses requests in the sandbox.
 *
 * - Folder `sandbox/provider/responses/`: Responses in the sandbox.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { readResponsesRequest } from "./read_request.ts";
import { compactedAnswer, responsesAnswer, responsesEvents } from "./write_answer.ts";

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify({
    type: "error",
    sequence_number: 0,
    ...vendorErrorBody("chat", 529),
  }),
  delta: false,
};

/** Answers `POST /v1/responses`. @throws {SandboxRefusal} */
export function answerResponses(body: JsonObject, nowSeconds: number): Reply {
  const request = readResponsesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("chat", 503), triggers);
    }
    return jsonReply(200, responsesAnswer(request, answer, nowSeconds), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : responsesEvents(request, answer, nowSeconds);
  return streamReply(events, triggers, errorEvent);
}

/** Answers `POST /v1/responses/compact`. @throws {SandboxRefusal} */
export function answerCompact(body: JsonObject, nowSeconds: number): Reply {
  const request = readResponsesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compactedAnswer(request, compose(request), body["input"], nowSeconds);
  return jsonReply(200, answer, triggers);
}
