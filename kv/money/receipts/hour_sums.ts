/**
 * Computes sums by hour, with histograms of the times of calls and numbers of errors by kind: for charts, and to pass over
 * hours in which no call fits a filter. A row belongs to a day sum and has its 24 hours; it is written in the commit of
 * the day sum, whose check guards both. Rows expire and can be rebuilt from receipts.
 */
import { failureCodeOf } from "../../../core/billing/usage/call_failure.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { LogHistogram } from "../../../core/lib/base/log_histogram.ts";
import { vietnamOffsetMs } from "../../../core/lib/time/vietnam_time.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  hourCellOf,
  hourSumsOfAccountPrefix,
  hourSumsOfDayPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { DaySumCell } from "./day_sums.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";

/** Days of hours that pages read: a month, and the one before it in part. */
export const hourSumsDays = 40;

/** Milliseconds after which a row expires, after its last change: a day longer than it is read. */
export const hourSumsKeptMs = (hourSumsDays + 1) * dayMs;

/** Kinds of errors that an hour tells apart; further ones count as `other`. Codes and statuses are far fewer. */
const maxErrorKinds = 32;

/** The calls of an hour. */
export interface HourSum {
  calls: number;
  /** Calls with a status from 400 on, and those without an answer. */
  failed: number;
  inputTokens: number;
  outputTokens: number;
  costMicroVnd: bigint;
  /** Times of answered calls. */
  readonly latency: LogHistogram;
  /** Times to first output, of the same calls: an answer in one piece begins when it ends. */
  readonly firstOutput: LogHistogram;
  /** Numbers of failed calls by `status code`. */
  readonly errors: Map<string, number>;
}

/** The hours of a day sum, by hour of the day in Vietnam. */
export interface HourSums {
  /** Calls of the day sum that the hours lack: those that an earlier release indexed, until the sums are rebuilt. */
  readonly missingCalls: number;
  readonly hours: ReadonlyMap<number, HourSum>;
}

/** Returns the hour of the day in Vietnam, 0 to 23. */
export function vietnamHour(atMs: number): number {
  return Math.floor((atMs + vietnamOffsetMs) / hourMs) % 24;
}

/** The sum of no calls. */
export function emptyHour(): HourSum {
  return {
    calls: 0,
    failed: 0,
    inputTokens: 0,
    outputTokens: 0,
    costMicroVnd: 0n,
    latency: new LogHistogram(),
    firstOutput: new LogHistogram(),
    errors: new Map(),
  };
}

/** Counts errors of a kind, in place. */
export function countErrors(errors: Map<string, number>, kind: string, count: number): void {
  const name = errors.has(kind) || errors.size < maxErrorKinds ? kind : "0 other";
  errors.set(name, (errors.get(name) ?? 0) + count);
}

/** Names a kind of error. Codes are of the table of errors or of attempts; anything else is reduced to their letters. */
export function errorKind(status: number, code: string): string {
  return `${status} ${code.replace(/[^a-z0-9_]/g, "_").slice(0, 40)}`;
}

/** Whether a receipt is of a call that failed for its client. */
export function isFailed(
  receipt: { readonly status: number } & Parameters<typeof failureCodeOf>[0],
): boolean {
  return receipt.status >= 400 || failureCodeOf(receipt) !== undefined;
}

/** Adds a receipt to its hour, in place. */
function addToHour(sum: HourSum, receipt: Receipt): void {
  sum.calls++;
  const { usage } = receipt;
  if (usage !== undefined) {
    sum.inputTokens += billedInputTokens(usage);
    sum.outputTokens += usage.output;
  }
  sum.costMicroVnd += receipt.costMicroVnd;
  if (!isFailed(receipt)) {
    sum.latency.add(receipt.latencyMs);
    sum.firstOutput.add(receipt.firstOutputMs ?? receipt.latencyMs);
    return;
  }
  sum.failed++;
  const code = failureCodeOf(receipt) ?? receipt.outcome;
  countErrors(sum.errors, errorKind(receipt.status, code), 1);
}

/** Adds one hour to another, in place. */
export function addHour(sum: HourSum, other: HourSum): void {
  sum.calls += other.calls;
  sum.failed += other.failed;
  sum.inputTokens += other.inputTokens;
  sum.outputTokens += other.outputTokens;
  sum.costMicroVnd += other.costMicroVnd;
  sum.latency.addAll(other.latency);
  sum.firstOutput.addAll(other.firstOutput);
  for (const [kind, count] of other.errors) countErrors(sum.errors, kind, count);
}

/** Adds receipts of one day sum to its hours, in place. */
export function addToHours(hours: Map<number, HourSum>, receipt: Receipt): void {
  const hour = vietnamHour(receipt.startedAtMs);
  let sum = hours.get(hour);
  if (sum === undefined) {
    sum = emptyHour();
    hours.set(hour, sum);
  }
  addToHour(sum, receipt);
}

