/** Counts how often a provider ran its tools for one answer. */
import { type CountedTool, noToolUses, type ToolUses } from "../../billing/usage/hosted_tools.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { readCount } from "../stream/reading.ts";

/**
 * Counts the uses of tools within one answer, from what the answer shows and from what its provider reports. Neither
 * counts more than there was, so the larger one is right.
 *
 * @example
 * ```ts
 * import { ToolUseCount } from "./tool_uses.ts";
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
