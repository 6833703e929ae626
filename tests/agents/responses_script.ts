/** The scripted model in the Responses style. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { objects, words } from "./messages_script.ts";
import type { ScriptedEvent, ScriptedRequest, ScriptedTurn } from "./scripted_turn.ts";

export function readResponses(body: JsonObject): ScriptedRequest {
  const items = objects(body["input"]);
  return {
    body,
    model: String(body["model"]),
    stream: body["stream"] === true,
    thinks: true,
    tools: objects(body["tools"]).flatMap((tool) => {
      const { type } = tool;
      const freeform = type === "custom";
      return freeform || type === "function" ? [{ name: String(tool["name"]), freeform }] : [];
    }),
    toolResults: items.filter((item) => String(item["type"]).endsWith("_call_output"))
      .length,
  };
}

export function* responsesEvents(
  request: ScriptedRequest,
  turn: ScriptedTurn,
): Generator<ScriptedEvent> {
  let sequence = 0;
  const event = (type: string, rest: JsonObject): ScriptedEvent => ({
    name: type,
    value: { type, sequence_number: sequence++, ...rest },
  });
  const output: JsonObject[] = [];
  const begun = envelope(request, "in_progress", output);
  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  for (const item of itemsOf(request, turn)) {
    const at = { output_index: output.length };
    yield event("response.output_item.added", { ...at, item: item.added });
    for (const [type, rest] of item.events) {
      yield event(type, { ...at, item_id: String(item.done["id"]), ...rest });
    }
    yield event("response.output_item.done", { ...at, item: item.done });
    output.push(item.done);
  }
  const { usage } = turn;
  const tokens = {
    input_tokens: usage.input + usage.cacheRead,
    input_tokens_details: { cached_tokens: usage.cacheRead },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.input + usage.cacheRead + usage.output,
  };
  const response = { ...envelope(request, "completed", output), usage: tokens };
  yield event("response.completed", { response });
}

export const responsesOverload: ScriptedEvent = {
  name: "error",
  value: {
    type: "error",
    sequence_number: 99,
    code: "server_error",
    message: "The server is overloaded",
    param: null,
  },
};

interface ScriptedItem {
  readonly added: JsonObject;
  readonly events: readonly (readonly [type: string, rest: JsonObject])[];
  readonly done: JsonObject;
}

function* itemsOf(
  request: ScriptedRequest,
  turn: ScriptedTurn,
): Generator<ScriptedItem> {
  const step = request.toolResults;
  if (turn.thinking !== "") yield reasoningItem(step, turn.thinking);
  if (turn.text !== "") yield messageItem(step, turn.text);
  if (turn.call !== undefined) yield callItem(turn.call);
}

function reasoningItem(step: number, text: string): ScriptedItem {
  const item = { id: `rs_scripted_${step}`, type: "reasoning" };
  const part = { type: "summary_text", text };
  const at = { summary_index: 0 };
  return {
    added: { ...item, summary: [], encrypted_content: "" },
    events: [
      ["response.reasoning_summary_part.added", {
        ...at,
        part: { ...part, text: "" },
      }],
      ["response.reasoning_summary_text.delta", { ...at, delta: text }],
      ["response.reasoning_summary_text.done", { ...at, text }],
      ["response.reasoning_summary_part.done", { ...at, part }],
    ],
    done: {
      ...item,
      summary: [part],
      encrypted_content: btoa(`scripted reasoning ${step}`),
    },
  };
}

function messageItem(step: number, text: string): ScriptedItem {
  const item = {
    id: `msg_scripted_${step}`,
    type: "message",
    role: "assistant",
  };
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  const at = { content_index: 0 };
  return {
    added: { ...item, status: "in_progress", content: [] },
    events: [
      ["response.content_part.added", { ...at, part: { ...part, text: "" } }],
      ...words(text).map((delta): [string, JsonObject] => [
        "response.output_text.delta",
        { ...at, delta, logprobs: [] },
      ]),
      ["response.output_text.done", { ...at, text, logprobs: [] }],
      ["response.content_part.done", { ...at, part }],
    ],
    done: { ...item, status: "completed", content: [part] },
  };
}

function callItem(
  { id, tool, input }: NonNullable<ScriptedTurn["call"]>,
): ScriptedItem {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  const [kind, member] = tool.freeform
    ? ["custom_tool_call", "input"]
    : ["function_call", "arguments"];
  const events = tool.freeform ? "custom_tool_call_input" : "function_call_arguments";
  const item = {
    id: `${tool.freeform ? "ctc" : "fc"}_${id}`,
    type: kind!,
    call_id: `call_${id}`,
    name: tool.name,
  };
  return {
    added: { ...item, status: "in_progress", [member!]: "" },
    events: [
      [`response.${events}.delta`, { delta: text }],
      [`response.${events}.done`, { [member!]: text }],
    ],
    done: { ...item, status: "completed", [member!]: text },
  };
}

function envelope(
  request: ScriptedRequest,
  status: string,
  output: readonly JsonObject[],
): JsonObject {
  return {
    id: `resp_scripted_${request.toolResults}`,
    object: "response",
    created_at: 1_790_000_000,
    status,
    model: request.model,
    output: [...output],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    usage: null,
    store: false,
  };
}
