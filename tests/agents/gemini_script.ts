/** The scripted model in the Gemini style. The members `model` and `stream` of a body come from the path. */
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { skippedSignature } from "../../core/wire/gemini/answer/thought_signatures.ts";
import { objects, words } from "./messages_script.ts";
import {
  type ScriptedEvent,
  type ScriptedRequest,
  type ScriptedTurn,
  signatureOf,
} from "./scripted_turn.ts";

export function readGemini(body: JsonObject): ScriptedRequest {
  const declared = objects(body["tools"]).flatMap((tool) => objects(tool["functionDeclarations"]));
  return {
    body,
    model: String(body["model"]),
    stream: body["stream"] === true,
    thinks: true,
    tools: declared.map((tool) => ({ name: String(tool["name"]), freeform: false })),
    toolResults: partsOf(body).filter((part) => isJsonObject(part["functionResponse"])).length,
  };
}

function partsOf(body: JsonObject): JsonObject[] {
  return objects(body["contents"]).flatMap((content) => objects(content["parts"]));
}

/**
 * What newer models refuse: a call of the running turn without its signature. Clients of other styles that lose it are
 * let through by the word that the vendor documents for them.
 */
export function geminiProofRefusal({ body }: ScriptedRequest): string | undefined {
  const calls = partsOf(body).filter((part) => isJsonObject(part["functionCall"]));
  const wrong = calls.findIndex(({ thoughtSignature }, step) =>
    thoughtSignature !== signatureOf(step) && thoughtSignature !== skippedSignature
  );
  return wrong < 0 ? undefined : `Function call ${wrong} is missing a thought_signature.`;
}

export function* geminiEvents(
  request: ScriptedRequest,
  turn: ScriptedTurn,
): Generator<ScriptedEvent> {
  const { usage, call } = turn;
  const promptTokenCount = usage.input + usage.cacheRead;
  const chunk = (part: JsonObject, more: JsonObject = {}, last: JsonObject = {}) => ({
    value: {
      candidates: [{ content: { parts: [part], role: "model" }, index: 0, ...more }],
      usageMetadata: { promptTokenCount, totalTokenCount: promptTokenCount, ...last },
      modelVersion: request.model,
      responseId: `scripted_${request.toolResults}`,
    },
  });
  if (turn.thinking !== "") yield chunk({ text: turn.thinking, thought: true });
  for (const text of words(turn.text)) yield chunk({ text });
  if (call !== undefined) {
    yield chunk({
      functionCall: { name: call.tool.name, args: call.input },
      thoughtSignature: signatureOf(request.toolResults),
    });
  }
  yield chunk({ text: "" }, { finishReason: "STOP" }, {
    candidatesTokenCount: usage.output,
    cachedContentTokenCount: usage.cacheRead,
    totalTokenCount: promptTokenCount + usage.output,
  });
}

/** Sent without `data:`, as the vendor does. */
export const geminiOverload: JsonObject = {
  error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" },
};
