/**
 * Collects the tools of a Responses request, from `tools` and from items that add more later. The other styles have one
 * list for all of them.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { optionalList, requiredObject } from "../../fields/fields.ts";
import { type NameOf, naming, type ToolKey } from "../items/tool_groups.ts";
import { defined } from "../../../lib/base/defined.ts";

/** An entry of one of the lists. */
export interface OfferedTool {
  readonly tool: JsonObject;
  readonly path: string;
}

/** All tools of a Responses request, and the names of their calls. */
export interface OfferedTools {
  readonly tools: readonly OfferedTool[];
  readonly nameOf: NameOf;
}

/**
 * Collects all tools of a request, with their names in a single list.
 *
 * @throws {GatewayError} `invalid_request` if a list is not one
 */
export function offeredTools(body: JsonObject): OfferedTools {
  const tools = listed(body, "tools");
  const input = body["input"];
  if (Array.isArray(input)) {
    input.forEach((item, i) => {
      if (isJsonObject(item) && bringsTools(item)) tools.push(...listed(item, `input.${i}.tools`));
    });
  }
  return { tools, nameOf: naming(tools.flatMap(({ tool }) => keysOf(tool))) };
}

/** Whether an item adds tools. A search that the vendor ran does not: it finds only tools that are in `tools`. */
function bringsTools(item: JsonObject): boolean {
  return item["type"] === "additional_tools" || isClientSearch(item, "tool_search_output");
}

/** Whether a tool, call or result belongs to the caller's own search for tools. By default the vendor runs it. */
export function isClientSearch(
  value: JsonObject,
  type: "tool_search" | "tool_search_call" | "tool_search_output",
): boolean {
  return value["type"] === type && value["execution"] === "client";
}

/** Returns the entries of the member `tools`. */
export function listed(holder: JsonObject, path: string): OfferedTool[] {
  return (optionalList(holder, "tools", path) ?? []).map((tool, i) => ({
    tool: requiredObject(tool, `${path}.${i}`),
    path: `${path}.${i}`,
  }));
}

/** Returns what identifies a tool, or each tool of a group. Wrong shapes are reported when the tool is read. */
export function keysOf(tool: JsonObject): ToolKey[] {
  const name = text(tool["name"]);
  if (tool["type"] !== "namespace") return name === undefined ? [] : [{ name }];
  const inner = Array.isArray(tool["tools"]) ? tool["tools"] : [];
  return inner.flatMap((one) => {
    const own = isJsonObject(one) ? text(one["name"]) : undefined;
    return own === undefined ? [] : [{ ...defined({ group: name }), name: own }];
  });
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
