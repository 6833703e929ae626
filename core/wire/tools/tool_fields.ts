/**
 * Rules for tools, tool choice and hosted tools that the encoders of all styles share, and the count of the uses of a
 * provider's tools for one answer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type {
  ConversionOptions,
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../contract/contract.ts";
import type {
  Conversation,
  HostedTool,
  HostedToolRequest,
  Told,
  Tool,
  ToolCallBlock,
  ToolChoice,
  ToolInput,
} from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { noneLeft } from "../../lib/base/assert.ts";
import { defined } from "../../lib/base/defined.ts";
import { oneOf, optionalString, refuse } from "../fields/fields.ts";
import { formatName, type SchemaFormat } from "../fields/output_format.ts";
import { allowsStrictChat } from "./schemas/json_schema.ts";
import type { Warnings } from "../contract/warnings.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import type { JsonCount } from "../../lib/errors/json_bounds.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { type CountedTool, noToolUses, type ToolUses } from "../../billing/usage/hosted_tools.ts";
import { readCount } from "../stream/reading.ts";

// Converts tool arguments between text (Chat, Responses) and object (Messages).

/**
 * Reads a call's arguments as an object. No arguments are an empty object. Anything that is not an object is wrapped, so
 * that an old turn never makes the whole conversation fail; `exact` is then `false`.
 *
 * @param count counts the parsed JSON, if it comes from a client
 *
 * @throws {GatewayError} `invalid_json` if there is too much of it, see {@linkcode JsonCount}
 *
 * @example
 * ```ts
 * import { argumentsObject } from "./tool_fields.ts";
 * const { input, exact } = argumentsObject({ kind: "json_text", text: "" });
 * if (!exact || Object.keys(input).length > 0) throw new Error("no arguments are an empty object");
 * if (argumentsObject({ kind: "json_text", text: "{" }).exact) throw new Error("cut JSON is not exact");
 * ```
 */
export function argumentsObject(
  input: ToolInput,
  count?: JsonCount,
): { readonly input: JsonObject; readonly exact: boolean } {
  if (input.kind === "object") return { input: input.value, exact: true };
  if (input.kind === "text") return { input: { input: input.text }, exact: true };
  if (input.text.trim() === "") return { input: {}, exact: true };
  count?.addText(input.text);
  const value = tryParseExactly(input.text);
  if (isJsonObject(value)) return { input: value, exact: true };
  if (typeof value === "string") count?.addText(value);
  // Some servers encode the arguments twice.
  const twice = typeof value === "string" ? tryParseExactly(value) : undefined;
  if (isJsonObject(twice)) return { input: twice, exact: true };
  return { input: { _raw: input.text }, exact: false };
}

/**
 * Returns the arguments of a new answer as an object. What was cut off (output limit in the middle
 * of the JSON) is dropped member by member back to the last one that is whole.
 *
 * @example
 * ```ts
 * import { answerArguments } from "./tool_fields.ts";
 * const input = answerArguments({ kind: "json_text", text: '{"a":1,"b":"cu' });
 * if (JSON.stringify(input) !== '{"a":1}') throw new Error(JSON.stringify(input));
 * ```
 */
export function answerArguments(input: ToolInput): JsonObject {
  const read = argumentsObject(input);
  if (read.exact || input.kind !== "json_text") return read.input;
  const value = tryParseExactly(input.text);
  if (value !== undefined) return read.input;
  return wholeMembers(input.text) ?? {};
}

/** Returns the object up to the last comma at its top level, if that part is JSON. */
function wholeMembers(text: string): JsonObject | undefined {
  let depth = 0;
  let inString = false;
  let lastComma = -1;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (char === "," && depth === 1) lastComma = i;
  }
  if (lastComma < 0) return undefined;
  const value = tryParseExactly(`${text.slice(0, lastComma)}}`);
  return isJsonObject(value) ? value : undefined;
}

