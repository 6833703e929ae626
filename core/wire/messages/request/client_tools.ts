/**
 * Turns typed tools of the Messages vendor that the caller runs (a shell, an editor and a memory) into functions. Their arguments
 * are published, so models of other vendors can call them; the calls come back under the names that the caller expects.
 */
import type { JsonObject } from "../../../lib/json/json.ts";

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
 * import { clientTool } from "./client_tools.ts";
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
