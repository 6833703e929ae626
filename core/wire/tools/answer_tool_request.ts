/** Asks for the structured answer through a tool, for models without another way; `answer_tool.ts` reads the answer. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Conversation, ToolChoice } from "../conversation/mod.ts";
import type { Warnings } from "../contract/warnings.ts";

/** Name of the tool whose arguments are the structured answer. */
export const answerTool = "structured_answer";

/**
 * Adds a tool whose arguments are the answer. The model must call it, or any tool if the client has tools of its own;
 * only once, if the route can limit it.
 */
export function withAnswerTool(
  conversation: Conversation,
  schema: JsonObject,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): Conversation {
  const path = conversation.output?.path ?? "response_format";
  const toolChoice = answerChoice(conversation, path);
  // The client let the model choose, which it no longer can.
  if (toolChoice.type === "required" && conversation.toolChoice?.type === "auto") {
    warnings.add(conversation.toolChoice.path);
  }
  const onlyAnswer = toolChoice.type === "tool" && toolChoice.name === answerTool;
  const tool = {
    type: "function" as const,
    path,
    name: answerTool,
    description: "Give your final answer by calling this tool.",
    schema,
  };
  return {
    ...conversation,
    tools: [...conversation.tools, tool],
    toolChoice,
    ...(onlyAnswer && capabilities.parallel_flag ? { parallelTools: false } : {}),
  };
}

function answerChoice({ tools, toolChoice }: Conversation, path: string): ToolChoice {
  if (toolChoice?.type === "tool") return toolChoice;
  // Hosted tools are dropped on the way to another vendor.
  const hasOwn = tools.some((tool) => tool.type !== "hosted") && toolChoice?.type !== "none";
  return hasOwn ? { type: "required", path } : { type: "tool", name: answerTool, path };
}
