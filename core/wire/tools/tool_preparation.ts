/**
 * Adapts the tools of a conversation to a route: legal names and ids, free-text tools as functions if the route has
 * none, object schemas, only the allowed tools. Calls in the history and the tool choice change with them.
 *
 * Names and ids are pure functions of the client's, so they agree between requests. The memory records what the answer
 * must restore; see `core/wire/convert/convert.ts`.
 *
 * - Folder `core/wire/tools/`: conversion of tools: names, ids, JSON Schemas, arguments, hosted
 *   tools, structured answers.
 * - In: the tools, calls and results of a conversation, and the capabilities of the route.
 * - Out: tools that the route takes, and what restores the client's form in the answer.
 * - Never: runs a tool, or imports the folder of a style.
 */
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import type { Json } from "../../lib/json/json.ts";
import { JsonCount } from "../../lib/errors/json_bounds.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ConversionMemory } from "../contract/contract.ts";
import type {
  Block,
  Conversation,
  CustomTool,
  FunctionTool,
  Tool,
  ToolCallBlock,
  ToolChoice,
  ToolInput,
} from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { hasObjectRoot, schemaInObject } from "./schemas/json_schema.ts";
import { Warnings } from "../contract/warnings.ts";
import { warnOfIdleChoice } from "./tool_fields.ts";
import { modelId, spelledId } from "../fields/answer_ids.ts";
import { defined } from "../../lib/base/defined.ts";
import { hashBase62, hashHex } from "../../lib/hash/short_hash.ts";

// Maps tool call ids from one style to another.
//
// An id that is legal at the target stays, so that a client that changes style within a conversation still finds its
// calls. Otherwise the new id is a pure function of the old one: calls and results are mapped alike in every request,
// without state.

/**
 * Maps an id to the form a route takes.
 *
 * @example
 * ```ts
 * import { toolIdFor } from "./tool_preparation.ts";
 * if (toolIdFor("word", "call_1") !== "call_1") throw new Error("legal ids must pass");
 * if (toolIdFor("word", "get_x:0") === toolIdFor("word", "get_x_0")) throw new Error("two calls became one");
 * ```
 */
export function toolIdFor(rule: ResolvedCapabilities["tool_id"], given: string): string {
  const id = modelId(given);
  switch (rule) {
    case "any":
      return id;
    case "max40":
      return id.length <= 40 ? id : `call_${hashHex(id)}`;
    case "alnum9":
      return /^[a-zA-Z0-9]{9}$/.test(id) ? id : hashBase62(id, 9);
    case "word":
      return wordId(id);
    case "word64":
      return wordId(id.length <= 64 ? id : `${id.slice(0, 31)}_${hashHex(id)}`);
  }
}

/** The same for a Messages client, in a form that is restored when the client sends it back. */
export function clientWordId(id: string): string {
  if (id === "" || /^[a-zA-Z0-9_-]+$/.test(id)) return wordId(id);
  return spelledId(id) ?? wordId(id);
}

/** Maps an id to `^[a-zA-Z0-9_-]+$`, as Messages takes it. A changed id ends in a hash of the original, to stay unique. */
export function wordId(id: string): string {
  if (/^[a-zA-Z0-9_-]+$/.test(id)) return id;
  if (id === "") return `toolu_${hashHex("")}`;
  return `${id.slice(0, 40).replace(/[^a-zA-Z0-9_-]/g, "_")}_${hashHex(id).slice(0, 8)}`;
}

// Maps tool names to the form that a vendor takes: `[a-zA-Z0-9_-]`, with a limit on the length. Names of MCP tools
// (`server.tool/with path`) often break both rules.

/**
 * Returns a legal name for a tool: the name itself, or its beginning with an 8-digit hash of the
 * whole. A pure function, so tools, tool choice and history agree, also between requests.
 *
 * @example
 * ```ts
 * import { toolNameFor } from "./tool_preparation.ts";
 * if (toolNameFor("get_weather", 64) !== "get_weather") throw new Error("legal names must pass");
 * if (!/^a_b_c_[0-9a-f]{8}$/.test(toolNameFor("a.b/c", 64))) throw new Error("not shortened");
 * ```
 */
export function toolNameFor(
  name: string,
  maxChars: number,
  start: ResolvedCapabilities["tool_name_start"] = "any",
): string {
  const begins = start === "any" || /^[a-zA-Z_]/.test(name);
  if (begins && name.length <= maxChars && /^[a-zA-Z0-9_-]+$/.test(name)) return name;
  const kept = `${begins ? "" : "_"}${name}`.slice(0, maxChars - 9);
  return `${kept.replace(/[^a-zA-Z0-9_-]/g, "_")}_${hashHex(name).slice(0, 8)}`;
}

/** A conversation whose tools fit the route, and the memory of the changes. */
export interface PreparedTools {
  readonly conversation: Conversation;
  readonly memory: ConversionMemory;
}

/** Prepares the tools of a normalized conversation for a route. */
export function prepareTools(
  conversation: Conversation,
  capabilities: ResolvedCapabilities,
): PreparedTools {
  const preparation = new Preparation(capabilities, conversation.warnings);
  return preparation.run(conversation);
}

