/** Writes tools and tool choice as Chat fields. */
import type { JsonObject } from "../../json.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../conversation.ts";
import type { ResolvedFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import { functionParameters } from "../json_schema.ts";
import type { Notes } from "../notes.ts";

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
export function encodeChatTools(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type === "hosted") encodeHosted(tool, conversation.toolChoice, facts, notes, body);
    else tools.push(encodeTool(tool, facts, notes));
  }
  if (tools.length === 0) return;
  body.tools = tools;
  if (conversation.toolChoice !== undefined) {
    body.tool_choice = encodeChoice(conversation.toolChoice, conversation.tools, facts, notes);
  }
  if (conversation.parallelTools !== false) return;
  if (facts.parallel_flag) body.parallel_tool_calls = false;
  else notes.add(parallelPath(conversation));
}

function parallelPath(conversation: Conversation): string {
  return conversation.from === "messages"
    ? "tool_choice.disable_parallel_tool_use"
    : "parallel_tool_calls";
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject {
  if (tool.cache !== undefined) notes.add(`${tool.path}.cache_control`);
  const named = {
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
  };
  if (tool.type === "custom") {
    return { type: "custom", custom: { ...named, ...customFormat(tool.format) } };
  }
  const strict = tool.strict !== undefined && facts.strict_tools ? { strict: tool.strict } : {};
  if (tool.strict === true && !facts.strict_tools) notes.add(`${tool.path}.strict`);
  const parameters = functionParameters(tool.schema);
  return { type: "function", function: { ...named, parameters, ...strict } };
}

/** Chat nests the grammar one level deeper than the flat form of the conversation. */
function customFormat(format: JsonObject | undefined): JsonObject {
  if (format === undefined) return {};
  if (format.type !== "grammar") return { format };
  const { type, ...grammar } = format;
  return { format: { type, grammar } };
}

function encodeHosted(
  tool: HostedTool,
  choice: ToolChoice | undefined,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  if (tool.runs === "client") {
    refuse(tool.path, `${tool.kind} has a schema that only its own provider knows`);
  }
  if (choice?.type === "tool" && (choice.name === tool.name || choice.name === tool.kind)) {
    refuse(choice.path, `${tool.kind} runs only at its own provider`);
  }
  notes.add(tool.path);
  if (tool.kind.startsWith("web_search") && facts.extra_fields.includes("web_search_options")) {
    body.web_search_options = {};
  }
}

function encodeChoice(
  choice: ToolChoice,
  tools: readonly Tool[],
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject | string {
  if (choice.type === "auto" || choice.type === "none") return choice.type;
  if (!facts.tool_choice_required) {
    notes.add(choice.path);
    return "auto";
  }
  if (choice.type !== "tool") return "required";
  const custom = tools.some((tool) => tool.type === "custom" && tool.name === choice.name);
  return custom
    ? { type: "custom", custom: { name: choice.name } }
    : { type: "function", function: { name: choice.name } };
}
