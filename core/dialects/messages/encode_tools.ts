/** Writes tools and tool choice as Messages fields. */
import type { JsonObject } from "../../json.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../conversation.ts";
import type { ResolvedFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import { allowsStrictMessages } from "../json_schema.ts";
import type { Notes } from "../notes.ts";
import type { BlockWriter } from "./encode_blocks.ts";

/** Adds `tools` and `tool_choice` to the body. */
export function encodeMessagesTools(
  conversation: Conversation,
  facts: ResolvedFacts,
  writer: BlockWriter,
  notes: Notes,
  body: JsonObject,
): void {
  const tools: JsonObject[] = [];
  for (const tool of conversation.tools) {
    if (tool.type === "hosted") dropHosted(tool, conversation.toolChoice, notes);
    else tools.push(encodeTool(tool, facts, writer));
  }
  if (tools.length === 0) return;
  body.tools = tools;
  const choice = encodeChoice(conversation.toolChoice, facts, notes);
  const single = conversation.parallelTools === false;
  if (single && !facts.parallel_flag) notes.add("parallel_tool_calls");
  if (single && facts.parallel_flag && choice?.type !== "none") {
    body.tool_choice = { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true };
  } else if (choice !== undefined) {
    body.tool_choice = choice;
  }
}

function encodeTool(
  tool: Exclude<Tool, HostedTool>,
  facts: ResolvedFacts,
  writer: BlockWriter,
): JsonObject {
  const schema = tool.type === "function" ? tool.schema : undefined;
  const inputSchema = schema ?? { type: "object", properties: {} };
  // A schema that the vendor's grammar cannot hold is still a good schema: it is only not enforced.
  const strict = tool.type === "function" && tool.strict === true && facts.strict_tools &&
    allowsStrictMessages(inputSchema);
  return {
    name: tool.name,
    ...(tool.description === undefined ? {} : { description: tool.description }),
    input_schema: inputSchema,
    ...(strict ? { strict } : {}),
    ...writer.mark(tool),
  };
}

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
  choice: ToolChoice | undefined,
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (choice.type === "auto" || choice.type === "none") return { type: choice.type };
  if (!facts.tool_choice_required) {
    notes.add(choice.path);
    return { type: "auto" };
  }
  return choice.type === "tool" ? { type: "tool", name: choice.name } : { type: "any" };
}
