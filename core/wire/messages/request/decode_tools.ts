/** Reads the tools and the tool choice of a Messages request. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { HostedTool, Tool, ToolChoice } from "../../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalObject,
  optionalString,
  refuse,
  requiredString,
} from "../../fields/fields.ts";
import { readHostedToolRequest, readMcpServers } from "../../tools/hosted_tools.ts";
import { type ClientTool, clientTool } from "./client_tools.ts";
import { decodeCache } from "./decode_blocks.ts";
import type { LoadedTools } from "./loaded_tools.ts";
import { defined } from "../../../lib/base/defined.ts";

/** Reads the tools, and the MCP servers beside them if another vendor can express all of these. */
export function decodeTools(
  tools: LoadedTools["tools"],
  servers: readonly Json[],
): Tool[] {
  const requests = readMcpServers(servers, tools.map(({ tool }) => tool)) ?? [];
  const decoded = tools.flatMap(({ tool, path }): Tool[] => {
    const isToolset = tool.type === "mcp_toolset" &&
      requests.some((requested) => requested.server === tool.mcp_server_name);
    return isToolset ? [] : [decodeTool(tool, path)];
  });
  return [
    ...decoded,
    ...requests.map((requested, i): Tool => ({
      type: "hosted",
      style: "messages",
      path: `mcp_servers.${i}`,
      kind: "mcp",
      runs: "server",
      raw: {},
      requested,
      otherwise: "refuse",
    })),
  ];
}

function decodeTool(tool: JsonObject, path: string): Tool {
  const type = optionalString(tool, "type", `${path}.type`) ?? "custom";
  const known = clientTool(type, tool);
  if (type !== "custom" && known === undefined) return decodeHosted(type, tool, path);
  refuseHiddenTool(tool, path);
  if (known !== undefined) return asFunction(known, tool, path);
  const description = optionalString(tool, "description", `${path}.description`);
  const strict = optionalBoolean(tool, "strict", `${path}.strict`);
  const schema = optionalObject(tool, "input_schema", `${path}.input_schema`);
  return {
    type: "function",
    path,
    name: requiredString(tool, "name", `${path}.name`),
    ...defined({ description, schema, strict }),
    ...decodeCache(tool, path),
  };
}

function refuseHiddenTool(tool: JsonObject, path: string): void {
  const callers = tool.allowed_callers;
  if (Array.isArray(callers) && !callers.includes("direct")) {
    refuse(`${path}.allowed_callers`, "the model cannot be kept from calling this tool itself");
  }
}

function asFunction(known: ClientTool, tool: JsonObject, path: string): Tool {
  const { description, schema } = known;
  const name = optionalString(tool, "name", `${path}.name`) ?? known.name;
  return { type: "function", path, name, description, schema, ...decodeCache(tool, path) };
}

/** Types of tools whose schema only the vendor knows, but which the caller runs. */
const clientRun = /^(?:computer|computer_toolset)_\d{8}$/;

function decodeHosted(kind: string, tool: JsonObject, path: string): HostedTool {
  const name = optionalString(tool, "name", `${path}.name`);
  const requested = readHostedToolRequest(kind, tool, path);
  return {
    type: "hosted",
    style: "messages",
    path,
    kind,
    ...defined({ name }),
    runs: clientRun.test(kind) ? "client" : "server",
    raw: tool,
    ...defined({ requested }),
  };
}

/** Reads the tool choice, and the switch for parallel calls inside it. */
export function decodeToolChoice(body: JsonObject): {
  readonly toolChoice?: ToolChoice;
  readonly parallelTools?: boolean;
} {
  const choice = body.tool_choice;
  if (choice === undefined || choice === null) return {};
  if (!isJsonObject(choice)) invalid("tool_choice", "must be an object");
  const path = "tool_choice";
  const single = optionalBoolean(
    choice,
    "disable_parallel_tool_use",
    `${path}.disable_parallel_tool_use`,
  );
  const parallel = single === undefined ? {} : { parallelTools: !single };
  switch (choice.type) {
    case "auto":
      return { toolChoice: { type: "auto", path }, ...parallel };
    case "any":
      return { toolChoice: { type: "required", path }, ...parallel };
    case "none":
      return { toolChoice: { type: "none", path } };
    case "tool": {
      const name = requiredString(choice, "name", `${path}.name`);
      return { toolChoice: { type: "tool", name, path }, ...parallel };
    }
    default:
      return invalid(`${path}.type`, "must be one of auto, any, tool, none");
  }
}
