/** Reads tools and tool choice of a Responses request. */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import type { GroupedName } from "../contract.ts";
import type { Conversation, Tool, ToolChoice } from "../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../fields.ts";
import { flatName } from "./tool_groups.ts";

export function decodeResponsesTools(
  body: JsonObject,
): Pick<Conversation, "tools" | "toolChoice" | "parallelTools" | "groupedTools"> {
  const groups = new Map<string, GroupedName>();
  const tools = decodeList(body, "tools", (tool, path) => decodeToolOrGroup(tool, path, groups));
  const parallel = optionalBoolean(body, "parallel_tool_calls", "parallel_tool_calls");
  return {
    tools,
    ...decodeChoice(body["tool_choice"], groups),
    ...(parallel === undefined ? {} : { parallelTools: parallel }),
    ...(groups.size === 0 ? {} : { groupedTools: groups }),
  };
}

function decodeList(
  holder: JsonObject,
  path: string,
  decode: (tool: JsonObject, path: string) => Tool[],
): Tool[] {
  const list = optionalList(holder, "tools", path) ?? [];
  return list.flatMap((tool, i) => decode(requiredObject(tool, `${path}.${i}`), `${path}.${i}`));
}

/**
 * The functions of a group become tools like any others, and `groups` tells the way back. What the group says of
 * itself (an MCP server's instructions) goes before the words of its first function: there the model finds it once.
 */
function decodeToolOrGroup(
  tool: JsonObject,
  path: string,
  groups: Map<string, GroupedName>,
): Tool[] {
  if (tool["type"] !== "namespace") return [decodeTool(tool, path)];
  const group = requiredString(tool, "name", `${path}.name`);
  let guidance = optionalString(tool, "description", `${path}.description`);
  return decodeList(tool, `${path}.tools`, (inner, innerPath) => {
    const decoded = decodeTool(inner, innerPath);
    if (decoded.type === "hosted") return [decoded];
    const name = flatName(group, decoded.name);
    groups.set(name, { group, name: decoded.name });
    const told = [guidance, decoded.description].filter((text) => text !== undefined);
    guidance = undefined;
    return [{ ...decoded, name, ...(told.length === 0 ? {} : { description: told.join("\n\n") }) }];
  });
}

/** The caller runs these, but only their vendor's models know how to call them. */
const clientRun: ReadonlySet<string> = new Set([
  "local_shell",
  "shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
  "tool_search",
  // Within a group; by itself it is none.
  "namespace",
]);

function decodeTool(tool: JsonObject, path: string): Tool {
  const type = requiredString(tool, "type", `${path}.type`);
  if (type !== "function" && type !== "custom") {
    const name = optionalString(tool, "name", `${path}.name`);
    return {
      type: "hosted",
      style: "responses",
      path,
      kind: type,
      ...(name === undefined ? {} : { name }),
      runs: clientRun.has(type) ? "client" : "server",
      raw: tool,
    };
  }
  const description = optionalString(tool, "description", `${path}.description`);
  const shared = {
    path,
    name: requiredString(tool, "name", `${path}.name`),
    ...(description === undefined ? {} : { description }),
  };
  if (type === "custom") {
    const format = optionalObject(tool, "format", `${path}.format`);
    return { type, ...shared, ...(format === undefined ? {} : { format }) };
  }
  const schema = optionalObject(tool, "parameters", `${path}.parameters`);
  const strict = optionalBoolean(tool, "strict", `${path}.strict`);
  return {
    type,
    ...shared,
    ...(schema === undefined ? {} : { schema }),
    ...(strict === undefined ? {} : { strict }),
  };
}

const path = "tool_choice";

function decodeChoice(
  choice: Json | undefined,
  groups: ReadonlyMap<string, GroupedName>,
): { readonly toolChoice?: ToolChoice } {
  if (choice === undefined || choice === null) return {};
  if (choice === "auto" || choice === "required") return { toolChoice: { type: choice, path } };
  if (choice === "none") return { toolChoice: { type: "none", path } };
  if (!isJsonObject(choice)) {
    invalid(path, "must be auto, none, required, or an object that names a tool");
  }
  const type = requiredString(choice, "type", `${path}.type`);
  if (type === "allowed_tools") return { toolChoice: decodeAllowed(choice, groups) };
  return { toolChoice: { type: "tool", name: decodeNamed(choice, path), path } };
}

/** The tool that an entry names: by name and group, or by its kind. */
function decodeNamed(entry: JsonObject, entryPath: string): string {
  const name = optionalString(entry, "name", `${entryPath}.name`);
  if (name === undefined) return requiredString(entry, "type", `${entryPath}.type`);
  return flatName(optionalString(entry, "namespace", `${entryPath}.namespace`), name);
}

function decodeAllowed(
  choice: JsonObject,
  groups: ReadonlyMap<string, GroupedName>,
): ToolChoice {
  const tools = optionalList(choice, "tools", `${path}.tools`) ?? [];
  const allowed = tools.flatMap((value, i) => {
    const entry = requiredObject(value, `${path}.tools.${i}`);
    const name = decodeNamed(entry, `${path}.tools.${i}`);
    if (entry["type"] !== "namespace") return [name];
    return [...groups].flatMap(([flat, { group }]) => group === name ? [flat] : []);
  });
  return { type: choice["mode"] === "required" ? "required" : "auto", allowed, path };
}
