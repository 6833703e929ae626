/** Writes tools and tool choice as `toolConfig`. */
import { noneUnhandled } from "../../lib/base/every_member.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { ConversionOptions } from "../contract/contract.ts";
import type { Conversation, FunctionTool, Placed, ToolChoice } from "../conversation/mod.ts";
import { allowsStrictMessages } from "../tools/schemas/json_schema.ts";
import {
  carriedChoice,
  carriedHosted,
  parallelPath,
  strictPath,
  warnOfIdleChoice,
} from "../tools/tool_fields.ts";
import type { Warnings } from "../contract/warnings.ts";
import type { BlockWriter } from "./encode_blocks.ts";

// What becomes of each member of a tool here. A new member does not compile until it has a row.
noneUnhandled<
  Exclude<
    keyof FunctionTool,
    keyof Placed | "type" | "name" | "description" | "schema" | "strict" | "strictPath"
  >
>();

/**
 * Returns `toolConfig`; `undefined` if the model may call no tool. The style cannot forbid calls otherwise, so a choice
 * of none leaves the tools out.
 */
export function encodeConverseTools(
  conversation: Pick<Conversation, "from" | "tools" | "toolChoice" | "parallelTools">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  writer: BlockWriter,
  warnings: Warnings,
): JsonObject | undefined {
  // The vendor's system tools are others.
  carriedHosted(conversation, options, warnings, () => false);
  // Free-text tools are functions by now: the style has none.
  const functions = conversation.tools.filter((tool) => tool.type === "function");
  const { toolChoice } = conversation;
  if (functions.length === 0) {
    warnOfIdleChoice(toolChoice, warnings);
    return undefined;
  }
  if (conversation.parallelTools === false) warnings.add(parallelPath(conversation));
  if (toolChoice?.type === "none") {
    warnings.add("tools");
    return undefined;
  }
  const tools = functions.flatMap((tool) => [
    { toolSpec: encodeFunction(tool, capabilities, warnings) },
    ...writer.mark(tool),
  ]);
  const choice = toolChoice === undefined
    ? undefined
    : encodeChoice(carriedChoice(toolChoice, capabilities, warnings));
  return { tools, ...(choice === undefined ? {} : { toolChoice: choice }) };
}

function encodeFunction(
  tool: FunctionTool,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): JsonObject {
  const { name, description } = tool;
  const schema = tool.schema ?? { type: "object", properties: {} };
  const isStrict = tool.strict === true && capabilities.strict_tools &&
    allowsStrictMessages(schema);
  if (tool.strict === true && !isStrict) warnings.add(strictPath(tool));
  return {
    name,
    // An empty one is refused.
    ...(description === undefined || description === "" ? {} : { description }),
    inputSchema: { json: schema },
    ...(isStrict ? { strict: true } : {}),
  };
}

function encodeChoice(choice: ToolChoice): JsonObject | undefined {
  switch (choice.type) {
    case "auto":
      return { auto: {} };
    case "required":
      return { any: {} };
    case "tool":
      return { tool: { name: choice.name } };
    case "none":
      return undefined;
  }
}
