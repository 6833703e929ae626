/** Builds the figures of a chart: bars of a period, stacked by model, key, member, team, tag or kind of error, for one account or for all. */
import { type CallTag, isTagKey } from "../../core/billing/usage/call_tags.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  type DescribedField,
  listField,
  listOf,
  text,
} from "../../core/lib/json/schemas.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { LogHistogram } from "../../core/lib/base/log_histogram.ts";
import { vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { readRefusedHours } from "../../kv/services/calls/refused_hours.ts";
import { type HourRow, type HourSum, readHours } from "../../kv/money/receipts/hour_sums.ts";
import {
  netCostMicroVnd,
  readTagUsage,
  readUsage,
  type UsageRow,
} from "../../kv/money/ledger/usage.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { wrongParameter } from "../http/query.ts";
import {
  asksForFailures,
  type ErrorFilter,
  fitsCell,
  fitsErrorKind,
} from "./search/call_filter.ts";
import { type Answer, keyAskedFor, tagAskedFor } from "./calls.ts";
import { daysBetween } from "./range.ts";
import {
  type Bucket,
  bucketsOf,
  grains,
  isWholeDays,
  type Period,
  requirePeriod,
} from "./period.ts";
import { billedTokens, isKeyGroup, type KeyGroup, readKeyGroups, totalUsage } from "./summary.ts";
import { hourMs } from "../../core/lib/time/durations.ts";

/** Metrics of a chart. */
export const metrics = ["cost", "calls", "tokens", "errors", "first", "duration"] as const;

export type Metric = typeof metrics[number];

/** Metrics of a chart of the calls that fit, the usual first: a failed call costs nothing and has no output. */
export function metricsOf(
  filter: ErrorFilter & { readonly tag?: CallTag | undefined },
): readonly [Metric, ...Metric[]] {
  // Sums by hour, which know times and kinds of errors, do not tell tags apart.
  if (filter.tag !== undefined) return ["cost", "calls", "tokens"];
  if (asksForFailures(filter)) return ["errors", "calls"];
  return filter.status === undefined ? metrics : ["cost", "calls", "tokens", "first", "duration"];
}

/** By what the bars are stacked; `tag:team` stands for the values of a tag. Errors are stacked by their kind. */
export type StackBy = "model" | "key" | KeyGroup | `tag:${string}`;

/** The part of the calls with keys of no member or team. */
export const ofNone = "none";

/** Reads by what bars shall be stacked; `undefined` if the text says nothing known. */
export function parseStackBy(text: string | undefined): StackBy | undefined {
  if (text === undefined) return undefined;
  if (text === "model" || text === "key" || isKeyGroup(text)) return text;
  const tagKey = text.startsWith("tag:") ? text.slice(4) : "";
  return isTagKey(tagKey) ? `tag:${tagKey}` : undefined;
}

/** The key of the tag by whose values bars are stacked. */
export function stackedTag(by: StackBy): string | undefined {
  return by.startsWith("tag:") ? by.slice(4) : undefined;
}

/** The figures to build. */
export interface SeriesQuery extends ErrorFilter {
  /** Absent: all accounts, whose figures are by hour only. */
  readonly accountId?: AccountId | undefined;
  readonly period: Period;
  readonly metric: Metric;
  readonly by: StackBy;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  /** Only calls with this tag; its figures are by day. */
  readonly tag?: CallTag | undefined;
}

/** One part of the bars; its values are in the order of the bars. */
export interface Stack {
  /** A model, the id of a key, member or team, a kind of error, or `p50` and `p95`. */
  readonly name: string;
  readonly values: readonly number[];
}

/** The figures of a chart. */
export interface Series {
  readonly metric: Metric;
  readonly buckets: readonly Bucket[];
  /** The largest first. Sums of money are in VND, times in milliseconds; a time of −1 stands for no call. */
  readonly stacks: readonly Stack[];
}

/** Parts that have a colour of their own; the rest is one part, `""`. */
const maxStacks = 7;

/** Numbers by part and bar. */
class Bars {
  readonly buckets: readonly Bucket[];
  readonly #parts = new Map<string, number[]>();

  constructor(period: Period) {
    this.buckets = bucketsOf(period);
  }

  add(name: string, atMs: number, value: number): void {
    const at = this.indexOf(atMs);
    if (at < 0 || value === 0) return;
    const values = this.#parts.get(name) ?? this.buckets.map(() => 0);
    this.#parts.set(name, values);
    values[at]! += value;
  }

  /** The bar of a moment; −1 if there is none. Bars follow one another without gaps. */
  indexOf(atMs: number): number {
    let [low, high] = [0, this.buckets.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const { fromMs, untilMs } = this.buckets[middle]!;
      if (atMs < fromMs) high = middle - 1;
      else if (atMs >= untilMs) low = middle + 1;
      else return middle;
    }
    return -1;
  }

  stacks(): Stack[] {
    const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
    const sorted = [...this.#parts].sort(([, one], [, other]) => sum(other) - sum(one));
    const shown = sorted.slice(0, maxStacks).map(([name, values]) => ({ name, values }));
    const rest = sorted.slice(maxStacks);
    if (rest.length === 0) return shown;
    const values = this.buckets.map((_, at) => rest.reduce((all, [, one]) => all + one[at]!, 0));
    return [...shown, { name: "", values }];
  }
}

/** Rows of all accounts that one chart reads: a second or two. */
const maxRowsOfAll = 60_000;

/** The rows of hours of a period that fit, each with its first moment. */
async function* hoursIn(
  kv: KeyValueStore,
  { accountId, period: { range }, ...cell }: SeriesQuery,
): AsyncGenerator<HourRow & { readonly dayMs: number }, void, void> {
  const days = daysBetween(range.fromDay, range.toDay);
  // The days of one account are read side by side: each is a small list of its own.
  const reading = accountId === undefined
    ? undefined
    : days.map((day) => Array.fromAsync(readHours(kv, day, accountId)));
  let rows = 0;
  for (const [at, day] of days.entries()) {
    const dayMs = vietnamDayStartMs(day);
    for await (const row of await reading?.[at] ?? readHours(kv, day)) {
      if (accountId === undefined && ++rows > maxRowsOfAll) return;
      if (fitsCell(row.cell, cell)) yield { ...row, dayMs };
    }
  }
}

/** The refused calls of a period that fit, by hour and kind. */
async function* refusedIn(
  kv: KeyValueStore,
  query: SeriesQuery,
): AsyncGenerator<RefusedKind, void, void> {
  const { accountId, period } = query;
  for (const day of daysBetween(period.range.fromDay, period.range.toDay)) {
    const dayMs = vietnamDayStartMs(day);
    for await (const { cell, hours } of readRefusedHours(kv, day, accountId)) {
      if (!fitsCell(cell, query)) continue;
      const { keyId, model = "" } = cell;
      for (const [hour, errors] of hours) {
        for (const [kind, count] of errors) {
          if (fitsErrorKind(kind, query)) {
            yield { keyId, model, atMs: dayMs + hour * hourMs, kind, count };
          }
        }
      }
    }
  }
}

interface RefusedKind {
  readonly keyId: string;
  readonly model: string;
  readonly atMs: number;
  readonly kind: string;
  readonly count: number;
}

/** The calls of an hour of receipts that fit. */
interface FittingCalls {
  readonly calls: number;
  readonly failedCalls: number;
  readonly tokens: number;
  readonly costMicroVnd: bigint;
}

function fittingCalls(sum: HourSum, filter: ErrorFilter): FittingCalls {
  if (asksForFailures(filter)) {
    let calls = 0;
    for (const [kind, count] of receiptErrors(sum, filter)) {
      if (fitsErrorKind(kind, filter)) calls += count;
    }
    return { calls, failedCalls: calls, tokens: 0, costMicroVnd: 0n };
  }
  const failedCalls = filter.status === undefined ? sum.failed : 0;
  return {
    calls: sum.calls - sum.failed + failedCalls,
    failedCalls,
    tokens: sum.inputTokens + sum.outputTokens,
    costMicroVnd: sum.costMicroVnd,
  };
}

/** Kinds of errors of calls with a receipt: refused calls have none. */
function receiptErrors({ errors }: HourSum, { status }: ErrorFilter): Iterable<[string, number]> {
  return status === "refused" ? [] : errors;
}

function valueOfRow(metric: Metric, { usage }: UsageRow, { status }: ErrorFilter): number {
  if (metric === "cost") return Number(netCostMicroVnd(usage)) / 1e6;
  if (metric === "tokens") return billedTokens(usage);
  if (asksForFailures({ status })) return usage.failedCalls;
  return status === undefined ? usage.calls : usage.calls - usage.failedCalls;
}

/** Says which part of a bar the calls of a cell are, unless it is a tag. */
type PartOf = (cell: { readonly keyId: string; readonly model: string }) => string;

async function readParts(kv: KeyValueStore, { by, accountId }: SeriesQuery): Promise<PartOf> {
  if (by === "model") return ({ model }) => model;
  if (accountId === undefined || !isKeyGroup(by)) return ({ keyId }) => keyId;
  const groupOf = await readKeyGroups(kv, accountId, by);
  return ({ keyId }) => groupOf(keyId) || ofNone;
}

/** Reads the usage of the calls that a chart is of, each row with the name of its part. */
async function usageOf(
  kv: KeyValueStore,
  accountId: AccountId,
  query: SeriesQuery,
): Promise<readonly (UsageRow & { readonly part: string })[]> {
  const { period: { range }, tag, by } = query;
  const key = stackedTag(by);
  if (key !== undefined) {
    const rows = await readTagUsage(kv, accountId, range, tag?.key === key ? tag : { key });
    return rows.map((row) => ({ ...row, part: row.tag.value }));
  }
  const rows = tag === undefined
    ? await readUsage(kv, accountId, range)
    : await readTagUsage(kv, accountId, range, tag);
  const partOf = await readParts(kv, query);
  return rows.map((row) => ({ ...row, part: partOf(row) }));
}

async function daySeries(kv: KeyValueStore, query: SeriesQuery, accountId: AccountId) {
  const { period, metric } = query;
  const bars = new Bars(period);
  for (const row of await usageOf(kv, accountId, query)) {
    if (!fitsCell(row, query)) continue;
    bars.add(
      row.part,
      vietnamDayStartMs(row.day),
      valueOfRow(metric, row, query),
    );
  }
  return bars;
}

async function hourSeries(kv: KeyValueStore, query: SeriesQuery): Promise<Bars> {
  const { period, metric } = query;
  const bars = new Bars(period);
  const partOf = await readParts(kv, query);
  for await (const { cell, sums, dayMs } of hoursIn(kv, query)) {
    const name = partOf(cell);
    for (const [hour, sum] of sums.hours) {
      const { calls, tokens, costMicroVnd } = fittingCalls(sum, query);
      const value = metric === "cost"
        ? Number(costMicroVnd) / 1e6
        : metric === "calls"
        ? calls
        : tokens;
      bars.add(name, dayMs + hour * hourMs, value);
    }
  }
  if (metric === "calls" && asksForFailures(query)) {
    for await (const { keyId, model, atMs, count } of refusedIn(kv, query)) {
      bars.add(partOf({ keyId, model }), atMs, count);
    }
  }
  return bars;
}

/** Failed and refused calls by `status code`. */
async function errorSeries(kv: KeyValueStore, query: SeriesQuery): Promise<Bars> {
  const bars = new Bars(query.period);
  for await (const { sums, dayMs } of hoursIn(kv, query)) {
    for (const [hour, sum] of sums.hours) {
      for (const [kind, count] of receiptErrors(sum, query)) {
        if (fitsErrorKind(kind, query)) bars.add(kind, dayMs + hour * hourMs, count);
      }
    }
  }
  for await (const { atMs, kind, count } of refusedIn(kv, query)) bars.add(kind, atMs, count);
  return bars;
}

async function timeSeries(kv: KeyValueStore, query: SeriesQuery): Promise<Series> {
  const { metric, period } = query;
  const bars = new Bars(period);
  const histograms = bars.buckets.map(() => new LogHistogram());
  for await (const { sums, dayMs } of hoursIn(kv, query)) {
    for (const [hour, sum] of sums.hours) {
      const durations = histograms[bars.indexOf(dayMs + hour * hourMs)];
      durations?.addAll(metric === "first" ? sum.firstOutput : sum.latency);
    }
  }
  const at = (share: number) =>
    histograms.map((durations) => Math.round(durations.quantileMs(share) ?? -1));
  return {
    metric,
    buckets: bars.buckets,
    stacks: [{ name: "p50", values: at(0.5) }, { name: "p95", values: at(0.95) }],
  };
}

/** Whether only sums by tag can tell the figures, which have days and no kinds of errors. */
function isOfTags({ tag, by }: SeriesQuery): boolean {
  return tag !== undefined || stackedTag(by) !== undefined;
}

function isOfHours(query: SeriesQuery): boolean {
  return query.period.grain === "hour" || asksForFailures(query);
}

/** Builds the figures. Those by hour lack the calls of the last second. */
export async function readSeries(kv: KeyValueStore, query: SeriesQuery): Promise<Series> {
  const { accountId, metric } = query;
  if (metric === "first" || metric === "duration") return await timeSeries(kv, query);
  const bars = metric === "errors"
    ? await errorSeries(kv, query)
    : accountId === undefined || (!isOfTags(query) && isOfHours(query))
    ? await hourSeries(kv, query)
    : await daySeries(kv, query, accountId);
  return { metric, buckets: bars.buckets, stacks: bars.stacks() };
}

/** The figures of all calls of one account that fit. */
export interface CallTotals extends FittingCalls {
  /** Already taken off the cost. */
  readonly refundedMicroVnd: bigint;
}

/**
 * Sums up the calls that fit, over the bars of the period.
 *
 * @param rows usage of the account in the days of the period, by day
 */
export async function readTotals(
  kv: KeyValueStore,
  query: SeriesQuery & { readonly accountId: AccountId },
  rows: readonly UsageRow[],
): Promise<CallTotals> {
  const { period, status } = query;
  if (query.tag !== undefined || (!asksForFailures(query) && isWholeDays(period))) {
    const { fromDay, toDay } = period.range;
    const usage = totalUsage(
      rows.filter((row) => fitsCell(row, query) && row.day >= fromDay && row.day <= toDay),
    );
    const failedCalls = status === undefined || asksForFailures(query) ? usage.failedCalls : 0;
    return {
      calls: asksForFailures(query) ? failedCalls : usage.calls - usage.failedCalls + failedCalls,
      failedCalls,
      tokens: billedTokens(usage),
      costMicroVnd: netCostMicroVnd(usage),
      refundedMicroVnd: usage.refundedMicroVnd,
    };
  }
  let [calls, failedCalls, tokens, costMicroVnd] = [0, 0, 0, 0n];
  const isWithin = (atMs: number) => atMs >= period.fromMs && atMs < period.untilMs;
  for await (const { sums, dayMs } of hoursIn(kv, query)) {
    for (const [hour, sum] of sums.hours) {
      if (!isWithin(dayMs + hour * hourMs)) continue;
      const fitting = fittingCalls(sum, query);
      calls += fitting.calls;
      failedCalls += fitting.failedCalls;
      tokens += fitting.tokens;
      costMicroVnd += fitting.costMicroVnd;
    }
  }
  if (asksForFailures(query)) {
    for await (const { atMs, count } of refusedIn(kv, query)) {
      if (!isWithin(atMs)) continue;
      calls += count;
      failedCalls += count;
    }
  }
  return { calls, failedCalls, tokens, costMicroVnd, refundedMicroVnd: 0n };
}

/** Adds up the parts of each bar. */
export function totalsOf({ buckets, stacks }: Series): number[] {
  return buckets.map((_, at) => stacks.reduce((sum, { values }) => sum + values[at]!, 0));
}

// `GET /v1/usage/series`: the figures of the chart of the usage page, for programs.

/** The figures of a period. */
interface PeriodSeries extends Series {
  readonly period: Period;
  readonly groupBy: StackBy;
}

const day: JsonObject = { type: "string", format: "date" };

const isTime = (metric: Metric) => metric === "first" || metric === "duration";

/** The fields of a part of the bars. */
const stackFields: readonly DescribedField<Stack & { readonly metric: Metric }>[] = [
  // A model, the id of a key, member or team, the value of a tag, a kind of error, `p50` or `p95`; empty: all others.
  always("of", text, ({ name }) => name),
  // In the order of the bars; of times, null where there was no call.
  always(
    "values",
    { type: "array", items: { type: ["number", "null"] } },
    ({ values, metric }) => values.map((value) => isTime(metric) && value < 0 ? null : value),
  ),
];

/** The fields of a series. */
export const seriesFields: readonly DescribedField<PeriodSeries>[] = [
  constant("object", "usage_series"),
  always("from", day, ({ period }) => period.range.fromDay),
  always("to", day, ({ period }) => period.range.toDay),
  constant("time_zone", "+07:00"),
  always("metric", { type: "string", enum: [...metrics] }, ({ metric }) => metric),
  always("group_by", text, ({ groupBy }) => groupBy),
  always("interval", { type: "string", enum: [...grains] }, ({ period }) => period.grain),
  // Each bar by its begin: a month, a day or an hour in Vietnam time.
  always("bars", listOf(text), ({ buckets }) => buckets.map(({ id }) => id)),
  listField(
    "data",
    "A part of the bars, the largest first. Costs are numbers in VND, after refunds; exact sums are in `/v1/usage`.",
    stackFields,
    ({ stacks, metric }) => stacks.map((stack) => ({ ...stack, metric })),
  ),
];

/** Answers with the figures of a period by hour, day or month. */
export function usageSeriesAnswer(
  { kv, clock }: { readonly kv: KeyValueStore; readonly clock: Pick<Clock, "nowMs"> },
): Answer {
  return async (c, reader) => {
    const by = parseStackBy(c.req.query("group_by") ?? "model");
    if (by === undefined) {
      throw wrongParameter("group_by", "must be model, key, member, team, or a tag like tag:team");
    }
    const tag = tagAskedFor(c);
    const known = metricsOf({ tag });
    const metric = known.find((name) => name === (c.req.query("metric") ?? "cost"));
    if (metric === undefined) throw wrongParameter("metric", `must be one of ${known.join(", ")}`);
    const hasTags = tag !== undefined || stackedTag(by) !== undefined;
    const period = requirePeriod(new URL(c.req.url).searchParams, clock.nowMs(), hasTags);
    const keyId = keyAskedFor(c, reader);
    const { accountId } = reader;
    const model = c.req.query("model");
    const series = await readSeries(kv, { accountId, period, metric, by, keyId, model, tag });
    return fieldsJson(seriesFields, { ...series, period, groupBy: by });
  };
}
