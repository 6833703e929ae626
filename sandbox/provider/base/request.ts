/**
 * The form of a request that is common to all styles of the sandbox.
 *
 * - Folder `sandbox/provider/base/`: what the sandbox's endpoints share: requests in one form, triggers, composed
 *   answers, tokens, vendors' errors.
 * - In: what an endpoint read from a request of its style.
 * - Out: answers as parts, and replies as steps with their delays.
 * - Never: uses the conversion of `core/wire/`, or contacts anything outside the process.
 */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { Triggers } from "./triggers.ts";

/** A request as the sandbox reads it from any style. */
export interface SandboxRequest {
  readonly model: string;
  readonly stream: boolean;
  /** Chat: the client requested the usage chunk. */
  readonly includeUsage: boolean;
  /** Chat: the number of choices. */
  readonly choices: number;
  /** Text of the last user turn, without triggers. */
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
  /** A hash of the request, from which ids and signatures are derived. */
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

/** Prompt tokens by kind; no token counts twice. */
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

/** Creates an empty turn. */
export function emptyTurn(): Turn {
  return { texts: [], toolResults: [], attachments: 0 };
}

/** The error for a request that the sandbox cannot interpret; the answer is a 400 in the style of the vendor. */
export class SandboxRefusal extends Error {
  override name = "SandboxRefusal";
}
