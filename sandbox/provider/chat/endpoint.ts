/**
 * Answers Chat Completions requests in the sandbox.
 *
 * - Folder `sandbox/provider/chat/`: Chat Completions in the sandbox.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { maxChoices } from "../../../core/wire/contract/limits.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { readChatRequest } from "./read_request.ts";
import { chatAnswer, chatEvents } from "./write_answer.ts";

const errorEvent: StreamEvent = {
  data: JSON.stringify(vendorErrorBody("chat", 529)),
  delta: false,
};

/** Answers `POST /v1/chat/completions`. @throws {SandboxRefusal} */
export function answerChat(body: JsonObject, nowSeconds: number): Reply {
  const request = readChatRequest(body);
  const { triggers } = request;
  if (request.choices > maxChoices) {
    throw new SandboxRefusal(`n: must be at most ${maxChoices}`);
  }
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answers = Array.from({ length: request.choices }, (_, choice) => compose(request, choice));
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("chat", 503), triggers);
    }
    return jsonReply(200, chatAnswer(request, answers, nowSeconds), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : chatEvents(request, answers, nowSeconds);
  return streamReply(events, triggers, errorEvent);
}
