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
import { decodeCache } from "./decode_blocks.ts";
import type { LoadedTools } from "./loaded_tools.ts";
import { defined } from "../../../lib/base/defined.ts";

// Turns typed tools of the Messages vendor that the caller runs (a shell, an editor and a memory) into functions. Their arguments
// are published, so models of other vendors can call them; the calls come back under the names that the caller expects.

/** A typed tool, described as a function. */
export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

const text = (description: string): JsonObject => ({ type: "string", description });

const bash: ClientTool = {
  name: "bash",
  description: "Runs a command in a persistent bash session and returns its output.",
  schema: {
    type: "object",
    properties: {
      command: text("The bash command to run. Required unless the session is restarted."),
      restart: { type: "boolean", description: "Restarts the session." },
    },
  },
};

/** The version from which the editor cannot undo, has another name, and another field for the inserted text. */
const editorWithoutUndo = 20250429;

function editor(version: number, tool: JsonObject): ClientTool {
  const isNewer = version >= editorWithoutUndo;
  const commands = ["view", "create", "str_replace", "insert", ...(isNewer ? [] : ["undo_edit"])];
  const inserted = "The text that `insert` adds.";
  const most = tool["max_characters"];
  return {
    name: isNewer ? "str_replace_based_edit_tool" : "str_replace_editor",
    description: "Views, creates and edits text files." +
      (typeof most === "number" ? ` A view is cut after ${most} characters.` : ""),
    schema: {
      type: "object",
      properties: {
        command: { type: "string", enum: commands, description: "What to do." },
        path: text("Path of the file or directory."),
        file_text: text("`create`: the content of the new file."),
        old_str: text(
          "`str_replace`: the text to replace. It must occur exactly once in the file.",
        ),
        new_str: text(
          "`str_replace`: the text to put in its place." + (isNewer ? "" : ` ${inserted}`),
        ),
        insert_line: {
          type: "integer",
          description: "`insert`: the line after which to insert; 0 is the beginning of the file.",
        },
        ...(isNewer ? { insert_text: text(inserted) } : {}),
        view_range: {
          type: "array",
          items: { type: "integer" },
          description: "`view`: first and last line to show, counted from 1; -1 is the last line.",
        },
      },
      required: ["command", "path"],
    },
  };
}

const memory: ClientTool = {
  name: "memory",
  description:
    "Keeps notes in files under /memories, which stay from one conversation to the next. View the directory before a task.",
  schema: {
    type: "object",
    properties: {
      command: {
        type: "string",
        enum: ["view", "create", "str_replace", "insert", "delete", "rename"],
        description: "What to do.",
      },
      path: text("Path of the file or directory; not for `rename`."),
      view_range: {
        type: "array",
        items: { type: "integer" },
        description: "`view`: first and last line to show, counted from 1.",
      },
      file_text: text("`create`: the content of the file."),
      old_str: text("`str_replace`: the text to replace. It must occur exactly once in the file."),
      new_str: text("`str_replace`: the text to put in its place."),
      insert_line: {
        type: "integer",
        description: "`insert`: the line after which to insert; 0 is the beginning of the file.",
      },
      insert_text: text("`insert`: the text to add."),
      old_path: text("`rename`: the present path."),
      new_path: text("`rename`: the new path."),
    },
    required: ["command"],
  },
};

/**
 * Returns the function for a tool of this type; `undefined` for other types.
 *
 * @example
 * ```ts
 * import { clientTool } from "./decode_tools.ts";
 * const names = ["bash_20250124", "text_editor_20250124", "text_editor_20250728", "memory_20250818"]
 *   .map((type) => clientTool(type, {})?.name);
 * if (names.join() !== "bash,str_replace_editor,str_replace_based_edit_tool,memory") throw new Error(names.join());
 * if (clientTool("computer_20250124", {}) !== undefined) throw new Error("made up");
 * ```
 */
export function clientTool(type: string, tool: JsonObject): ClientTool | undefined {
  const [, kind, version] = /^(bash|text_editor|memory)_(\d{8})$/.exec(type) ?? [];
  if (kind === "bash") return bash;
  if (kind === "memory") return memory;
  return kind === "text_editor" ? editor(Number(version), tool) : undefined;
}

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
const clientRun = /^(?:computer|computer_toolset|browser_toolset)_\d{8}$/;

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
