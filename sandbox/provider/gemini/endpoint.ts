/**
 * Answers Gemini requests in the sandbox.
 *
 * - Folder `sandbox/provider/gemini/`: `generateContent` in the sandbox, with its token counter.
 * - In: the JSON body of a request, with the model and the choice of streaming from its path.
 * - Out: a reply, whole or as events, or a count of tokens.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import {
  type AnswerPart,
  compose,
  type SandboxAnswer,
  stableId,
  type StopCause,
} from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import {
  anyObject,
  commonFields,
  emptyTurn,
  objects,
  type OutputFormat,
  requiredList,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxTool,
  stopList,
  textOf,
  tokenBound,
  type ToolChoice,
  toolOf,
  type Turn,
} from "../base/request.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { countPrompt, cutIntoPieces, reported } from "../base/tokens.ts";

/** Reads a Gemini request. @throws {SandboxRefusal} */
function readGeminiRequest(body: JsonObject): SandboxRequest {
  const contents = requiredList(body, "contents").filter(isJsonObject);
  const config = objectOf(body["generationConfig"]);
  const tools = objects(body["tools"]).flatMap((tool) => objects(tool["functionDeclarations"]));
  const { choice, allowed } = choiceOf(body["toolConfig"]);
  return {
    ...commonFields(body, lastTurn(contents)),
    includeUsage: true,
    choices: tokenBound(config, "candidateCount", 1) ?? 1,
    tools: tools.flatMap(toolFrom).filter(({ name }) => allowed?.includes(name) !== false),
    toolChoice: choice,
    parallelTools: true,
    maxTokens: tokenBound(config, "maxOutputTokens", 1) ?? Infinity,
    stopSequences: stopList(config["stopSequences"]),
    reasoning: wantsThoughts(config["thinkingConfig"]),
    format: formatOf(config),
    prompt: countPrompt(tools, body["systemInstruction"] ?? null, contents),
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function wantsThoughts(config: Json | undefined): boolean {
  const { includeThoughts, thinkingBudget } = objectOf(config);
  return includeThoughts === true && thinkingBudget !== 0;
}

function lastTurn(contents: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  const isAnswer = (content: JsonObject) => content["role"] === "model";
  const last = contents.findLastIndex(isAnswer);
  const before = last === contents.length - 1
    ? contents.slice(0, last).findLastIndex(isAnswer)
    : last;
  for (const content of contents.slice(before + 1)) {
    if (isAnswer(content)) continue;
    const parts = objects(content["parts"]);
    const text = textOf(parts.filter((part) => typeof part["text"] === "string"));
    if (text !== "") turn.texts.push(text);
    for (const part of parts) {
      if (isJsonObject(part["functionResponse"])) {
        turn.toolResults.push(resultText(part["functionResponse"]["response"]));
      } else if (part["text"] === undefined) turn.attachments++;
    }
  }
  return turn;
}

function resultText(response: Json | undefined): string {
  const { output, error } = objectOf(response);
  const said = output ?? error ?? response ?? null;
  return typeof said === "string" ? said : JSON.stringify(said);
}

function toolFrom(tool: JsonObject): readonly SandboxTool[] {
  return toolOf(tool["name"], lowerTypes(tool["parametersJsonSchema"] ?? tool["parameters"] ?? {}));
}

/** The vendor's own form of a schema has types in upper case. */
function lowerTypes(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(lowerTypes);
  if (!isJsonObject(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]): [string, Json] => [
      name,
      name === "type" && typeof value === "string"
        ? value.toLowerCase()
        : lowerTypes(value ?? null),
    ]),
  );
}

function choiceOf(
  config: Json | undefined,
): { readonly choice: ToolChoice; readonly allowed?: readonly Json[] } {
  const calling = objectOf(objectOf(config)["functionCallingConfig"]);
  const names = calling["allowedFunctionNames"];
  const allowed = Array.isArray(names) && names.length > 0 ? { allowed: names } : {};
  if (calling["mode"] === "NONE") return { choice: { type: "none" } };
  return { choice: { type: calling["mode"] === "ANY" ? "any" : "auto" }, ...allowed };
}

