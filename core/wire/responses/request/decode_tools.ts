/** Reads tools and tool choice of a Responses request. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { GroupedName } from "../../contract/contract.ts";
import type { Conversation, Tool, ToolChoice } from "../../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { readAllowedMode, readChoiceWord } from "../../tools/tool_fields.ts";
import { readHostedToolRequest } from "../../tools/hosted_tools.ts";
import {
  keyText,
  type NameOf,
  naming,
  searchToolName,
  type ToolKey,
} from "../items/tool_groups.ts";
import { defined } from "../../../lib/base/defined.ts";

// Collects the tools of a Responses request, from `tools` and from items that add more later. The other styles have one
// list for all of them.

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

/**
 * Reads the tools that the model may call, and the tool choice.
 *
 * @param offered all tools of the request
 */
export function decodeResponsesTools(
  body: JsonObject,
  { tools: given, nameOf }: OfferedTools,
): Pick<Conversation, "tools" | "toolChoice" | "parallelTools" | "groupedTools" | "searchTool"> {
  const tools = new ToolList(nameOf);
  for (const { tool, path } of given) tools.add(tool, path);
  const { groups, searchTool } = tools;
  const parallel = optionalBoolean(body, "parallel_tool_calls", "parallel_tool_calls");
  return {
    tools: tools.list,
    ...decodeChoice(body["tool_choice"], nameOf, groups),
    ...defined({ parallelTools: parallel }),
    ...(groups.size === 0 ? {} : { groupedTools: groups }),
    ...defined({ searchTool }),
  };
}

class ToolList {
  readonly list: Tool[] = [];
  /** Functions of groups, by the name that joins group and function. */
  readonly groups = new Map<string, GroupedName>();
  /** The function that replaces the caller's own search for tools. */
  searchTool: string | undefined;
  readonly #nameOf: NameOf;
  /** Names of the tools so far. */
  readonly #known = new Set<string>();

  constructor(nameOf: NameOf) {
    this.#nameOf = nameOf;
  }

  /**
   * Adds the functions of a group as separate tools; `groups` maps their names back. The group's own description, such as
   * the instructions of an MCP server, goes before that of its first function, so that the model reads it once.
   */
  add(tool: JsonObject, path: string): void {
    if (isClientSearch(tool, "tool_search")) return this.#addSearch(tool, path);
    if (tool["type"] !== "namespace") return this.#add(decodeTool(tool, path), path);
    const group = requiredString(tool, "name", `${path}.name`);
    let guidance = optionalString(tool, "description", `${path}.description`);
    for (const inner of listed(tool, `${path}.tools`)) {
      const decoded = decodeTool(inner.tool, inner.path);
      if (decoded.type === "hosted") {
        this.#add(decoded, inner.path);
        continue;
      }
      const told = [guidance, decoded.description].filter((text) => text !== undefined);
      guidance = undefined;
      const described = told.length === 0 ? {} : { description: told.join("\n\n") };
      this.#add({ ...decoded, ...described }, inner.path, group);
    }
  }

  /** Adds a tool unless it is there already: searches may find the same tool twice. */
  #add(tool: Tool, path: string, group?: string): void {
    if (tool.type === "hosted") {
      this.list.push(tool);
      return;
    }
    const key = { ...defined({ group }), name: tool.name };
    if (path.startsWith("input.") && this.#known.has(keyText(key))) return;
    this.#known.add(keyText(key));
    const name = this.#nameOf(key);
    if (group !== undefined) this.groups.set(name, { group, name: tool.name });
    this.list.push({ ...tool, name });
  }

  /** Reads the caller's own search for tools, whose parameters it declares, as a function. */
  #addSearch(tool: JsonObject, path: string): void {
    const description = optionalString(tool, "description", `${path}.description`);
    const schema = optionalObject(tool, "parameters", `${path}.parameters`);
    this.searchTool = searchToolName;
    this.list.push({
      type: "function",
      path,
      name: searchToolName,
      ...defined({ description, schema }),
    });
  }
}

