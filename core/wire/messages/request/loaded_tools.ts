/**
 * Decides which tools of a Messages request its model may call at the end of the conversation. The vendor keeps tools
 * with `defer_loading` out of the prompt until a search refers to them, and lets instructions in the conversation add
 * tools and remove them; every other style has one list. Where the vendor itself would run the search, all tools are in the list.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  optionalList,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";

/** A declared tool, and where it is declared. */
interface DeclaredTool {
  readonly tool: JsonObject;
  readonly path: string;
}

/** The types of the blocks that change the list. */
const toolChanges = ["tool_addition", "tool_removal"] as const;

type ToolChange = typeof toolChanges[number];

/** The tools of a request. */
export interface LoadedTools {
  /** Those that the model may call, in the order of their declarations. */
  readonly tools: readonly DeclaredTool[];
  /** The names of all that are declared. */
  readonly names: ReadonlySet<Json | undefined>;
}

/**
 * Reads which tools the model may call.
 *
 * @throws {GatewayError} `invalid_request` for a change that names no tool
 *
 * @example
 * ```ts
 * import { loadedTools } from "./loaded_tools.ts";
 * const later = { name: "later", input_schema: {}, defer_loading: true };
 * const found = { type: "tool_result", tool_use_id: "t", content: [{ type: "tool_reference", tool_name: "later" }] };
 * const before = loadedTools({ tools: [later], messages: [] });
 * const after = loadedTools({ tools: [later], messages: [{ role: "user", content: [found] }] });
 * if (before.tools.length !== 0 || after.tools.length !== 1) throw new Error("loaded too early, or never");
 * ```
 */
export function loadedTools(body: JsonObject): LoadedTools {
  const list = (optionalList(body, "tools", "tools") ?? [])
    .map((value, i) => requiredObject(value, `tools.${i}`));
  const isVendorSearched = list.some(isVendorSearch);
  const declared: (DeclaredTool & { isOffered: boolean })[] = list.map((tool, i) => ({
    tool,
    path: `tools.${i}`,
    isOffered: isVendorSearched || tool["defer_loading"] !== true,
  }));
  const set = (name: Json | undefined, isOffered: boolean) => {
    for (const entry of declared) if (entry.tool["name"] === name) entry.isOffered = isOffered;
  };
  const { messages, tool_choice: choice } = body;
  if (Array.isArray(messages)) {
    for (const { block, path } of toolBlocks(messages, "messages")) {
      const change = changeOf(block, path);
      if (change === undefined) {
        // A search found it, or the model has called it: it was loaded then.
        set(block["type"] === "tool_reference" ? block["tool_name"] : block["name"], true);
      } else if (change.definition === undefined) {
        set(change.name, change.type === "tool_addition");
      } else {
        const { name, definition } = change;
        const entry = { tool: definition, path: `${path}.tool.definition`, isOffered: true };
        const known = declared.findIndex(({ tool }) => tool["name"] === name);
        if (known === -1) declared.push(entry);
        else declared[known] = entry;
      }
    }
  }
  if (isJsonObject(choice) && choice["type"] === "tool") set(choice["name"], true);
  return {
    tools: declared.filter(({ isOffered }) => isOffered),
    names: new Set(declared.map(({ tool }) => tool["name"])),
  };
}

/** Whether a tool is the vendor's own search, without which no other model could find the tools that wait for it. */
function isVendorSearch({ type }: JsonObject): boolean {
  return typeof type === "string" && type.startsWith("tool_search_tool_");
}

/** Whether a block only changes the list, and names a tool that is declared. */
export function isAppliedChange(block: JsonObject, names: LoadedTools["names"]): boolean {
  const { type, tool } = block;
  if (!isToolChange(type) || !isJsonObject(tool)) return false;
  return tool["type"] === "tool_definition" || names.has(tool["name"]);
}

/** What a block changes; `undefined` for a block of another type. */
function changeOf(block: JsonObject, path: string): {
  readonly type: ToolChange;
  readonly name: string;
  readonly definition?: JsonObject;
} | undefined {
  const type = toolChanges.find((change) => change === block["type"]);
  if (type === undefined) return undefined;
  const tool = requiredObject(block["tool"], `${path}.tool`);
  if (optionalString(tool, "type", `${path}.tool.type`) !== "tool_definition") {
    return { type, name: requiredString(tool, "name", `${path}.tool.name`) };
  }
  const definition = requiredObject(tool["definition"], `${path}.tool.definition`);
  return {
    type,
    name: requiredString(definition, "name", `${path}.tool.definition.name`),
    definition,
  };
}

/** Yields the blocks that say something about the list, also those within results, in their order. */
function* toolBlocks(
  list: readonly Json[],
  at: string,
): Generator<{ readonly block: JsonObject; readonly path: string }> {
  for (const [i, value] of list.entries()) {
    if (!isJsonObject(value)) continue;
    const path = `${at}.${i}`;
    const { type, content, tool_references: found } = value;
    if (type === "tool_use" || type === "tool_reference" || isToolChange(type)) {
      yield { block: value, path };
      continue;
    }
    // Messages and results have a list, the result of the vendor's own search an object with one.
    const inner = isJsonObject(content) ? [content] : content;
    if (Array.isArray(inner)) yield* toolBlocks(inner, `${path}.content`);
    if (Array.isArray(found)) yield* toolBlocks(found, `${path}.tool_references`);
  }
}

function isToolChange(type: Json | undefined): boolean {
  return toolChanges.some((change) => change === type);
}