class Preparation {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #renamed = new Map<string, string>();
  readonly #custom = new Set<string>();
  readonly #wrapped = new Set<string>();
  /** Counts the parsed arguments of calls of wrapped tools. */
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: readonly string[]) {
    this.#capabilities = capabilities;
    this.#warnings = new Warnings(warnings);
  }

  run(conversation: Conversation): PreparedTools {
    const allowed = allowedNames(conversation.toolChoice);
    const tools = conversation.tools
      .filter((tool) => {
        const isAllowed = allowed === undefined || allowed.has(nameOf(tool));
        if (!isAllowed && tool.type === "hosted") this.#warnings.add(tool.path);
        return isAllowed;
      })
      .map((tool) => this.#tool(tool));
    const { toolChoice, parallelTools, ...rest } = conversation;
    if (tools.length === 0) warnOfIdleChoice(toolChoice, this.#warnings);
    const prepared: Conversation = {
      ...rest,
      tools,
      turns: conversation.turns.map((turn) => {
        const blocks = turn.blocks.map((block) => this.#block(block));
        return blocks.every((block, i) => block === turn.blocks[i]) ? turn : { ...turn, blocks };
      }),
      warnings: this.#warnings.list(),
      // Vendors refuse both fields without tools.
      ...(tools.length > 0 && toolChoice !== undefined
        ? { toolChoice: this.#choice(toolChoice) }
        : {}),
      ...(tools.length > 0 && parallelTools !== undefined ? { parallelTools } : {}),
    };
    return { conversation: prepared, memory: this.#memory(tools) };
  }

  #memory(tools: readonly Tool[]): ConversionMemory {
    const offered = tools.filter((tool) => tool.type !== "hosted").map((tool) => tool.name);
    return {
      ...(offered.length > 0 ? { offeredTools: new Set(offered) } : {}),
      ...(this.#renamed.size > 0 ? { toolNames: this.#renamed } : {}),
      ...(this.#custom.size > 0 ? { customTools: this.#custom } : {}),
      ...(this.#wrapped.size > 0 ? { wrappedTools: this.#wrapped } : {}),
    };
  }

  #name(name: string): string {
    const { tool_name_max, tool_name_start } = this.#capabilities;
    return toolNameFor(name, tool_name_max, tool_name_start);
  }

  #tool(tool: Tool): Tool {
    if (tool.type === "hosted") return tool;
    const name = this.#name(tool.name);
    if (name !== tool.name) this.#renamed.set(name, tool.name);
    if (tool.type === "custom") {
      return this.#capabilities.custom_tools ? { ...tool, name } : this.#asFunction(tool, name);
    }
    return this.#withObjectSchema(tool, name);
  }

  #asFunction(tool: CustomTool, name: string): FunctionTool {
    this.#custom.add(tool.name);
    this.#warnings.add(tool.path);
    const grammar = tool.format?.["type"] === "grammar"
      ? `The input must match this ${words(tool.format["syntax"])} grammar:\n${
        words(tool.format["definition"])
      }`
      : undefined;
    const description = [tool.description, grammar].filter((text) => text !== undefined);
    return {
      type: "function",
      path: tool.path,
      name,
      ...(description.length > 0 ? { description: description.join("\n\n") } : {}),
      schema: schemaInObject({ type: "string" }, "input"),
      ...defined({ cache: tool.cache }),
    };
  }

  #withObjectSchema(tool: FunctionTool, name: string): FunctionTool {
    const schema = tool.schema;
    if (schema === undefined) return { ...tool, name };
    if (hasObjectRoot(schema)) {
      if (schema["type"] === "object") return name === tool.name ? tool : { ...tool, name };
      return { ...tool, name, schema: { type: "object", ...schema } };
    }
    this.#wrapped.add(tool.name);
    this.#warnings.add(tool.path);
    return { ...tool, name, schema: schemaInObject(schema, "input") };
  }

  #choice(choice: ToolChoice): ToolChoice {
    if (choice.type === "tool") return { ...choice, name: this.#name(choice.name) };
    if (choice.type === "none") return choice;
    return { type: choice.type, path: choice.path };
  }

  #block(block: Block): Block {
    if (block.type === "tool_call") return this.#call(block);
    if (block.type !== "tool_result") return block;
    const callId = toolIdFor(this.#capabilities.tool_id, block.callId);
    const keepsCustom = block.custom === undefined || this.#capabilities.custom_tools;
    if (callId === block.callId && keepsCustom) return block;
    const { custom, ...rest } = block;
    return { ...rest, callId, ...(custom === true && keepsCustom ? { custom } : {}) };
  }

  #call(call: ToolCallBlock): ToolCallBlock {
    const id = toolIdFor(this.#capabilities.tool_id, call.id);
    const name = this.#name(call.name);
    const input = this.#input(call);
    if (id === call.id && name === call.name && input === call.input) return call;
    return { ...call, id, name, input };
  }

  #input(call: ToolCallBlock): ToolInput {
    if (call.input.kind === "text") {
      return this.#capabilities.custom_tools
        ? call.input
        : { kind: "object", value: { input: call.input.text } };
    }
    if (!this.#wrapped.has(call.name)) return call.input;
    if (call.input.kind === "json_text") this.#count.addText(call.input.text);
    const { input } = call;
    const value = input.kind === "object" ? input.value : tryParseExactly(input.text) ?? input.text;
    return { kind: "object", value: { input: value } };
  }
}

/** Renders a grammar for the description of a tool, in any form. */
function words(value: Json | undefined): string {
  return typeof value === "string" ? value : stringifyExactly(value ?? null);
}

function nameOf(tool: Tool): string {
  return tool.type === "hosted" ? tool.name ?? tool.kind : tool.name;
}

function allowedNames(choice: ToolChoice | undefined): ReadonlySet<string> | undefined {
  if (choice === undefined || choice.type === "none" || choice.type === "tool") return undefined;
  return choice.allowed === undefined ? undefined : new Set(choice.allowed);
}
