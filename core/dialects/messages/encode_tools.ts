/** Writes tools and tool choice as Messages fields. */
import type { JsonObject } from "../../json.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../conversation/mod.ts";
import type { ResolvedFacts } from "../facts.ts";
import { allowsStrictMessages } from "../json_schema.ts";
import type { Notes } from "../notes.ts";
import { carriedChoice, dropHostedTool, noteIdleChoice } from "../tool_fields.ts";
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
    if (tool.type === "hosted") dropHostedTool(tool, conversation, notes);
    else tools.push(encodeTool(tool, facts, writer));
  }
  if (tools.length === 0) return noteIdleChoice(conversation.toolChoice, notes);
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

function encodeChoice(
  wish: ToolChoice | undefined,
  facts: ResolvedFacts,
  notes: Notes,
): JsonObject | undefined {
  if (wish === undefined) return undefined;
  const choice = carriedChoice(wish, facts, notes);
  if (choice.type === "tool") return { type: "tool", name: choice.name };
  return { type: choice.type === "required" ? "any" : choice.type };
}