function formatOf(config: JsonObject): OutputFormat {
  if (config["responseMimeType"] !== "application/json") return { type: "text" };
  const schema = lowerTypes(config["responseJsonSchema"] ?? config["responseSchema"] ?? anyObject);
  return { type: "json", schema: isJsonObject(schema) ? schema : anyObject };
}

/** Tokens per chunk. */
const pieceTokens = 3;

const finishReasons: Readonly<Record<StopCause, string>> = {
  end: "STOP",
  length: "MAX_TOKENS",
  stop_sequence: "STOP",
  calls: "STOP",
  refusal: "SAFETY",
};

/** Writes a whole answer with its candidates. */
function geminiAnswer(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
): JsonObject {
  return {
    candidates: answers.map((answer, index) => ({
      content: { parts: partsOf(request, answer).map(({ part }) => part), role: "model" },
      finishReason: finishReasons[answer.stop],
      index,
    })),
    ...usageOf(request, answers),
    ...frame(request),
  };
}

/** Writes the chunks of a stream. Candidates follow one another; the last chunk of each has its finish reason. */
function* geminiEvents(
  request: SandboxRequest,
  answers: readonly SandboxAnswer[],
): Generator<StreamEvent> {
  for (const [index, answer] of answers.entries()) {
    const chunk = (parts: readonly Json[], more: JsonObject, usage: JsonObject = {}) =>
      JSON.stringify({
        candidates: [{ content: { parts: [...parts], role: "model" }, index, ...more }],
        ...usage,
        ...frame(request),
      });
    for (const piece of partsOf(request, answer).flatMap(piecesOf)) {
      yield { data: chunk([piece], {}), delta: true };
    }
    const usage = index === answers.length - 1 ? usageOf(request, answers) : {};
    const end = { finishReason: finishReasons[answer.stop] };
    yield { data: chunk([{ text: "" }], end, usage), delta: false };
  }
}

function piecesOf({ part, text }: WrittenPart): JsonObject[] {
  if (text === undefined) return [part];
  return [...cutIntoPieces(text, pieceTokens)].map((piece) => ({ ...part, text: piece }));
}

interface WrittenPart {
  readonly part: JsonObject;
  /** The text of a part that may be cut into pieces. */
  readonly text?: string;
}

/** Writes the parts; the first call has a signature, as at the vendor. */
function partsOf(request: SandboxRequest, answer: SandboxAnswer): WrittenPart[] {
  let signed = false;
  return answer.parts.flatMap((part): WrittenPart[] => {
    if (part.kind === "reasoning") {
      return [{ part: { text: part.text, thought: true }, text: part.text }];
    }
    if (part.kind === "text") return [{ part: { text: part.text }, text: part.text }];
    if (part.kind !== "call") return [];
    const signature = signed ? {} : { thoughtSignature: btoa(stableId(request.seed, "signature")) };
    signed = true;
    return [{ part: { functionCall: callOf(part), ...signature } }];
  });
}

function callOf(part: AnswerPart & { kind: "call" }): JsonObject {
  let args: JsonObject = {};
  try {
    args = JSON.parse(part.arguments);
  } catch {
    // Cut by the limit on tokens.
  }
  return { id: part.id.slice(0, 8), name: part.tool.name, args };
}

function frame(request: SandboxRequest): JsonObject {
  return { modelVersion: request.model, responseId: stableId(request.seed, "response") };
}

function usageOf(request: SandboxRequest, answers: readonly SandboxAnswer[]): JsonObject {
  const { triggers, prompt } = request;
  if (triggers.usage === "none") return {};
  const outputTokens = answers.reduce((sum, answer) => sum + answer.outputTokens, 0);
  const reasoningTokens = answers.reduce((sum, answer) => sum + answer.reasoningTokens, 0);
  return {
    usageMetadata: {
      promptTokenCount: reported(prompt.input, triggers),
      candidatesTokenCount: reported(outputTokens - reasoningTokens, triggers),
      totalTokenCount: reported(prompt.input + outputTokens, triggers),
      ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
    },
  };
}

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
