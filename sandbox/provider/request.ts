import type { JsonObject } from "../../core/lib/json/json.ts";
import type { Triggers } from "./triggers.ts";

/** A request as the sandbox understands it, whatever style it came in. */
export interface SandboxRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Chat: the client wants the usage chunk. */
  readonly includeUsage: boolean;
  /** Chat: how many choices. */
  readonly choices: number;
  /** Words of the last user turn, without triggers. */
  readonly text: string;
  readonly triggers: Triggers;
  /** Pictures and files in the last user turn. */
  readonly attachments: number;
  /** Texts of the tool results in the last turn. */
  readonly toolResults: readonly string[];
  readonly tools: readonly SandboxTool[];
  readonly toolChoice: ToolChoice;
  readonly parallelTools: boolean;
  /** Bound on all output tokens; `Infinity` when the request sets none. */
  readonly maxTokens: number;
  readonly stopSequences: readonly string[];
  readonly reasoning: boolean;
  readonly format: OutputFormat;
  readonly prompt: PromptTokens;
  /** The same for the same request; ids and signatures are derived from it. */
  readonly seed: string;
}

export interface SandboxTool {
  readonly name: string;
  /** A custom tool takes text instead of JSON. */
  readonly custom: boolean;
  readonly schema: JsonObject;
}

export type ToolChoice =
  | { readonly type: "auto" | "any" | "none" }
  | { readonly type: "tool"; readonly name: string };

export type OutputFormat =
  | { readonly type: "text" }
  | { readonly type: "json"; readonly schema: JsonObject };

/** Prompt tokens in buckets that do not overlap. */
export interface PromptTokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** The last turn: everything after the last answer of the model. */
export interface Turn {
  readonly texts: string[];
  readonly toolResults: string[];
  attachments: number;
}

/** A turn with nothing in it yet. */
export function emptyTurn(): Turn {
  return { texts: [], toolResults: [], attachments: 0 };
}

/** Thrown for a request that the sandbox cannot make sense of; answered as 400 in the vendor's style. */
export class SandboxRefusal extends Error {
  override name = "SandboxRefusal";
}