/** Writes the arguments as a string; no arguments become an empty object. */
export function argumentsText(call: ToolCallBlock): string {
  if (call.input.kind === "object") return stringifyExactly(call.input.value);
  return call.input.text.trim() === "" ? "{}" : call.input.text;
}

/**
 * Writes the arguments of a call of the history as a string. What is no JSON object is wrapped in one and named: servers
 * parse the arguments for the template of the prompt.
 *
 * @throws {GatewayError} as {@linkcode argumentsObject}
 */
export function historyArguments(
  call: ToolCallBlock,
  count: JsonCount,
  warnings: Warnings,
): string {
  const { input, path } = call;
  if (input.kind !== "json_text" || input.text.trim() === "") return argumentsText(call);
  const read = argumentsObject(input, count);
  if (!read.exact) warnings.add(path);
  return read.exact && input.text.trimStart().startsWith("{")
    ? input.text
    : stringifyExactly(read.input);
}

/**
 * Drops a hosted tool that another vendor can neither run nor describe, with a warning. Refuses the request if there is
 * no other tool to call: agents send a search as a request of its own, and would take any answer for its result.
 *
 * @param carried hosted tools that the other vendor has too
 *
 * @throws {GatewayError} `conversion_refused` if the client relies on the tool
 */
function dropHostedTool(
  tool: HostedTool,
  { tools, toolChoice }: Pick<Conversation, "tools" | "toolChoice">,
  warnings: Warnings,
  carried: readonly HostedTool[] = [],
): void {
  noteHostedTool(tool, toolChoice, warnings);
  if (tool.otherwise === "warn") return;
  const isAlone = carried.length === 0 && tools.every((other) => other.type === "hosted");
  if (tool.otherwise !== "refuse" && (toolChoice?.type === "none" || !isAlone)) return;
  refuse(tool.path, `${tool.kind} ${missingTool(tool)}; leave it out${settingWithout(tool)}`);
}

/**
 * Warns of a hosted tool that other vendors cannot run in the same way.
 *
 * @throws {GatewayError} `conversion_refused` if the caller runs it, or it is forced
 */
function noteHostedTool(
  tool: HostedTool,
  choice: ToolChoice | undefined,
  warnings: Warnings,
): void {
  if (tool.runs === "client") {
    refuse(
      tool.path,
      `${tool.kind} has a schema that only its own provider knows; offer the same as a function of your own`,
    );
  }
  refuseForced(tool, choice);
  warnings.add(tool.path);
}

/**
 * Refuses a forced hosted tool.
 *
 * @throws {GatewayError} `conversion_refused` if a hosted tool is forced
 */
export function refuseForced(tool: HostedTool, choice: ToolChoice | undefined): void {
  if (choice?.type !== "tool" || !isNamed(tool, choice.name)) return;
  refuse(choice.path, `${tool.kind} ${missingTool(tool)}${settingWithout(tool)}`);
}

/** Says what a model lacks to run a hosted tool. */
function missingTool({ requested }: HostedTool): string {
  return requested?.tool === "web_search"
    ? "needs a model that can search the web itself, a route of this one that can " +
      "(the operator allows web_search there), or a webSearchModel in the operator's gateway.json"
    : "runs only at its own provider, not for this model";
}

/** The settings of widely used agents that switch their search off, as an addition to a message. */
function settingWithout({ requested }: HostedTool): string {
  return requested?.tool === "web_search"
    ? ' (in Claude Code: deny WebSearch in its permissions; in Codex: web_search = "disabled")'
    : "";
}

/** Whether `style` has any hosted tools for requests of other styles. */
export function takesHostedTools(
  style: ProviderStyle,
  capabilities: RouteCapabilities,
): boolean {
  if (style === "converse") return false;
  return style !== "chat" || capabilities.extra_fields?.includes(searchField) === true;
}

/** The field of a Chat request that lets its model search the web. */
export const searchField = "web_search_options";

/** Whether a choice names a hosted tool: by its name, or by its kind. */
export function isNamed(tool: HostedTool, name: string): boolean {
  return tool.name === name || tool.kind === name;
}

