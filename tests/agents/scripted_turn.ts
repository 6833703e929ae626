/** What the scripted model says in one turn, before it is written in a vendor's style. */
import type { Json, JsonObject } from "../../core/lib/json/json.ts";

/** A tool as an agent offers it: with a schema, or free text (custom tools of Responses). */
export interface OfferedTool {
  readonly name: string;
  readonly freeform: boolean;
}

export interface ScriptedCall {
  readonly id: string;
  readonly tool: OfferedTool;
  /** An object for tools with a schema, a text for free-form ones. */
  readonly input: JsonObject | string;
}

export interface ScriptedTurn {
  /** Text of the thinking before the answer; empty for none. */
  readonly thinking: string;
  readonly text: string;
  readonly call: ScriptedCall | undefined;
  readonly usage: ScriptedUsage;
}

/** Tokens as the vendor reports them. */
export interface ScriptedUsage {
  /** Prompt tokens that were not cached. */
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
}

/** The parts of a request that the script needs, in any style. */
export interface ScriptedRequest {
  readonly body: JsonObject;
  readonly model: string;
  readonly stream: boolean;
  readonly thinks: boolean;
  readonly tools: readonly OfferedTool[];
  /** Number of tool results in the history, which is the number of the next step. */
  readonly toolResults: number;
}

/** One server-sent event: its name (none in Chat streams) and its data. */
export interface ScriptedEvent {
  readonly name?: string;
  readonly value: Json;
}

/** The signature of the thinking of a step, which the vendor validators require in the next request. */
export function signatureOf(step: number): string {
  return btoa(`scripted-signature-of-step-${step}`);
}
