/**
 * Answers Converse requests in the sandbox.
 *
 * - Folder `sandbox/provider/converse/`: Converse in the sandbox.
 * - In: the JSON body of a request, with the model and the choice of streaming from its path.
 * - Out: a reply, whole or as events; the vendor's frames are the business of `core/clouds/`.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { readConverseRequest } from "./read_request.ts";
import { converseAnswer, converseEvents } from "./write_answer.ts";

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify(vendorErrorBody("messages", 503)),
  delta: false,
};

/** Answers `/converse` and `/converse-stream`. @throws {SandboxRefusal} */
export function answerConverse(body: JsonObject): Reply {
  const request = readConverseRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("messages", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("messages", 503), triggers);
    }
    return jsonReply(200, converseAnswer(request, answer), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : converseEvents(request, answer);
  return streamReply(events, triggers, errorEvent);
}
