/** Reads tools and tool choice of a Responses request. */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
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

export function decodeResponsesTools(
  body: JsonObject,
): Pick<Conversation, "tools" | "toolChoice" | "parallelTools"> {
  const tools = optionalList(body, "tools", "tools") ?? [];
  const parallel = optionalBoolean(body, "parallel_tool_calls", "parallel_tool_calls");
  return {
    tools: tools.map((tool, i) => decodeTool(requiredObject(tool, `tools.${i}`), `tools.${i}`)),
    ...decodeChoice(body["tool_choice"]),
    ...(parallel === undefined ? {} : { parallelTools: parallel }),
  };
}

/** The caller runs these, but only their vendor's models know how to call them. */
const clientRun: ReadonlySet<string> = new Set([
  "local_shell",
  "shell",
  "apply_patch",
  "computer",
  "computer_use_preview",
  "namespace",
  "tool_search",
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

function decodeChoice(choice: Json | undefined): { readonly toolChoice?: ToolChoice } {
  if (choice === undefined || choice === null) return {};
  if (choice === "auto" || choice === "required") return { toolChoice: { type: choice, path } };
  if (choice === "none") return { toolChoice: { type: "none", path } };
  if (!isJsonObject(choice)) {
    invalid(path, "must be auto, none, required, or an object that names a tool");
  }
  const type = requiredString(choice, "type", `${path}.type`);
  if (type === "allowed_tools") return { toolChoice: decodeAllowed(choice) };
  const name = optionalString(choice, "name", `${path}.name`);
  return { toolChoice: { type: "tool", name: name ?? type, path } };
}

function decodeAllowed(choice: JsonObject): ToolChoice {
  const tools = optionalList(choice, "tools", `${path}.tools`) ?? [];
  const allowed = tools.map((value, i) => {
    const tool = requiredObject(value, `${path}.tools.${i}`);
    return optionalString(tool, "name", `${path}.tools.${i}.name`) ??
      requiredString(tool, "type", `${path}.tools.${i}.type`);
  });
  return { type: choice["mode"] === "required" ? "required" : "auto", allowed, path };
}