/**
 * Returns the hosted tools that the other vendor has and the route allows: the first of each kind, and all MCP servers.
 * Drops the others with a warning, or refuses the request.
 *
 * @param has whether the target's style has a tool for the request
 */
export function carriedHosted(
  conversation: Pick<Conversation, "tools" | "toolChoice">,
  { allow }: ConversionOptions,
  warnings: Warnings,
  has: (requested: HostedToolRequest) => boolean,
): CarriedTool[] {
  const carried: CarriedTool[] = [];
  const left: HostedTool[] = [];
  const repeats = (requested: HostedToolRequest) =>
    requested.tool !== "mcp" && carried.some((other) => other.requested.tool === requested.tool);
  for (const tool of conversation.tools) {
    if (tool.type !== "hosted") continue;
    const { requested } = tool;
    const isCarried = requested !== undefined && has(requested) &&
      allow?.has(requested.tool) !== false;
    if (isCarried && !repeats(requested)) carried.push({ ...tool, requested });
    else left.push(tool);
  }
  for (const tool of left) {
    if (tool.requested !== undefined && repeats(tool.requested)) warnings.add(tool.path);
    else dropHostedTool(tool, conversation, warnings, carried);
  }
  return carried;
}

/** A hosted tool that is carried to the route. */
export interface CarriedTool extends HostedTool {
  readonly requested: HostedToolRequest;
}

/** Warns of options that were not carried. */
export function warnOfRequested(
  told: readonly (Told<unknown> | undefined)[],
  warnings: Warnings,
): void {
  for (const one of told) if (one !== undefined) warnings.add(one.path);
}

/**
 * Chat and Responses: reads whether one of the allowed tools must be called.
 *
 * @throws {GatewayError} `invalid_request` for another word than the two
 */
export function readAllowedMode(choice: JsonObject, path: string): "auto" | "required" {
  return oneOf(optionalString(choice, "mode", path) ?? "auto", ["auto", "required"], path);
}

/** Chat and Responses: reads a choice given as a string; some vendors write `any` for `required`. */
export function readChoiceWord(choice: Json): "auto" | "required" | "none" | undefined {
  if (choice === "any") return "required";
  return choice === "auto" || choice === "required" || choice === "none" ? choice : undefined;
}

/** Returns a choice that the route can carry: if a call cannot be forced, the model may choose. */
export function carriedChoice(
  choice: ToolChoice,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): ToolChoice {
  const isForced = choice.type === "required" || choice.type === "tool";
  if (!isForced || capabilities.tool_choice_required) return choice;
  warnings.add(choice.path);
  return { type: "auto", path: choice.path };
}

/** Warns of a forced choice if no tool is left: the field is dropped with the tools, but not silently. */
export function warnOfIdleChoice(choice: ToolChoice | undefined, warnings: Warnings): void {
  if (choice?.type === "required" || choice?.type === "tool") warnings.add(choice.path);
}

/** Returns the client's path of the `strict` of a function or of a format. */
export function strictPath(
  { path, strictPath }: { readonly path: string; readonly strictPath?: string },
): string {
  return strictPath ?? `${path}.strict`;
}

/** Chat and Responses: the members that name and describe the schema of an answer. */
export function namedSchema(
  { type: _, schema, name, description, strict, strictPath: at, path, ...rest }: SchemaFormat,
  from: Style,
  warnings: Warnings,
): JsonObject {
  noneLeft(rest);
  const enforced = strict !== false && allowsStrictChat(schema);
  // Without `strict` neither style enforces a schema; Messages always does, and has no such field.
  const isSaid = strict !== undefined || from === "messages";
  if (strict === true && !enforced) {
    warnings.add(strictPath({ path, ...defined({ strictPath: at }) }));
  }
  return {
    name: formatName(name),
    ...defined({ description }),
    schema,
    ...(isSaid ? { strict: enforced } : {}),
  };
}

/** Whether a name is that of a tool that takes free text. */
export function isCustomTool(tools: readonly Tool[], name: string): boolean {
  return tools.some((tool) => tool.type === "custom" && tool.name === name);
}

