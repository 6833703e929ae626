/**
 * Reads the tools and the tool choice of a Messages request, and decides which tools its model may call at the end of
 * the conversation.
 *
 * The vendor keeps tools with `defer_loading` out of the prompt until a search refers to them, and lets instructions in
 * the conversation add tools and remove them; every other style has one list. Where the vendor itself would run the
 * search, all tools are in the list.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  invalid,
  optionalBoolean,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import type { HostedTool, Tool, ToolChoice } from "../../conversation/mod.ts";
import { readHostedToolRequest, readMcpServers } from "../../tools/hosted_tools.ts";
import { decodeCache } from "./decode_blocks.ts";
import { defined } from "../../../lib/base/defined.ts";

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
  /** Tools that the model may call, in the order of their declarations. */
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
 * import { loadedTools } from "./decode_tools.ts";
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

/** Change that a block makes; `undefined` for a block of another type. */
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

// Turns typed tools of the Messages vendor that the caller runs (a shell, an editor and a memory) into functions. Their arguments
// are published, so models of other vendors can call them; the calls come back under the names that the caller expects.

/** A typed tool, described as a function. */
interface ClientTool {
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
