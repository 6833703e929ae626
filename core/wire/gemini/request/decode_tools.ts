/** Reads tools and tool choice of a Gemini request. */
import { defined } from "../../../lib/base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type {
  Conversation,
  FunctionTool,
  HostedTool,
  HostedToolRequest,
  Tool,
  ToolChoice,
} from "../../conversation/mod.ts";
import {
  invalid,
  optionalList,
  optionalObject,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import { jsonSchemaOf } from "./schema.ts";

/** Reads the tools and the tool choice. */
export function decodeGeminiTools(body: JsonObject): Pick<Conversation, "tools" | "toolChoice"> {
  const tools = (optionalList(body, "tools", "tools") ?? [])
    .flatMap((tool, i) => decodeEntry(requiredObject(tool, `tools.${i}`), `tools.${i}`));
  return { tools, ...decodeChoice(body.toolConfig) };
}

/** Reads one entry of `tools`, which may hold several functions and hosted tools. */
function decodeEntry(entry: JsonObject, path: string): Tool[] {
  return Object.entries(entry).flatMap(([kind, value]): Tool[] => {
    if (value === undefined || value === null) return [];
    const at = `${path}.${kind}`;
    if (kind !== "functionDeclarations") return [hostedTool(kind, value, at)];
    const list = Array.isArray(value) ? value : invalid(at, "must be a list");
    return list.map((one, i) => decodeFunction(requiredObject(one, `${at}.${i}`), `${at}.${i}`));
  });
}

function decodeFunction(tool: JsonObject, path: string): FunctionTool {
  const own = optionalObject(tool, "parameters", `${path}.parameters`);
  const schema = optionalObject(tool, "parametersJsonSchema", `${path}.parametersJsonSchema`) ??
    (own === undefined ? undefined : jsonSchemaOf(own));
  const description = optionalString(tool, "description", `${path}.description`);
  return {
    type: "function",
    path,
    name: requiredString(tool, "name", `${path}.name`),
    ...defined({ description, schema }),
  };
}

const sharedTools: ReadonlyMap<string, "web_search" | "web_fetch" | "code_execution"> = new Map(
  [
    ["googleSearch", "web_search"],
    ["googleSearchRetrieval", "web_search"],
    ["urlContext", "web_fetch"],
    ["codeExecution", "code_execution"],
  ] as const,
);

function hostedTool(kind: string, value: Json, path: string): HostedTool {
  const raw = isJsonObject(value) ? value : {};
  const tool = sharedTools.get(kind);
  const others = Object.keys(raw).map((name) => `${path}.${name}`);
  const requested: HostedToolRequest | undefined = tool === undefined
    ? undefined
    : { tool, others };
  return {
    type: "hosted",
    style: "gemini",
    path,
    kind,
    runs: kind === "computerUse" ? "client" : "server",
    raw,
    ...defined({ requested }),
  };
}

function decodeChoice(config: Json | undefined): { readonly toolChoice?: ToolChoice } {
  if (config === undefined || config === null) return {};
  const path = "toolConfig.functionCallingConfig";
  const calling = optionalObject(
    requiredObject(config, "toolConfig"),
    "functionCallingConfig",
    path,
  );
  if (calling === undefined) return {};
  const names = optionalList(calling, "allowedFunctionNames", `${path}.allowedFunctionNames`) ?? [];
  const allowed = names.map((name) =>
    typeof name === "string"
      ? name
      : invalid(`${path}.allowedFunctionNames`, "must be a list of names")
  );
  const only = allowed.length === 0 ? {} : { allowed };
  const mode = optionalString(calling, "mode", `${path}.mode`)?.toUpperCase() ?? "AUTO";
  switch (mode) {
    case "MODE_UNSPECIFIED":
    case "AUTO":
    // The vendor checks the arguments of the calls; it may still answer without one.
    case "VALIDATED":
      return { toolChoice: { type: "auto", ...only, path } };
    case "NONE":
      return { toolChoice: { type: "none", path } };
    case "ANY": {
      const [name] = allowed;
      return allowed.length === 1 && name !== undefined
        ? { toolChoice: { type: "tool", name, path } }
        : { toolChoice: { type: "required", ...only, path } };
    }
    default:
      return invalid(`${path}.mode`, "must be one of AUTO, ANY, NONE, VALIDATED");
  }
}
