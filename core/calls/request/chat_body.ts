/**
 * Reads what agents send to the Chat endpoint in the form of another style: Cursor's requests have the `input` and the
 * tools of Responses, with or without members of Chat, and are answered as Chat.
 */
import { isJsonObject, type Json, type JsonObject, type Outline } from "../../lib/json/json.ts";
import { defined } from "../../lib/base/defined.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { maxOutputTokensOfCall } from "../../billing/tokens/limits.ts";
import { chatFields } from "../../wire/chat/request/decode_request.ts";
import { responsesFields } from "../../wire/responses/request/known_fields.ts";
import type { RouteCapabilities } from "../../wire/contract/contract.ts";
import { convertRequest } from "../../wire/convert/convert.ts";
import type { JsonBody } from "../body/outlined_body.ts";
import { parseJsonBody } from "../body/json_body.ts";

/** A body in the form of the Chat style. */
export interface ChatBody {
  readonly body: JsonBody;
  /** Fields that were sent in another form and that Chat has no place for. */
  readonly dropped: readonly string[];
}

/** Chat as its vendor defines it: what a route cannot carry is decided when the route is chosen. */
const wholeChat: RouteCapabilities = {
  custom_tools: true,
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  tool_id: "any",
  tool_name_max: 256,
  stop_max: 1024,
};

/**
 * Brings a body into the form of the Chat style; one that has it is returned as it is.
 *
 * @throws {GatewayError} `invalid_request` or `conversion_refused` for items that Chat cannot express
 *
 * @example
 * ```ts
 * import { chatBody } from "./chat_body.ts";
 * import { parseJsonBody } from "../body/json_body.ts";
 * const sent = parseJsonBody(new TextEncoder().encode('{"model":"m","input":"Hi","stream":true}'));
 * const { body } = chatBody(sent);
 * if (JSON.stringify(body.value["messages"]) !== '[{"role":"user","content":"Hi"}]') {
 *   throw new Error(JSON.stringify(body.value));
 * }
 * ```
 */
export function chatBody(sent: JsonBody): ChatBody {
  const { outline } = sent;
  if (isAbsent(outline["messages"]) && !isAbsent(outline["input"])) return ofInput(sent.value);
  const { tools } = outline;
  const isOther = Array.isArray(tools) && tools.some(isFlat);
  return isOther ? { body: bodyOf(withNestedTools(sent.value)), dropped: [] } : {
    body: sent,
    dropped: [],
  };
}

function isAbsent(value: Outline | undefined): boolean {
  return value === undefined || value === null;
}

function bodyOf(value: JsonObject): JsonBody {
  return parseJsonBody(new TextEncoder().encode(stringifyExactly(value)));
}

/** Converts a request with `input`. Members that only Chat has are not part of the conversion. */
function ofInput(value: JsonObject): ChatBody {
  const converted: JsonObject = {};
  const own: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "stream_options" || (name in chatFields && !(name in responsesFields))) {
      own[name] = member;
    } else converted[name] = member;
  }
  const { messages: _, ...ofChat } = own;
  const { tools, tool_choice: choice } = converted;
  if (Array.isArray(tools)) converted["tools"] = tools.map(flatTool);
  if (isJsonObject(choice)) converted["tool_choice"] = flatTool(choice);
  const conversion = convertRequest("responses", "chat", converted, {
    capabilities: wholeChat,
    upstreamModel: typeof value["model"] === "string" ? value["model"] : "",
    maxOutputTokens: maxOutputTokensOfCall,
  });
  if (!conversion.ok) throw conversion.error;
  const { body: { stream_options: _usage, ...chat }, dropped } = conversion.request;
  return { body: bodyOf({ ...chat, ...ofChat }), dropped };
}

/** Whether a tool is declared as in Responses or Messages: its name is beside its type. */
function isFlat(tool: Outline): boolean {
  if (!isJsonObject(tool) || typeof tool["name"] !== "string") return false;
  const { type = "function" } = tool;
  return (type === "function" || type === "custom") && !isJsonObject(tool[type]);
}

function withNestedTools(value: JsonObject): JsonObject {
  const { tools, tool_choice: choice } = value;
  return {
    ...value,
    ...(Array.isArray(tools) && { tools: tools.map(nestedTool) }),
    ...(isJsonObject(choice) && { tool_choice: nestedTool(choice) }),
  };
}

/** Moves the declaration of a tool, or the name of a chosen one, into the member that Chat has for its type. */
function nestedTool(tool: Json): Json {
  if (!isJsonObject(tool) || !isFlat(tool)) return tool;
  const { type, name, description, format, parameters, input_schema: schema, strict, ...rest } =
    tool;
  const declared = defined({ name, description });
  if (type === "custom" && schema === undefined) {
    return { ...rest, type, custom: { ...declared, ...defined({ format: nestedFormat(format) }) } };
  }
  return {
    ...rest,
    type: "function",
    function: { ...declared, ...defined({ parameters: parameters ?? schema, strict }) },
  };
}

function nestedFormat(format: Json | undefined): Json | undefined {
  if (!isJsonObject(format) || format["type"] !== "grammar") return format;
  if (isJsonObject(format["grammar"])) return format;
  const { type, ...grammar } = format;
  return { type, grammar };
}

function flatTool(tool: Json): Json {
  if (!isJsonObject(tool)) return tool;
  const { type = "function" } = tool;
  const inner = type === "function" || type === "custom" ? tool[type] : undefined;
  if (!isJsonObject(inner)) return tool;
  const { function: _function, custom: _custom, ...rest } = tool;
  return { ...rest, type, ...inner };
}
