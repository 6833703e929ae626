/**
 * Answers Gemini requests in the sandbox.
 *
 * - Folder `sandbox/provider/gemini/`: `generateContent` in the sandbox, with its token counter.
 * - In: the JSON body of a request, with the model and the choice of streaming from its path.
 * - Out: a reply, whole or as events, or a count of tokens.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { SandboxRefusal } from "../base/request.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { readGeminiRequest } from "./read_request.ts";
import { geminiAnswer, geminiEvents } from "./write_answer.ts";

/** Answers of one call, as at the vendor. */
const maxCandidates = 8;

const errorEvent: StreamEvent = {
  data: JSON.stringify(vendorErrorBody("gemini", 503)),
  delta: false,
};

/** Answers `:generateContent` and `:streamGenerateContent`. @throws {SandboxRefusal} */
export function answerGemini(body: JsonObject): Reply {
  const request = readGeminiRequest(body);
  const { triggers } = request;
  if (request.choices > maxCandidates) {
    throw new SandboxRefusal(`generationConfig.candidateCount: must be at most ${maxCandidates}`);
  }
  const trouble = troubleReply("gemini", triggers);
  if (trouble !== undefined) return trouble;
  const answers = Array.from({ length: request.choices }, (_, choice) => compose(request, choice));
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("gemini", 503), triggers);
    }
    return jsonReply(200, geminiAnswer(request, answers), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : geminiEvents(request, answers);
  return streamReply(events, triggers, errorEvent);
}

/** Answers `:countTokens`, with the count that usage reports. @throws {SandboxRefusal} */
export function answerGeminiCount(body: JsonObject): Reply {
  const { generateContentRequest: whole, model } = body;
  const request = readGeminiRequest(isJsonObject(whole) ? { ...whole, model: model ?? "" } : body);
  const trouble = troubleReply("gemini", request.triggers);
  if (trouble !== undefined) return trouble;
  return jsonReply(200, { totalTokens: request.prompt.input }, request.triggers);
}
