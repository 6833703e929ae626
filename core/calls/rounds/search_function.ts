/**
 * Offers a web search as a function, to models that have no search of their own, and runs the calls of it. Each search is
 * a call of its own, with its own receipt.
 */
import { defined } from "../../lib/base/defined.ts";
import type {
  Block,
  Conversation,
  Extra,
  FunctionTool,
  HostedTool,
  Tool,
  ToolChoice,
  WebSearchRequest,
  WebSource,
} from "../../wire/conversation/mod.ts";
import { Warnings } from "../../wire/contract/warnings.ts";
import { renderHostedCall } from "../../wire/tools/hosted_calls.ts";
import { isNamed } from "../../wire/tools/tool_fields.ts";
import { tryParseExactly } from "../../lib/json/exact_json.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import type { AttemptTime } from "../attempts/attempt.ts";
import type { FunctionCall, RanCall, RunTools } from "./tool_rounds.ts";

/** A conversation whose web search became a function. */
export interface OfferedSearch {
  readonly conversation: Conversation;
  /** The name of the function. */
  readonly name: string;
  /** The client's options of the search. */
  readonly request: WebSearchRequest;
}

interface SearchTool extends HostedTool {
  readonly requested: WebSearchRequest;
}

function isSearch(tool: Tool): tool is SearchTool {
  return tool.type === "hosted" && tool.requested?.tool === "web_search";
}

/**
 * Replaces the web search of a request by a function with a query. Further searches, and options that only their own
 * vendor has, are named. Searches of the history become text: the model that reads it did not run them.
 *
 * @returns `undefined` if no web search is requested
 *
 * @example
 * ```ts
 * import { dialectOf } from "../../wire/convert/dialects.ts";
 * import { offerSearch } from "./search_function.ts";
 * const tools = [{ type: "web_search" }, { type: "function", name: "f" }];
 * const offered = offerSearch(dialectOf("responses").decodeRequest({ model: "m", input: "Hi", tools }));
 * const names = offered?.conversation.tools.map((tool) => tool.name);
 * if (names?.join() !== "web_search,f") throw new Error("no function");
 * ```
 */
export function offerSearch(conversation: Conversation): OfferedSearch | undefined {
  const { tools, toolChoice, turns, extras } = conversation;
  const search = tools.find(isSearch);
  if (search === undefined) return undefined;
  const warnings = new Warnings(conversation.warnings);
  for (const path of search.requested.others) warnings.add(path);
  const name = freeName(tools);
  const offered = tools.flatMap((tool): Tool[] => {
    if (tool === search) return [searchFunction(search, name)];
    if (!isSearch(tool)) return [tool];
    warnings.add(tool.path);
    return [];
  });
  const bound = conversation.from === "responses" ? extras.find(isCallBound) : undefined;
  const isOnlyHosted = tools.every((tool) => tool === search || tool.type !== "hosted");
  return {
    name,
    request: boundedBy(search.requested, bound),
    conversation: {
      ...conversation,
      extras: isOnlyHosted ? extras.filter((extra) => extra !== bound) : extras,
      tools: offered,
      turns: turns.map((turn) => ({
        ...turn,
        blocks: turn.blocks.map((block) => searchAsText(block, warnings)),
      })),
      ...defined({ toolChoice: toolChoice && withFunction(toolChoice, search, name) }),
      warnings: warnings.list(),
    },
  };
}

/** A bound on all calls of hosted tools, which only Responses has. */
interface CallBound extends Extra {
  readonly value: number;
}

function isCallBound(extra: Extra): extra is CallBound {
  return extra.path === "max_tool_calls" && typeof extra.value === "number";
}

/** Applies a bound on all calls of hosted tools to the search. */
function boundedBy(request: WebSearchRequest, bound: CallBound | undefined): WebSearchRequest {
  if (bound === undefined) return request;
  const value = Math.min(bound.value, request.maxUses?.value ?? bound.value);
  return { ...request, maxUses: { value, path: bound.path } };
}

/** A name that no tool of the client has. */
function freeName(tools: readonly Tool[]): string {
  const taken = new Set(tools.flatMap((tool) => tool.type === "hosted" ? [] : [tool.name]));
  let name = "web_search";
  while (taken.has(name)) name = `gateway_${name}`;
  return name;
}

function searchFunction({ path, cache }: HostedTool, name: string): FunctionTool {
  return {
    type: "function",
    path,
    name,
    description: "Searches the web and returns what the pages say, with their addresses. " +
      "Use it for what may have changed, or what you do not know for sure.",
    schema: {
      type: "object",
      properties: { query: { type: "string", description: "What to search for, in words" } },
      required: ["query"],
    },
    ...defined({ cache }),
  };
}

function searchAsText(block: Block, warnings: Warnings): Block {
  if (block.type !== "hosted_call" || block.call.tool !== "web_search") return block;
  return { type: "text", path: block.path, text: renderHostedCall(block, warnings) };
}

function withFunction(choice: ToolChoice, search: HostedTool, name: string): ToolChoice {
  if (choice.type === "tool") return isNamed(search, choice.name) ? { ...choice, name } : choice;
  if (choice.type === "none" || choice.allowed === undefined) return choice;
  return {
    ...choice,
    allowed: choice.allowed.map((allowed) => isNamed(search, allowed) ? name : allowed),
  };
}

/** Findings of a search. */
export interface SearchFindings {
  /** The id of the search's own call. */
  readonly id: string;
  /** Text of the pages, or why the search failed. */
  readonly text: string;
  readonly sources: readonly WebSource[];
  readonly failed: boolean;
}

/** Runs the searches of one call. */
export interface WebSearcher {
  readonly time: AttemptTime;
  /** Runs a search as a call of its own. Never rejects. */
  search(query: string, request: WebSearchRequest): Promise<SearchFindings>;
}

/** Searches of one answer where the client sets no bound: what vendors do for a usual question. */
const usualSearches = 5;
/** Searches of one answer whatever the client's bound: each is paid for, and makes the next prompt longer. */
const maxSearches = 10;

/** Runs the calls of the function that {@linkcode offerSearch} offers. */
export class SearchRunner implements RunTools {
  readonly maxCalls: number;
  readonly beyond = "No more searches in this answer: answer with what was found.";
  readonly #offered: OfferedSearch;
  readonly #searcher: WebSearcher;

  constructor(offered: OfferedSearch, searcher: WebSearcher) {
    this.#offered = offered;
    this.#searcher = searcher;
    this.maxCalls = Math.min(offered.request.maxUses?.value ?? usualSearches, maxSearches);
  }

  has(name: string): boolean {
    return name === this.#offered.name;
  }

  async run({ text }: FunctionCall): Promise<RanCall> {
    const query = queryOf(text);
    if (query === undefined) return { result: { text: "The search needs a query.", failed: true } };
    const found = await this.#searcher.search(query, this.#offered.request);
    const { id, sources, failed } = found;
    return {
      shown: { style: "messages", id, call: { tool: "web_search", query, sources, failed } },
      sources,
      result: failed
        ? { text: found.text, failed }
        : { text: [found.text, ...sources.map(sourceLine)].join("\n"), failed },
    };
  }
}

function queryOf(text: string): string | undefined {
  const input = tryParseExactly(text);
  const query = isJsonObject(input) ? input["query"] : undefined;
  return typeof query === "string" && query.trim() !== "" ? query : undefined;
}

function sourceLine({ url, title = "" }: WebSource): string {
  return `- ${title === "" ? url : `${title} (${url})`}`;
}
