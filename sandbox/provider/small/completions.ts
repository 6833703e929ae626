/**
 * Answers `POST /completions` in the sandbox: it says what it was told, and what comes after it.
 *
 * - Folder `sandbox/provider/small/`: completions, embeddings, moderations and ranks in the sandbox.
 * - In: the JSON body of a request.
 * - Out: one JSON answer, or a completion as events.
 * - Never: uses the conversion of `core/wire/`, or draws a random number.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";
import { knownTriggers, SandboxRefusal, tokenBound } from "../base/request.ts";
import { countTokens, cutIntoPieces, reported, takeTokens } from "../base/tokens.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";

/** Tokens of an answer whose request sets no bound, as vendors have it. */
const defaultMaxTokens = 16;

interface Completion {
  readonly head: JsonObject;
  readonly texts: readonly string[];
  readonly finishReason: string;
  readonly usage: JsonObject | undefined;
  readonly wantsUsage: boolean;
}

function promptText(prompt: Json | undefined): string {
  if (typeof prompt === "string") return prompt;
  if (Array.isArray(prompt) && prompt.length > 0) {
    return prompt.map((one) => typeof one === "string" ? one : JSON.stringify(one)).join("\n");
  }
  throw new SandboxRefusal("prompt: is required");
}

function choiceOf(text: string, index: number, finishReason: string | null): JsonObject {
  return { text, index, logprobs: null, finish_reason: finishReason };
}

function* events(
  { head, texts, finishReason, usage, wantsUsage }: Completion,
): Generator<StreamEvent> {
  const chunk = (choices: JsonObject[], more: JsonObject = {}) =>
    JSON.stringify({ ...head, choices, ...more });
  for (const [index, text] of texts.entries()) {
    for (const piece of cutIntoPieces(text, 3)) {
      yield { data: chunk([choiceOf(piece, index, null)]), delta: true };
    }
    yield { data: chunk([choiceOf("", index, finishReason)]), delta: false };
  }
  if (wantsUsage && usage !== undefined) yield { data: chunk([], { usage }), delta: false };
  yield { data: "[DONE]", delta: false };
}

/** Answers a request for a completion. @throws {SandboxRefusal} */
export function answerCompletions(body: JsonObject, nowSeconds: number): Reply {
  const { model, suffix, stream_options: options } = body;
  if (typeof model !== "string") throw new SandboxRefusal("model: is required");
  const prompt = promptText(body["prompt"]);
  const { triggers, text } = knownTriggers(prompt);
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  if (triggers.errorIn200) return jsonReply(200, vendorErrorBody("chat", 500), triggers);
  const before = typeof suffix === "string" && suffix !== "" ? `, before: ${suffix}` : "";
  const whole = triggers.empty ? "" : `You said: ${text}${before}`;
  const most = tokenBound(body, "max_tokens", 1) ?? defaultMaxTokens;
  const answer = takeTokens(whole, most);
  const count = tokenBound(body, "n", 1) ?? 1;
  const texts = Array.from({ length: count }, () => answer);
  const input = countTokens(prompt) + (typeof suffix === "string" ? countTokens(suffix) : 0);
  const output = countTokens(answer) * count;
  const usage = triggers.usage === "none" ? undefined : {
    prompt_tokens: reported(input, triggers),
    completion_tokens: reported(output, triggers),
    total_tokens: reported(input + output, triggers),
  };
  const completion: Completion = {
    head: {
      id: `cmpl-${hashHex(`${prompt} ${before}`)}`,
      object: "text_completion",
      created: nowSeconds,
      model,
    },
    texts,
    finishReason: answer === whole ? "stop" : "length",
    usage,
    wantsUsage: isJsonObject(options) && options["include_usage"] === true,
  };
  if (body["stream"] === true) {
    const errorEvent = { data: JSON.stringify(vendorErrorBody("chat", 500)), delta: false };
    return streamReply(events(completion), triggers, errorEvent);
  }
  const choices = texts.map((one, index) => choiceOf(one, index, completion.finishReason));
  return jsonReply(200, { ...completion.head, choices, ...(usage && { usage }) }, triggers);
}