/** Chat and Responses: writes the request for one tool call at a time. */
export function writeParallelTools(
  conversation: Pick<Conversation, "from" | "parallelTools">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  if (conversation.parallelTools !== false) return;
  if (capabilities.parallel_flag) body.parallel_tool_calls = false;
  else warnings.add(parallelPath(conversation));
}

/** Returns the client's name for the field that allows one call at a time. */
export function parallelPath(conversation: Pick<Conversation, "from">): string {
  return conversation.from === "messages"
    ? "tool_choice.disable_parallel_tool_use"
    : "parallel_tool_calls";
}

/**
 * Counts the uses of tools within one answer, from what the answer shows and from what its provider reports. Neither
 * counts more than there was, so the larger one is right.
 *
 * @example
 * ```ts
 * import { ToolUseCount } from "./tool_fields.ts";
 * const count = new ToolUseCount(true);
 * count.saw("web_search");
 * count.reported("web_search", 2);
 * count.saw("web_search");
 * if (count.uses?.web_search !== 2) throw new Error("counted twice");
 * ```
 */
export class ToolUseCount {
  readonly #seen = new Map<CountedTool, number>();
  #uses: ToolUses | undefined;

  /** @param shows whether the style shows every use, so that an answer without any had none */
  constructor(shows: boolean) {
    this.#uses = shows ? noToolUses : undefined;
  }

  /** The uses so far; `undefined` if nothing tells how many there were. */
  get uses(): ToolUses | undefined {
    return this.#uses;
  }

  /** Enters one use that the answer shows. */
  saw(tool: CountedTool): void {
    const seen = (this.#seen.get(tool) ?? 0) + 1;
    this.#seen.set(tool, seen);
    this.reported(tool, seen);
  }

  /** Enters a count of all uses so far; 0 shows that the provider counts. */
  reported(tool: CountedTool, count: number): void {
    const known = this.#uses?.[tool] ?? 0;
    if (count <= known && this.#uses !== undefined) return;
    this.#uses = count > 0 ? { ...this.#uses, [tool]: count } : this.#uses ?? noToolUses;
  }

  /** Enters an object of counts, of which each name belongs to a tool. Nonsense is left out. */
  reportedIn(holder: Json | undefined, tools: ReadonlyMap<string, CountedTool>): void {
    if (!isJsonObject(holder)) return;
    const sums = new Map<CountedTool, number>();
    for (const [name, tool] of tools) {
      const count = readCount(holder[name]);
      if (count === undefined || Number.isNaN(count)) continue;
      sums.set(tool, (sums.get(tool) ?? 0) + count);
    }
    for (const [tool, count] of sums) this.reported(tool, count);
  }
}

/** The counts of `usage.server_tool_use`, of the Messages vendor and of aggregators. */
const requestCounts: ReadonlyMap<string, CountedTool> = new Map([
  ["web_search_requests", "web_search"],
  ["web_fetch_requests", "web_fetch"],
  ["code_execution_requests", "code_execution"],
]);

/** The counts of `usage.server_side_tool_usage_details` (xAI). */
const callCounts: ReadonlyMap<string, CountedTool> = new Map([
  ["web_search_calls", "web_search"],
  ["x_search_calls", "web_search"],
  ["code_interpreter_calls", "code_execution"],
  ["file_search_calls", "file_search"],
]);

/** The counts beside the tokens of `usage` (Perplexity). */
const queryCounts: ReadonlyMap<string, CountedTool> = new Map([
  ["num_search_queries", "web_search"],
]);

/** Enters the counts of a `usage` object, of whichever style. */
export function countReportedUses(count: ToolUseCount, usage: Json | undefined): void {
  if (!isJsonObject(usage)) return;
  count.reportedIn(usage["server_tool_use"], requestCounts);
  count.reportedIn(usage["server_side_tool_usage_details"], callCounts);
  count.reportedIn(usage, queryCounts);
}
