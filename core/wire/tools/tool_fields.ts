/** Rules for tools, tool choice and hosted tools that the encoders of all styles share. */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import type { ConversionOptions, ProviderStyle, RouteCapabilities } from "../contract/contract.ts";
import type {
  Conversation,
  HostedTool,
  HostedToolRequest,
  Told,
  Tool,
  ToolChoice,
} from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { refuse } from "../fields/fields.ts";
import type { Warnings } from "../contract/warnings.ts";

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
