/** Reads tools and tool choice of a Chat request, the old `functions` form included. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { Conversation, HostedTool, Tool, ToolChoice } from "../../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { readHostedToolRequest } from "../../tools/hosted_tools.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { readAllowedMode, readChoiceWord, searchField } from "../../tools/tool_fields.ts";
import { decodeChatMark } from "./decode_messages.ts";
import { defined } from "../../../lib/base/defined.ts";

type DecodedTools = Pick<
  Conversation,
  "tools" | "toolChoice" | "parallelTools" | "legacyFunctions"
>;

/** Reads the tools and the tool choice of a Chat request. */
export function decodeChatTools(body: JsonObject, warnings: Warnings): DecodedTools {
  const functions = optionalList(body, "functions", "functions") ?? [];
  const tools = optionalList(body, "tools", "tools") ?? [];
  const parallel = optionalBoolean(body, "parallel_tool_calls", "parallel_tool_calls");
  const isLegacy = functions.length > 0 && tools.length === 0;
  // The two forms exclude each other at the vendor: what the other one asks for is not read.
  if (!isLegacy && functions.length > 0) warnings.add("functions");
  const otherChoice = isLegacy ? "tool_choice" : "function_call";
  if ((body[otherChoice] ?? "auto") !== "auto") warnings.add(otherChoice);
  if (isLegacy) {
    return {
      tools: [
        ...functions.map((item, i) => decodeFunction(item, `functions.${i}`, `functions.${i}`)),
        ...decodeSearch(body),
      ],
      ...decodeFunctionChoice(body.function_call),
      // The old form has room for one call only.
      parallelTools: false,
      legacyFunctions: true,
    };
  }
  return {
    tools: [
      ...tools.map((tool, i) => decodeTool(requiredObject(tool, `tools.${i}`), i)),
      ...decodeSearch(body),
    ],
    ...decodeChoice(body.tool_choice),
    ...defined({ parallelTools: parallel }),
  };
}

function decodeTool(tool: JsonObject, i: number): Tool {
  const path = `tools.${i}`;
  const type = optionalString(tool, "type", `${path}.type`) ?? "function";
  if (type === "function") {
    // Other gateways put the mark inside `function` or beside it.
    const read = decodeFunction(tool.function, path, `${path}.function`);
    return { ...read, ...decodeChatMark(tool, path) };
  }
  if (type === "custom") return decodeCustom(tool, path);
  return hostedTool(type, tool, path);
}

function hostedTool(kind: string, tool: JsonObject, path: string): HostedTool {
  const requested = readHostedToolRequest(kind, tool, path);
  const read = requested === undefined ? {} : { requested };
  return { type: "hosted", style: "chat", path, kind, runs: "server", raw: tool, ...read };
}

/** Reads the field for web search. If it cannot be carried it is dropped with a warning, never refused. */
function decodeSearch(body: JsonObject): Tool[] {
  const options = optionalObject(body, searchField, searchField);
  if (options === undefined) return [];
  return [{ ...hostedTool(searchField, options, searchField), otherwise: "warn" }];
}

/** Reads a function. `at`: the path of the object that describes it, inside the tool at `path`. */
function decodeFunction(value: Json | undefined, path: string, at: string): Tool {
  const item = requiredObject(value, at);
  const description = optionalString(item, "description", `${at}.description`);
  const schema = optionalObject(item, "parameters", `${at}.parameters`);
  const strict = optionalBoolean(item, "strict", `${at}.strict`);
  return {
    type: "function",
    path,
    name: requiredString(item, "name", `${at}.name`),
    ...defined({ description, schema, strict }),
    ...(strict === undefined ? {} : { strictPath: `${at}.strict` }),
    ...decodeChatMark(item, at),
  };
}

function decodeCustom(tool: JsonObject, path: string): Tool {
  const item = requiredObject(tool.custom, `${path}.custom`);
  const description = optionalString(item, "description", `${path}.custom.description`);
  const format = optionalObject(item, "format", `${path}.custom.format`);
  return {
    type: "custom",
    path,
    name: requiredString(item, "name", `${path}.custom.name`),
    ...defined({ description }),
    ...(format === undefined ? {} : { format: flatFormat(format) }),
  };
}

/** Reads the grammar, which Chat nests one level deeper than the conversation; some clients do not. */
function flatFormat(format: JsonObject): JsonObject {
  const { type = "grammar", grammar } = format;
  const { syntax, definition } = isJsonObject(grammar) ? grammar : format;
  return { type, ...defined({ syntax, definition }) };
}

const path = "tool_choice";

function decodeChoice(choice: Json | undefined): { readonly toolChoice?: ToolChoice } {
  if (choice === undefined || choice === null) return {};
  const word = readChoiceWord(choice);
  if (word !== undefined) return { toolChoice: { type: word, path } };
  const object = isJsonObject(choice) ? choice : {};
  if (object.type === "allowed_tools") return { toolChoice: decodeAllowed(object) };
  const name = decodeNamed(object, path);
  if (name !== undefined) return { toolChoice: { type: "tool", name, path } };
  return invalid(
    path,
    "must be auto, none, required, or name a function, custom or allowed tools",
  );
}

/** Reads the tool that an object names, within or (as in Responses) beside its type, which some clients omit. */
function decodeNamed(object: JsonObject, at: string): string | undefined {
  const { type = isJsonObject(object.custom) ? "custom" : "function" } = object;
  if (type !== "function" && type !== "custom") return undefined;
  if (object[type] === undefined) return optionalString(object, "name", `${at}.name`);
  return requiredString(
    requiredObject(object[type], `${at}.${type}`),
    "name",
    `${at}.${type}.name`,
  );
}

function decodeAllowed(choice: JsonObject): ToolChoice {
  const allowed = requiredObject(choice.allowed_tools, `${path}.allowed_tools`);
  const tools = optionalList(allowed, "tools", `${path}.allowed_tools.tools`) ?? [];
  const names = tools.map((value, i) => {
    const toolPath = `${path}.allowed_tools.tools.${i}`;
    const tool = requiredObject(value, toolPath);
    return decodeNamed(tool, toolPath) ?? requiredString(tool, "type", `${toolPath}.type`);
  });
  return {
    type: readAllowedMode(allowed, `${path}.allowed_tools.mode`),
    allowed: names,
    path,
  };
}

function decodeFunctionChoice(choice: Json | undefined): { readonly toolChoice?: ToolChoice } {
  if (choice === undefined || choice === null) return {};
  if (choice === "auto" || choice === "none") {
    return { toolChoice: { type: choice, path: "function_call" } };
  }
  const name = requiredString(
    requiredObject(choice, "function_call"),
    "name",
    "function_call.name",
  );
  return { toolChoice: { type: "tool", name, path: "function_call" } };
}