/** Types of tools that the caller runs, but that only models of their vendor can call. */
const clientRun: ReadonlySet<string> = new Set([
  "local_shell",
  "shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
  // Only a group within a group: one at the top level is expanded into its functions.
  "namespace",
]);

/** The members of a format that have a meaning here; others are named. */
function grammarOf({ type, syntax, definition }: JsonObject): JsonObject {
  return defined({ type, syntax, definition });
}

function decodeTool(tool: JsonObject, path: string): Tool {
  const type = requiredString(tool, "type", `${path}.type`);
  if (type !== "function" && type !== "custom") {
    const name = optionalString(tool, "name", `${path}.name`);
    const requested = readHostedToolRequest(type, tool, path);
    return {
      type: "hosted",
      style: "responses",
      path,
      kind: type,
      ...defined({ name }),
      runs: clientRun.has(type) ? "client" : "server",
      raw: tool,
      ...defined({ requested }),
    };
  }
  const description = optionalString(tool, "description", `${path}.description`);
  const shared = {
    path,
    name: requiredString(tool, "name", `${path}.name`),
    ...defined({ description }),
  };
  if (type === "custom") {
    const format = optionalObject(tool, "format", `${path}.format`);
    return { type, ...shared, ...defined({ format: format && grammarOf(format) }) };
  }
  const schema = optionalObject(tool, "parameters", `${path}.parameters`);
  const strict = optionalBoolean(tool, "strict", `${path}.strict`);
  return {
    type,
    ...shared,
    ...defined({ schema, strict }),
  };
}

const path = "tool_choice";

function decodeChoice(
  choice: Json | undefined,
  nameOf: NameOf,
  groups: ReadonlyMap<string, GroupedName>,
): { readonly toolChoice?: ToolChoice } {
  if (choice === undefined || choice === null) return {};
  const word = readChoiceWord(choice);
  if (word !== undefined) return { toolChoice: { type: word, path } };
  if (!isJsonObject(choice)) {
    invalid(path, "must be auto, none, required, or an object that names a tool");
  }
  if (choice["type"] === "allowed_tools") {
    return { toolChoice: decodeAllowed(choice, nameOf, groups) };
  }
  return { toolChoice: { type: "tool", name: decodeNamed(choice, nameOf, path), path } };
}

/** Types of tools that have a name. */
const namedTypes: readonly string[] = ["function", "custom", "namespace", "mcp"];

/** Reads the tool that an entry names: by name and group, or by its kind. */
function decodeNamed(entry: JsonObject, nameOf: NameOf, entryPath: string): string {
  const name = optionalString(entry, "name", `${entryPath}.name`);
  const type = optionalString(entry, "type", `${entryPath}.type`);
  if (name === undefined) return requiredString(entry, "type", `${entryPath}.type`);
  if (type !== undefined && !namedTypes.includes(type)) {
    invalid(`${entryPath}.type`, `must be one of ${namedTypes.join(", ")} beside a name`);
  }
  const group = optionalString(entry, "namespace", `${entryPath}.namespace`);
  return nameOf({ ...defined({ group }), name });
}

function decodeAllowed(
  choice: JsonObject,
  nameOf: NameOf,
  groups: ReadonlyMap<string, GroupedName>,
): ToolChoice {
  const tools = optionalList(choice, "tools", `${path}.tools`) ?? [];
  const allowed = tools.flatMap((value, i) => {
    const entry = requiredObject(value, `${path}.tools.${i}`);
    const name = decodeNamed(entry, nameOf, `${path}.tools.${i}`);
    if (entry["type"] !== "namespace") return [name];
    return [...groups].flatMap(([flat, { group }]) => group === name ? [flat] : []);
  });
  return { type: readAllowedMode(choice, `${path}.mode`), allowed, path };
}
