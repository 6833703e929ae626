/**
 * Reads what a model said from JSON of any style, without the gateway's readers: by the names of the members that hold
 * texts, thoughts and calls. Pieces of streams stay pieces, so that nothing depends on how they are put together.
 */
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import { framesOf } from "../../support/mutations.ts";

/** Members whose strings are said by the model. */
const said: ReadonlySet<string> = new Set([
  "text",
  "content",
  "refusal",
  "thinking",
  "reasoning",
  "reasoning_content",
  "delta",
  "partial_json",
]);

/** Members with the arguments of a call: a text, or JSON whose names and values are all said. */
const given: ReadonlySet<string> = new Set(["arguments", "input", "args"]);

/** Members that hold calls by name. */
const calls: ReadonlySet<string> = new Set(["function", "custom", "functionCall", "toolUse"]);
const callTypes: ReadonlySet<Json> = new Set(["tool_use", "function_call", "custom_tool_call"]);

/** Members that never hold what the model says, though members of theirs have such names. */
const besides: ReadonlySet<string> = new Set([
  ...[
    "usage",
    "usageMetadata",
    "error",
    "tools",
    "instructions",
    "metadata",
    "prompt_filter_results",
  ],
  ...["annotations", "citations", "groundingMetadata", "logprobs", "logprobsResult", "tool_choice"],
  ...["content_filter_results", "promptFeedback", "format", "stop_details", "safety_identifier"],
]);

function leaves(value: Json | undefined, found: string[]): void {
  if (typeof value === "string") found.push(value);
  else if (typeof value === "number") found.push(String(value));
  else if (Array.isArray(value)) { for (const one of value) leaves(one, found); }
  else if (isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) {
      found.push(name);
      leaves(member, found);
    }
  }
}

function collect(value: Json | undefined, found: string[]): void {
  if (Array.isArray(value)) return value.forEach((one) => collect(one, found));
  if (!isJsonObject(value)) return;
  // What hosted tools were asked and found is no word of the model.
  if (typeof value["type"] === "string" && /_result$|^server_tool|^mcp_/.test(value["type"])) {
    return;
  }
  if (callTypes.has(value["type"] ?? null)) leaves(value["name"], found);
  for (const [name, member] of Object.entries(value)) {
    if (besides.has(name)) continue;
    if (calls.has(name) && isJsonObject(member)) leaves(member["name"], found);
    if (said.has(name) && typeof member === "string") found.push(member);
    else if (given.has(name)) leaves(member, found);
    else collect(member, found);
  }
}

/** All texts of values, wherever they are, but for what the provider repeats of the request or tells beside the answer. */
export function leavesOf(values: readonly Json[]): string[] {
  const found: string[] = [];
  const visit = (value: Json | undefined): void => {
    if (typeof value === "string" || typeof value === "number") found.push(String(value));
    else if (Array.isArray(value)) value.forEach(visit);
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (besides.has(name)) continue;
        found.push(name);
        visit(member);
      }
    }
  };
  visit([...values]);
  return found;
}

function parsed(text: string): Json {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

/** The JSON of a body, or of each event of a stream. */
export function valuesOf(text: string, isStream: boolean): Json[] {
  return isStream ? framesOf(text).map(({ data }) => parsed(data)) : [parsed(text)];
}

/** What the model says in a body, piece by piece. */
export function piecesOf(values: readonly Json[]): string[] {
  const found: string[] = [];
  collect([...values], found);
  return found;
}

const escapes = /\\(?:u[0-9a-fA-F]{4}|.)/gu;

/** Letters and digits alone: styles differ in quotes, escapes and white space. */
export function plain(text: string): string {
  return text.replace(escapes, "").replace(/[^\p{L}\p{N}]+/gu, "");
}
