import {
  count,
  maybeText,
  orNull,
  type Written,
  writtenSchema,
} from "../../../lib/json/schemas.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  noTokens,
  type ReportedUsage,
  type TokenUsage,
} from "../../../billing/tokens/token_bounds.ts";
import type { AnswerReading } from "../../contract/contract.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { isRefusal, readStop } from "../../fields/stop_words.ts";
import { answerFailure } from "../../stream/answer_gate.ts";
import {
  absurdReport,
  enterReport,
  isPlausible,
  noReport,
  readCount,
  textBytes,
  type UsageReport,
} from "../../stream/reading.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";
import type { Stop, StopReason } from "../../conversation/mod.ts";
import { hostedUseMembers } from "./hosted_calls.ts";
import type { CountedTool } from "../../../billing/usage/hosted_tools.ts";

// Reads and writes stop reasons of Messages.
//
// See docs/internals/WIRE_FORMATS.md#messages-answer and docs/conversion.md#answers.

/** Reads the stop reason and its details. */
export function readMessagesStop(
  from: {
    readonly stop_reason?: Json;
    readonly stop_sequence?: Json;
    readonly stop_details?: Json;
  },
  hasCalls: boolean,
): Stop {
  const { stop_reason, stop_sequence, stop_details } = from;
  const explanation = isJsonObject(stop_details) ? stop_details.explanation : undefined;
  return {
    ...readStop(stop_reason, hasCalls),
    ...(typeof stop_sequence === "string" ? { sequence: stop_sequence } : {}),
    ...(typeof explanation === "string" ? { explanation } : {}),
  };
}

const words: Readonly<Record<Exclude<StopReason, "unknown">, string>> = {
  end: "end_turn",
  length: "max_tokens",
  stop_sequence: "stop_sequence",
  tool_calls: "tool_use",
  pause: "pause_turn",
  refusal: "refusal",
};

const detailMembers = { type: { const: "refusal" }, category: maybeText, explanation: maybeText };

/** The members of a message (or `message_delta`) for the stop reason. */
export const messagesStopMembers = {
  stop_reason: maybeText,
  stop_sequence: maybeText,
  stop_details: orNull(writtenSchema("Why the model refused.", detailMembers, ["type"])),
};

/** Writes these members. */
export function writeMessagesStop(stop: Stop): Required<Written<typeof messagesStopMembers>> {
  const details: Written<typeof detailMembers> = {
    type: "refusal",
    category: null,
    explanation: stop.explanation ?? null,
  };
  return {
    stop_reason: stop.reason === "unknown" ? stop.name ?? stop.reason : words[stop.reason],
    stop_sequence: stop.sequence ?? null,
    stop_details: stop.reason === "refusal" ? details : null,
  };
}

// Counts hosted tools in a Messages answer by their results; a search that failed is not billed.

const toolOfResult: ReadonlyMap<string, CountedTool> = new Map([
  ["web_search_tool_result", "web_search"],
  ["web_fetch_tool_result", "web_fetch"],
  ["code_execution_tool_result", "code_execution"],
  ["bash_code_execution_tool_result", "code_execution"],
  ["text_editor_code_execution_tool_result", "code_execution"],
]);

/** Enters a content block. */
export function countBlockUse(count: ToolUseCount, block: Json | undefined): void {
  if (!isJsonObject(block) || typeof block["type"] !== "string") return;
  const tool = toolOfResult.get(block["type"]);
  if (tool === undefined) return;
  const { content } = block;
  const failed = isJsonObject(content) && String(content["type"]).endsWith("_error");
  if (!failed) count.saw(tool);
}

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

// Writes token buckets as a Messages `usage` object.
//
// See docs/internals/WIRE_FORMATS.md#usage.

const thinkingMembers = { thinking_tokens: count };

/** The members of `usage`. Those that are not of every answer may be `null` where the vendor writes them. */
export const messagesUsageMembers = {
  input_tokens: count,
  cache_creation_input_tokens: orNull(count),
  cache_read_input_tokens: orNull(count),
  output_tokens: count,
  output_tokens_details: orNull(writtenSchema("A part of the output.", thinkingMembers, [])),
  service_tier: maybeText,
  server_tool_use: orNull(
    writtenSchema("Uses of tools that the provider ran.", hostedUseMembers, []),
  ),
};

type MessagesUsage = Written<typeof messagesUsageMembers>;

/** Translates a service tier into the vendor's value; the vendor always sends one. */
export function writeMessagesTier(tier: string | undefined): MessagesUsage {
  return { service_tier: tier === "priority" ? "priority" : "standard" };
}

/** Writes usage in the counting of Messages: cached tokens are not part of the input. Without usage all are zero. */
export function writeMessagesUsage(usage: TokenUsage | undefined): MessagesUsage {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage ?? noTokens;
  const details: Written<typeof thinkingMembers> = { thinking_tokens: reasoning };
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(reasoning > 0 ? { output_tokens_details: details } : {}),
  };
}

/** Reads a whole answer of the Messages style. */
export function readMessagesAnswer(body: JsonObject): AnswerReading {
  const counts: { usage: ReportedUsage | undefined; usageRejected: boolean } = {
    usage: undefined,
    usageRejected: false,
  };
  enterReport(counts, enterMessagesUsage({}, body["usage"]).report);
  const toolUses = new ToolUseCount(true);
  countReportedUses(toolUses, body["usage"]);
  const stopReason = body["stop_reason"];
  let empty = !isRefusal(stopReason);
  let outputBytes = 0;
  const content = body["content"];
  for (const block of Array.isArray(content) ? content : []) {
    if (!isJsonObject(block)) continue;
    const bytes = blockBytes(block);
    countBlockUse(toolUses, block);
    outputBytes += bytes;
    if (bytes > 0 || isPartByItself(block)) empty = false;
  }
  const isError = body["type"] === "error" || isJsonObject(body["error"]) ||
    (typeof body["error"] === "string" && body["error"] !== "");
  return {
    ...counts,
    toolUses: toolUses.uses,
    serviceTier: tierOf(body["usage"]),
    empty,
    outputBytes,
    stopReason: typeof stopReason === "string" ? stopReason : undefined,
    error: isError ? readProviderError(body) : answerFailure("messages", body, {
      reasons: [stopReason],
      hasOutput: !empty && Array.isArray(content),
      usage: counts.usage,
    }),
  };
}

/** Whether a block is a part of an answer without any text: a call, or one of a type that the client may know. */
function isPartByItself({ type, name }: JsonObject): boolean {
  if (typeof type !== "string" || type === "" || type === "text" || type === "thinking") {
    return false;
  }
  return type !== "tool_use" || (typeof name === "string" && name !== "");
}

function tierOf(usage: Json | undefined): string | undefined {
  const tier = isJsonObject(usage) ? usage["service_tier"] : undefined;
  return typeof tier === "string" ? tier : undefined;
}

function blockBytes(block: JsonObject): number {
  const input = block["input"];
  return textBytes(block["text"]) + textBytes(block["thinking"]) + textBytes(block["data"]) +
    (isJsonObject(input) && Object.keys(input).length > 0 ? textBytes(stringifyExactly(input)) : 0);
}
