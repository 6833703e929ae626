/** Counts hosted tools in a Messages answer by their results; a search that failed is not billed. */
import type { CountedTool } from "../../../billing/usage/hosted_tools.ts";
import { isJsonObject, type Json } from "../../../lib/json/json.ts";
import type { ToolUseCount } from "../../tools/tool_uses.ts";

const toolOfResult: ReadonlyMap<string, CountedTool> = new Map([
  ["web_search_tool_result", "web_search"],
  ["web_fetch_tool_result", "web_fetch"],
  ["code_execution_tool_result", "code_execution"],
  ["bash_code_execution_tool_result", "code_execution"],
  ["text_editor_code_execution_tool_result", "code_execution"],
]);

/** Enters a content block. */
export function countBlockUse(count: ToolUseCount, block: Json | undefined): void {
  if (!isJsonObject(block) || typeof block["type"] !== "string") return;
  const tool = toolOfResult.get(block["type"]);
  if (tool === undefined) return;
  const { content } = block;
  const failed = isJsonObject(content) && String(content["type"]).endsWith("_error");
  if (!failed) count.saw(tool);
}
