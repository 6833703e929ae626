/** The scripted model in the Messages style. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import {
  type ScriptedEvent,
  type ScriptedRequest,
  type ScriptedTurn,
  signatureOf,
} from "./scripted_turn.ts";

export function readMessages(body: JsonObject): ScriptedRequest {
  const tools = objects(body["tools"]).filter((tool) => isJsonObject(tool["input_schema"]));
  const blocks = objects(body["messages"]).flatMap((message) => objects(message["content"]));
  const { thinking } = body;
  return {
    body,
    model: String(body["model"]),
    stream: body["stream"] === true,
    thinks: isJsonObject(thinking) && thinking["type"] !== "disabled",
    tools: tools.map((tool) => ({
      name: String(tool["name"]),
      freeform: false,
    })),
    toolResults: blocks.filter((block) => block["type"] === "tool_result").length,
  };
}

/**
 * What the vendor refuses in a loop with thinking: a thinking block that it has not signed and, with a budget, a last
 * assistant turn that does not begin with one. With adaptive thinking a turn may have none.
 */
export function messagesProofRefusal(
  { body, thinks, toolResults }: ScriptedRequest,
) {
  if (!thinks || toolResults === 0) return undefined;
  const { thinking } = body;
  const last = objects(body["messages"]).findLast((message) => message["role"] === "assistant");
  const [first] = objects(last?.["content"]);
  if (first?.["type"] !== "thinking") {
    return isJsonObject(thinking) && thinking["type"] === "enabled"
      ? "messages: Expected `thinking` or `redacted_thinking` to begin the final assistant message"
      : undefined;
  }
  // The last turn of the assistant called the tool whose result came last, or it answered after that.
  return [toolResults - 1, toolResults].some((step) => first["signature"] === signatureOf(step))
    ? undefined
    : "messages: Invalid `signature` in `thinking` block";
}

export function* messagesEvents(
  request: ScriptedRequest,
  turn: ScriptedTurn,
): Generator<ScriptedEvent> {
  const { usage } = turn;
  const input = {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation_input_tokens: 0,
  };
  yield event("message_start", {
    message: {
      id: `msg_scripted_${request.toolResults}`,
      type: "message",
      role: "assistant",
      model: request.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...input, output_tokens: 1 },
    },
  });
  let index = 0;
  if (request.thinks && turn.thinking !== "") {
    yield* block(index++, { type: "thinking", thinking: "", signature: "" }, [
      { type: "thinking_delta", thinking: turn.thinking },
      { type: "signature_delta", signature: signatureOf(request.toolResults) },
    ]);
  }
  if (turn.text !== "") {
    const deltas = words(turn.text).map((text) => ({
      type: "text_delta",
      text,
    }));
    yield* block(index++, { type: "text", text: "" }, deltas);
  }
  if (turn.call !== undefined) {
    const { id, tool, input } = turn.call;
    yield* block(index++, {
      type: "tool_use",
      id: `toolu_${id}`,
      name: tool.name,
      input: {},
    }, [
      { type: "input_json_delta", partial_json: JSON.stringify(input) },
    ]);
  }
  yield event("message_delta", {
    delta: {
      stop_reason: turn.call === undefined ? "end_turn" : "tool_use",
      stop_sequence: null,
    },
    usage: { ...input, output_tokens: usage.output },
  });
  yield event("message_stop", {});
}

export const messagesOverload: ScriptedEvent = {
  name: "error",
  value: {
    type: "error",
    error: { type: "overloaded_error", message: "Overloaded" },
  },
};

function event(name: string, rest: JsonObject): ScriptedEvent {
  return { name, value: { type: name, ...rest } };
}

function* block(
  index: number,
  start: JsonObject,
  deltas: readonly JsonObject[],
): Generator<ScriptedEvent> {
  yield event("content_block_start", { index, content_block: start });
  for (const delta of deltas) {
    yield event("content_block_delta", { index, delta });
  }
  yield event("content_block_stop", { index });
}

/** The words of a text, each with the space after it. */
export function words(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** The objects of a list; an empty list for anything else. */
export function objects(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
