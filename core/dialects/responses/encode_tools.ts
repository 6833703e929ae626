/** Writes tools and tool choice as Responses fields. */
import type { JsonObject } from "../../json.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../conversation.ts";
import type { ResolvedFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import { allowsStrictChat, functionParameters } from "../json_schema.ts";
import type { Notes } from "../notes.ts";

/** Adds `tools`, `tool_choice` and `parallel_tool_calls` to the body. */
export function encodeResponsesTools(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type === "hosted") dropHosted(tool, conversation.toolChoice, notes);
    else tools.push(encodeTool(tool, facts, notes));
  }
  if (tools.length === 0) return;
  body["tools"] = tools;
  if (conversation.toolChoice !== undefined) {
    body["tool_choice"] = encodeChoice(conversation.toolChoice, conversation.tools, facts, notes);
  }
  if (conversation.parallelTools !== false) return;
  if (facts.parallel_flag) {
    body["parallel_tool_calls"] = false;
  } else {
    notes.add(
      conversation.from === "messages"
        ? "tool_choice.disable_parallel_tool_use"
        : "parallel_tool_calls",
    );
  }
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject {
  if (tool.cache !== undefined) notes.add(`${tool.path}.cache_control`);
  const named = {
    type: tool.type,
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
  };
  if (tool.type === "custom") {
    return { ...named, ...(tool.format === undefined ? {} : { format: tool.format }) };
  }
  const parameters = functionParameters(tool.schema);
  // Said always: this vendor's default is strict, which would make every optional argument required.
  const strict = tool.strict === true && facts.strict_tools && allowsStrictChat(parameters);
  if (tool.strict === true && !strict) notes.add(`${tool.path}.strict`);
  return { ...named, parameters, strict };
}

/** The vendor of a hosted tool runs it, or knows its schema; another vendor does neither. */
function dropHosted(tool: HostedTool, choice: ToolChoice | undefined, notes: Notes): void {
  if (tool.runs === "client") {
    refuse(tool.path, `${tool.kind} has a schema that only its own provider knows`);
  }
  if (choice?.type === "tool" && (choice.name === tool.name || choice.name === tool.kind)) {
    refuse(choice.path, `${tool.kind} runs only at its own provider`);
  }
  notes.add(tool.path);
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
  return { type: custom ? "custom" : "function", name: choice.name };
}
