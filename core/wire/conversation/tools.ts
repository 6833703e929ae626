/** The tools that a model may call, and which of them it may or must. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { Style } from "../contract/contract.ts";
import type { Placed } from "./blocks.ts";
import type { HostedToolRequest } from "./hosted.ts";

/** A tool of a request. */
export type Tool = FunctionTool | CustomTool | HostedTool;

/** A tool that the client runs, with a JSON Schema of its arguments. */
export interface FunctionTool extends Placed {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments, unchanged. Absent: the function takes none. */
  readonly schema?: JsonObject;
  /** Only when the client set it. */
  readonly strict?: boolean;
  /** The path of `strict` in the client's request, unless it is the member `strict`. */
  readonly strictPath?: string;
}

/** A tool that takes free text instead of a JSON object. */
export interface CustomTool extends Placed {
  readonly type: "custom";
  readonly name: string;
  readonly description?: string;
  /** Grammar of the input in the flat form `{type:"text"}` or `{type:"grammar", syntax, definition}`. */
  readonly format?: JsonObject;
}

/** A tool whose schema belongs to the vendor of `style`. */
export interface HostedTool extends Placed {
  readonly type: "hosted";
  readonly style: Style;
  /** The wire's own `type`, e.g. `web_search_20250305`, `bash_20250124`, `file_search`. */
  readonly kind: string;
  /** Name under which it is called, where it has one. */
  readonly name?: string;
  /** `server`: the vendor runs it inside the call. `client`: the caller must run it. */
  readonly runs: "server" | "client";
  readonly raw: JsonObject;
  /** The options that other vendors have too; absent if none has such a tool. */
  readonly requested?: HostedToolRequest;
  /** Overrides the common rule for a route that cannot carry it: dropped and named, or refused. */
  readonly otherwise?: "warn" | "refuse";
}

/** Which tools the model may or must call. */
export type ToolChoice =
  | {
    readonly type: "auto" | "required";
    /** Only these tools of the list may be used. */
    readonly allowed?: readonly string[];
    readonly path: string;
  }
  | { readonly type: "none"; readonly path: string }
  /** One tool is forced: function, custom, or hosted by its name or kind. */
  | { readonly type: "tool"; readonly name: string; readonly path: string };
