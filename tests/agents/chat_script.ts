/** The scripted model in the Chat Completions style. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { objects, words } from "./messages_script.ts";
import type { ScriptedEvent, ScriptedRequest, ScriptedTurn } from "./scripted_turn.ts";

export function readChat(body: JsonObject): ScriptedRequest {
  const messages = objects(body["messages"]);
  return {
    body,
    model: String(body["model"]),
    stream: body["stream"] === true,
    thinks: true,
    tools: objects(body["tools"]).flatMap((tool) => {
      const described = tool["function"];
      return isJsonObject(described) ? [{ name: String(described["name"]), freeform: false }] : [];
    }),
    toolResults: messages.filter((message) => message["role"] === "tool").length,
  };
}

/** A vendor that sends `reasoning_content` accepts it back; the vendor validator of plain Chat does not. */
export function withoutReasoning(body: JsonObject): JsonObject {
  const messages = objects(body["messages"]).map((
    { reasoning_content: _, ...message },
  ) => message);
  return { ...body, messages };
}

export function* chatEvents(
  request: ScriptedRequest,
  turn: ScriptedTurn,
): Generator<ScriptedEvent> {
  const chunk = (delta: JsonObject, finish: Json = null): ScriptedEvent => ({
    value: {
      ...envelope(request),
      choices: [{ index: 0, delta, finish_reason: finish }],
    },
  });
  yield chunk({ role: "assistant", content: "" });
  if (turn.thinking !== "") yield chunk({ reasoning_content: turn.thinking });
  for (const content of words(turn.text)) yield chunk({ content });
  if (turn.call !== undefined) {
    const { id, tool, input } = turn.call;
    const call = { index: 0, id: `call_${id}`, type: "function" };
    yield chunk({
      tool_calls: [{ ...call, function: { name: tool.name, arguments: "" } }],
    });
    yield chunk({
      tool_calls: [{
        index: 0,
        function: { arguments: JSON.stringify(input) },
      }],
    });
  }
  yield chunk({}, turn.call === undefined ? "stop" : "tool_calls");
  const { usage } = turn;
  yield {
    value: {
      ...envelope(request),
      choices: [],
      usage: {
        prompt_tokens: usage.input + usage.cacheRead,
        completion_tokens: usage.output,
        total_tokens: usage.input + usage.cacheRead + usage.output,
        prompt_tokens_details: { cached_tokens: usage.cacheRead },
      },
    },
  };
}

export const chatOverload: ScriptedEvent = {
  value: {
    error: {
      message: "The server is overloaded",
      type: "server_error",
      code: null,
    },
  },
};

function envelope(request: ScriptedRequest): JsonObject {
  return {
    id: `chatcmpl-scripted-${request.toolResults}`,
    object: "chat.completion.chunk",
    created: 1_790_000_000,
    model: request.model,
  };
}
