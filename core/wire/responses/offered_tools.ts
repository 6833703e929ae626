/**
 * Where a Responses request offers tools: in `tools`, and in items that bring more of them later. The other styles have
 * one list, so all of them stand there.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { optionalList, requiredObject } from "../fields/fields.ts";
import { type NameOf, naming, type ToolKey } from "./tool_groups.ts";
import { defined } from "../../lib/defined.ts";

/** An entry of one of the lists. */
export interface OfferedTool {
  readonly tool: JsonObject;
  readonly path: string;
}

/** The tools of a Responses request, by which the calls of its answer are read. */
export interface OfferedTools {
  readonly tools: readonly OfferedTool[];
  readonly nameOf: NameOf;
}

/**
 * All tools of a request, and how they are called where there is one list of them.
 *
 * @throws {GatewayError} `invalid_request` for a list that is none
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

/** A search that its vendor ran found only what `tools` holds anyway. */
function bringsTools(item: JsonObject): boolean {
  return item["type"] === "additional_tools" || isClientSearch(item, "tool_search_output");
}

/** The caller's own search for tools, as a tool, a call or what it found. By default the vendor runs it. */
export function isClientSearch(
  value: JsonObject,
  type: "tool_search" | "tool_search_call" | "tool_search_output",
): boolean {
  return value["type"] === type && value["execution"] === "client";
}

/** Entries of the member `tools`. */
export function listed(holder: JsonObject, path: string): OfferedTool[] {
  return (optionalList(holder, "tools", path) ?? []).map((tool, i) => ({
    tool: requiredObject(tool, `${path}.${i}`),
    path: `${path}.${i}`,
  }));
}

/** What a tool, or each of a group, is told apart by. Wrong shapes are told when the tool itself is read. */
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
