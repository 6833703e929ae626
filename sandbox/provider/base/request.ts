/**
 * The form of a request that is common to all styles of the sandbox.
 *
 * - Folder `sandbox/provider/base/`: what the sandbox's endpoints share: requests in one form, triggers, composed
 *   answers, tokens, vendors' errors.
 * - In: what an endpoint read from a request of its style.
 * - Out: answers as parts, and replies as steps with their delays.
 * - Never: uses the conversion of `core/wire/`, or contacts anything outside the process.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { type ReadTriggers, readTriggers, type Triggers } from "./triggers.ts";
import { hashHex } from "../../../core/lib/hash/short_hash.ts";

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
  /** Responses: the group of tools that it belongs to, which its calls name. */
  readonly namespace?: string;
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

// Reads what the requests of several styles have in common.

/** Reads the fields that all styles share, and the triggers of the last turn. @throws {SandboxRefusal} */
export function commonFields(
  body: JsonObject,
  turn: Turn,
): Pick<
  SandboxRequest,
  "model" | "stream" | "text" | "triggers" | "attachments" | "toolResults" | "seed"
> {
  const model = body["model"];
  if (typeof model !== "string" || model === "") throw new SandboxRefusal("model: is required");
  const { triggers, text } = knownTriggers(turn.texts.join("\n"));
  // A request gets the same answer as a stream and as a whole.
  const { stream, stream_options: _, ...question } = body;
  return {
    model,
    stream: stream === true,
    text,
    triggers,
    attachments: turn.attachments,
    toolResults: turn.toolResults,
    seed: hashHex(JSON.stringify(question)),
  };
}

/** Reads the triggers of a text. @throws {SandboxRefusal} for one that does not exist */
export function knownTriggers(text: string): ReadTriggers {
  const read = readTriggers(text);
  if (read.unknown === undefined) return read;
  throw new SandboxRefusal(`The sandbox has no trigger "${read.unknown}"`);
}

/** Returns a required list. @throws {SandboxRefusal} if it is missing or empty */
export function requiredList(body: JsonObject, name: string): readonly Json[] {
  const value = body[name];
  if (!Array.isArray(value) || value.length === 0) {
    throw new SandboxRefusal(`${name}: must be a list with at least one element`);
  }
  return value;
}

/** Returns a limit on tokens, or `undefined` if it is not set. @throws {SandboxRefusal} below `least` */
export function tokenBound(body: JsonObject, name: string, least: number): number | undefined {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw new SandboxRefusal(`${name}: must be a whole number of at least ${least}`);
}

/** Returns the objects in a list; other elements are left out. */
export function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Reads stop sequences, given as one text or as a list. */
export function stopList(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Returns the text of `content`: the string, or the joined `text` of its parts. */
export function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objects(content).map((part) => typeof part["text"] === "string" ? part["text"] : "")
    .join("");
}

/** Returns a tool whose schema has the type `object`, or no tool if it has no name. */
export function toolOf(name: Json | undefined, schema: Json | undefined): SandboxTool[] {
  if (typeof name !== "string") return [];
  const given = isJsonObject(schema) ? schema : {};
  return [{ name, custom: false, schema: { type: "object", ...given } }];
}

/** The schema of an answer in JSON for which the request gives none. */
export const anyObject = { type: "object", properties: { answer: { type: "string" } } };

/**
 * Returns where the last turn begins: after the last message of the assistant. A trailing one begins the answer, which
 * belongs to the turn before it.
 */
export function lastTurnStart(messages: readonly JsonObject[]): number {
  const isAnswer = (message: JsonObject) => message["role"] === "assistant";
  const last = messages.findLastIndex(isAnswer);
  const isTrailing = last === messages.length - 1;
  return (isTrailing ? messages.slice(0, last).findLastIndex(isAnswer) : last) + 1;
}

/** The tools that a request may call, and whether it must. */
export interface OfferedTools {
  readonly choice: ToolChoice;
  readonly tools: readonly SandboxTool[];
}

/**
 * Reads `tool_choice` as Chat Completions and Responses have it.
 *
 * @param allowed the object with `mode` and `tools`, if the choice allows only some
 * @param nameOf returns the name of a tool that a choice refers to
 */
export function offeredTools(
  tools: readonly SandboxTool[],
  choice: Json | undefined,
  allowed: Json | undefined,
  nameOf: (tool: JsonObject) => Json | undefined,
): OfferedTools {
  if (choice === "none") return { choice: { type: "none" }, tools };
  if (choice === "required") return { choice: { type: "any" }, tools };
  if (!isJsonObject(choice)) return { choice: { type: "auto" }, tools };
  if (isJsonObject(allowed)) {
    const names = objects(allowed["tools"]).map(nameOf);
    return {
      choice: { type: allowed["mode"] === "required" ? "any" : "auto" },
      tools: tools.filter((tool) => names.includes(tool.name)),
    };
  }
  const name = nameOf(choice);
  return { choice: typeof name === "string" ? { type: "tool", name } : { type: "auto" }, tools };
}
