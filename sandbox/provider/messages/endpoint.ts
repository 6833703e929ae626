/**
 * Answers Messages requests in the sandbox.
 *
 * - Folder `sandbox/provider/messages/`: Messages in the sandbox, with its token
 *   counter.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events, or a count of tokens.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { countMessagesPrompt, readMessagesRequest } from "./read_request.ts";
import { messagesAnswer, messagesEvents } from "./write_answer.ts";

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify(vendorErrorBody("messages", 529)),
  delta: false,
};

/** Answers `POST /v1/messages`. @throws {SandboxRefusal} */
export function answerMessages(body: JsonObject): Reply {
  const request = readMessagesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("messages", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 529;
      return jsonReply(status, vendorErrorBody("messages", 529), triggers);
    }
    return jsonReply(200, messagesAnswer(request, answer), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : messagesEvents(request, answer);
  return streamReply(events, triggers, errorEvent);
}

/** Answers `POST /v1/messages/count_tokens`, with the count that usage reports. @throws {SandboxRefusal} */
export function answerCountTokens(body: JsonObject): Reply {
  const request = readMessagesRequest({ ...body, max_tokens: 1 });
  const trouble = troubleReply("messages", request.triggers);
  if (trouble !== undefined) return trouble;
  const { input, cacheRead, cacheWrite } = countMessagesPrompt(body);
  return jsonReply(200, { input_tokens: input + cacheRead + cacheWrite }, request.triggers);
}
