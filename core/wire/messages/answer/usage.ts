import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type { ReportedUsage, TokenUsage } from "../../../billing/tokens/token_usage.ts";
import {
  absurdReport,
  isPlausible,
  noReport,
  readCount,
  type UsageReport,
} from "../../stream/reading.ts";

/** The counts of one Messages answer so far; a stream has several reports, and each replaces earlier counts. */
export interface MessagesCounts {
  readonly input?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  /** The part of `cacheWrite` that is kept for an hour. */
  readonly cacheWriteHour?: number;
  readonly output?: number;
  readonly reasoning?: number;
}

/**
 * Enters a `usage` object of the Messages style. Counts are cumulative: they replace earlier ones and are never added;
 * an absent or null count keeps the earlier one. `input_tokens` excludes cached tokens, which have counts of their own;
 * `output_tokens` includes thinking.
 *
 * `iterations` lists every model run of the call, also those that the top-level counts leave out (compaction, advisor),
 * so its sum is used if it is larger; the top-level counts are kept beside it. An impossible list is ignored.
 *
 * @returns the counts to pass with the next report (unchanged if this one is impossible), and the report, in which an
 * unknown count is 0; its kind is `none` until input or output are known
 */
export function enterMessagesUsage(
  earlier: MessagesCounts,
  usage: Json | undefined,
): { readonly counts: MessagesCounts; readonly report: UsageReport } {
  if (usage === undefined || usage === null) return { counts: earlier, report: noReport };
  if (!isJsonObject(usage)) return { counts: earlier, report: absurdReport };
  const counts: MessagesCounts = { ...earlier, ...present(ownCounts(usage)) };
  const { input, output } = counts;
  const top: TokenUsage = {
    input: input ?? 0,
    cacheRead: counts.cacheRead ?? 0,
    cacheWrite: counts.cacheWrite ?? 0,
    ...hourPart(counts.cacheWriteHour, counts.cacheWrite),
    output: output ?? 0,
    reasoning: counts.reasoning ?? 0,
  };
  if (!isPlausible(top)) return { counts: earlier, report: absurdReport };
  if (input === undefined && output === undefined) return { counts, report: noReport };
  return { counts, report: { kind: "counts", usage: withRuns(top, usage["iterations"]) } };
}

/**
 * Returns the `usage` of `message_start` without its output, which is a few tokens whatever the length of the answer. If
 * no later event reports the output, it is unknown.
 */
export function firstMessagesUsage(usage: Json | undefined): Json | undefined {
  return isJsonObject(usage) ? { ...usage, output_tokens: null, iterations: null } : usage;
}

function withRuns(top: TokenUsage, iterations: Json | undefined): ReportedUsage {
  const said = { ...top, reasoning: Math.min(top.reasoning, top.output) };
  const runs = sumOfIterations(iterations);
  if (runs === undefined) return said;
  if (!isPlausible(runs)) return { ...said, partlyAbsurd: true };
  if (total(runs) <= total(top)) return said;
  return { ...runs, reasoning: Math.min(top.reasoning, runs.output), said };
}

interface OwnCounts {
  readonly input: number | undefined;
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly cacheWriteHour: number | undefined;
  readonly output: number | undefined;
  readonly reasoning: number | undefined;
}

function ownCounts(usage: JsonObject): OwnCounts {
  const details = usage["output_tokens_details"];
  return {
    input: readCount(usage["input_tokens"]),
    cacheRead: readCount(usage["cache_read_input_tokens"]),
    cacheWrite: readCount(usage["cache_creation_input_tokens"]) ??
      cacheCreation(usage["cache_creation"]),
    cacheWriteHour: hourWrites(usage["cache_creation"]),
    output: readCount(usage["output_tokens"]),
    reasoning: isJsonObject(details) ? readCount(details["thinking_tokens"]) : undefined,
  };
}

function hourWrites(split: Json | undefined): number | undefined {
  return isJsonObject(split) ? readCount(split["ephemeral_1h_input_tokens"]) : undefined;
}

/** The hour's part of cache writes; absent if there is none. */
function hourPart(
  hour: number | undefined,
  all: number | undefined,
): Pick<TokenUsage, "cacheWriteHour"> {
  return hour === undefined || hour === 0 ? {} : { cacheWriteHour: Math.min(hour, all ?? 0) };
}

/** Sums cache writes over the times to live; some hosts report only the split. */
function cacheCreation(split: Json | undefined): number | undefined {
  if (!isJsonObject(split)) return undefined;
  const short = readCount(split["ephemeral_5m_input_tokens"]);
  const long = readCount(split["ephemeral_1h_input_tokens"]);
  return short === undefined && long === undefined ? undefined : (short ?? 0) + (long ?? 0);
}

function present(own: OwnCounts): MessagesCounts {
  return {
    ...(own.input !== undefined && { input: own.input }),
    ...(own.cacheRead !== undefined && { cacheRead: own.cacheRead }),
    ...(own.cacheWrite !== undefined && { cacheWrite: own.cacheWrite }),
    ...(own.cacheWriteHour !== undefined && { cacheWriteHour: own.cacheWriteHour }),
    ...(own.output !== undefined && { output: own.output }),
    ...(own.reasoning !== undefined && { reasoning: own.reasoning }),
  };
}

function sumOfIterations(iterations: Json | undefined): TokenUsage | undefined {
  if (!Array.isArray(iterations) || iterations.length === 0) return undefined;
  const sum = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
  let hour = 0;
  for (const run of iterations) {
    if (!isJsonObject(run)) continue;
    const own = ownCounts(run);
    sum.input += own.input ?? 0;
    sum.cacheRead += own.cacheRead ?? 0;
    sum.cacheWrite += own.cacheWrite ?? 0;
    hour += own.cacheWriteHour ?? 0;
    sum.output += own.output ?? 0;
  }
  return { ...sum, ...hourPart(hour, sum.cacheWrite) };
}

function total(usage: TokenUsage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
}
