/** A request in the typed form between styles: a conversation, and the options of the answer. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { GroupedName, Style } from "../contract/contract.ts";
import type { Block, CacheMark, HostedToolRequest, Placed, TextBlock } from "./blocks.ts";

// The tools that a model may call, and which of them it may or must.

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

/** Tools that the model may or must call. */
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

/** A whole request. Lists are in the client's order; an absent field is an absent key, never a default. */
export interface Conversation {
  /** The style it was decoded from. */
  readonly from: Style;
  /** The model name the client sent. */
  readonly model: string;
  /** Instructions before the first turn: Messages `system`, leading Chat system messages, Responses `instructions`. */
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice;
  /** `false`: at most one tool call per answer. Absent: the vendor's default (several). */
  readonly parallelTools?: boolean;
  /** Cap on output tokens, reasoning included. */
  readonly maxTokens?: number;
  readonly sampling: Sampling;
  readonly reasoning?: ReasoningRequest;
  readonly output?: OutputFormat;
  readonly stream: boolean;
  /** Chat only: tools came as `functions`; the answer must name its call `function_call`. */
  readonly legacyFunctions?: true;
  /** Responses only: functions that came in groups, by their name in `tools`. */
  readonly groupedTools?: ReadonlyMap<string, GroupedName>;
  /** Responses only: the function that replaces the client's own search for tools. */
  readonly searchTool?: string;
  /** Chat only: the client asked for a usage chunk. */
  readonly streamUsage: boolean;
  /** The client's own end user, as the client identifies it. */
  readonly endUser?: { readonly id: string; readonly path: string };
  readonly serviceTier?: { readonly tier: string; readonly path: string };
  /** Chat and Responses: log probabilities of each token and of the `top` most likely alternatives. */
  readonly logprobs?: { readonly top?: number; readonly path: string };
  /** The client wants pictures in the answer beside the text. */
  readonly pictures?: { readonly path: string };
  /** Chat and Gemini: the number of answers to the prompt, if that is more than one. */
  readonly choices?: { readonly count: number; readonly path: string };
  /** The top-level cache mark of Messages: the vendor places it on the last block that can be cached. */
  readonly automaticCache?: CacheMark;
  /** All other fields. The encoder carries those that the route takes by name, and treats the rest as `otherwise` says. */
  readonly extras: readonly Extra[];
  /** Paths of what the decoder itself dropped or approximated. */
  readonly warnings: readonly string[];
}

/**
 * A field without a place of its own in the conversation. An encoder carries `value` under `name` to a route that has
 * such a field; for every other route `otherwise` decides.
 */
export interface Extra {
  /**
   * The field's name in other styles: `seed`, `verbosity`, `metadata` … Absent: no other style has it. A Messages field
   * is never the same thing as a Chat field of its name, unless its table says so.
   */
  readonly name?: string;
  readonly path: string;
  readonly value: Json;
  /** `ignore`: drop without a warning. `warn`: drop and name it. `refuse`: answer 400 and name it. */
  readonly otherwise: "ignore" | "warn" | "refuse";
}

/** One turn of the user or the model. */
export interface Turn {
  /** `system`: an instruction within the conversation. Leading ones are in {@linkcode Conversation.system}. */
  readonly role: "user" | "assistant" | "system";
  /** Tool results are in `user` turns, before all other blocks once the conversation is normalized. */
  readonly blocks: readonly Block[];
  readonly path: string;
}

/** The sampling parameters of a request. */
export interface Sampling {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stop?: readonly string[];
}

/** Effort of the model's thinking. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** A request for thinking: mode, effort or budget, and how to show it. */
export interface ReasoningRequest {
  /** `adaptive`: the model decides. `off`: not at all. `on`: yes, with `budgetTokens` or `effort`. */
  readonly mode?: "off" | "on" | "adaptive";
  readonly effort?: Effort;
  readonly budgetTokens?: number;
  /** Form in which the thinking is shown: the client's value of Messages `display` or Responses `summary`. */
  readonly display?: { readonly word: string; readonly path: string };
  /** The client wants encrypted reasoning back to replay it (Responses `include`). */
  readonly encrypted?: boolean;
  /** Path of the field that carried it. */
  readonly path: string;
  /** Path of the effort, if it was in another field. */
  readonly effortPath?: string;
}

/** The format of the answer: text, JSON, or JSON by a schema. */
export type OutputFormat =
  | { readonly type: "json_object"; readonly path: string }
  | {
    readonly type: "json_schema";
    readonly schema: JsonObject;
    readonly name?: string;
    readonly description?: string;
    readonly strict?: boolean;
    /** The path of `strict` in the client's request, unless it is the member `strict` of `path`. */
    readonly strictPath?: string;
    readonly path: string;
  };