/** Writes numbers of errors as text. */
export function encodeErrors(errors: ReadonlyMap<string, number>): string {
  return [...errors].map(([kind, count]) => `${kind}=${count}`).join();
}

/** Reads what {@linkcode encodeErrors} wrote. */
export function decodeErrors(text: string): Map<string, number> {
  const errors = new Map<string, number>();
  if (text === "") return errors;
  for (const pair of text.split(",")) {
    const equals = pair.lastIndexOf("=");
    errors.set(pair.slice(0, equals), Number(pair.slice(equals + 1)));
  }
  return errors;
}

function encodeHour(hour: number, sum: HourSum): string {
  return [
    hour,
    sum.calls,
    sum.failed,
    sum.inputTokens,
    sum.outputTokens,
    sum.costMicroVnd,
    sum.latency.countsText(),
    sum.firstOutput.countsText(),
    encodeErrors(sum.errors),
    // An earlier release reads the parts before these, and writes none of them.
    sum.latency.valuesText(),
    sum.firstOutput.valuesText(),
  ].join("|");
}

function decodeHour(line: string): HourSum {
  const parts = line.split("|");
  const [, calls, failed, input, output, cost] = parts;
  const [latency = "", first = "", errors = "", latencies, firsts] = parts.slice(6);
  // Most readers need one of these three, and a month has thousands of them.
  let latencyCounts: LogHistogram | undefined;
  let firstCounts: LogHistogram | undefined;
  let errorCounts: Map<string, number> | undefined;
  return {
    calls: Number(calls),
    failed: Number(failed),
    inputTokens: Number(input),
    outputTokens: Number(output),
    costMicroVnd: BigInt(cost ?? "0"),
    get latency() {
      return latencyCounts ??= LogHistogram.parse(latency, latencies);
    },
    get firstOutput() {
      return firstCounts ??= LogHistogram.parse(first, firsts);
    },
    get errors() {
      return errorCounts ??= decodeErrors(errors);
    },
  };
}

/**
 * The stored text: a line of the missing calls, then one per hour. The indexer changes one hour of it per write, so the
 * other lines are passed on as they are.
 */
export function encodeHourSums({ missingCalls, hours }: HourSums): string {
  const lines = [...hours].sort(([one], [other]) => one - other)
    .map(([hour, sum]) => encodeHour(hour, sum));
  return [missingCalls, ...lines].join("\n");
}

/**
 * Reads a row.
 *
 * @throws {InvariantError} if the row has no sums by hour
 */
export function decodeHourSums(value: unknown): HourSums {
  invariant(typeof value === "string", "not a row of sums by hour");
  const [missing, ...lines] = value.split("\n");
  const hours = new Map(lines.map((line) => [Number.parseInt(line), decodeHour(line)]));
  return { missingCalls: Number(missing), hours };
}

/**
 * Returns the text of a row with hours added.
 *
 * @param text the stored text; `undefined` if there is none yet
 * @param callsBefore the calls of the day sum before these: those of them that the row does not have are missing
 */
export function addHoursToText(
  text: string | undefined,
  added: ReadonlyMap<number, HourSum>,
  callsBefore: number,
): string {
  if (text === undefined) return encodeHourSums({ missingCalls: callsBefore, hours: added });
  const lines = text.split("\n");
  let countedCalls = 0;
  for (const line of lines.slice(1)) countedCalls += Number(line.split("|", 2)[1]);
  lines[0] = String(Math.max(0, callsBefore - countedCalls));
  for (const [hour, sum] of added) {
    const at = lines.findIndex((line, at) => at > 0 && line.startsWith(`${hour}|`));
    if (at < 0) {
      lines.push(encodeHour(hour, sum));
      continue;
    }
    const total = decodeHour(lines[at] ?? "");
    addHour(total, sum);
    lines[at] = encodeHour(hour, total);
  }
  return lines.join("\n");
}

// Reads sums by hour, of one account or of all.

/** The hours of one day sum. */
export interface HourRow {
  readonly cell: DaySumCell;
  readonly sums: HourSums;
}

/** Rows that are read at once, of up to 8 KB each. */
const rowsPerRead = 500;

/** Reads the hours of a day. Calls settled within the last second may be missing. */
export async function* readHours(
  kv: KeyValueStore,
  day: string,
  accountId?: AccountId,
): AsyncGenerator<HourRow, void, void> {
  const prefix = accountId === undefined
    ? hourSumsOfDayPrefix(day)
    : hourSumsOfAccountPrefix(day, accountId);
  for await (const entry of kv.list<unknown>({ prefix }, { batchSize: rowsPerRead })) {
    yield hourRowOf(entry);
  }
}

/** Reads a row of hours. */
export function hourRowOf({ key, value }: Deno.KvEntry<unknown>): HourRow {
  return { cell: hourCellOf(key), sums: decodeHourSums(value) };
}
