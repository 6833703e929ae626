/**
 * Reads what calls earned and what they cost, over all accounts: by day, model, route, customer and key. The sums are
 * derived from receipts, as day sums are; calls whose cost is not known are counted apart and never have a margin.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Writable } from "../../../core/lib/base/assert.ts";
import { refundSum } from "../ledger/refunds.ts";
import type { Usage } from "../ledger/usage.ts";
import { type DayRange, type UsageSum, usageSum } from "../receipts/day_sums.ts";
import { joinedCells, providerCellOf } from "../receipts/provider_sums.ts";
import {
  dayCopiesRange,
  dayCopyOf,
  daySumCellOf,
  daySumKey,
  refundSumsPrefix,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { isLedgerLine, type LedgerKind, linesByTime } from "../ledger/ledger.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// Sums what customers got without a payment: credits of operators and gifts, less what was taken back.

/** Most lines of the ledger that are read: a second of reading. */
const maxLinesRead = 100_000;

/** Movements that are no gifts: payments, and refunds, which margins contain. */
const notGiven: ReadonlySet<LedgerKind> = new Set<LedgerKind>(["topup", "refund"]);

/** Reads the sum of some days; `undefined` if there are too many lines to say. */
export async function readGivenCredits(
  kv: KeyValueStore,
  { fromDay, toDay }: DayRange,
): Promise<bigint | undefined> {
  const untilMs = vietnamDayStartMs(toDay) + dayMs;
  let lines = 0;
  let sum = 0n;
  for await (const { value } of linesByTime(kv, vietnamDayStartMs(fromDay), undefined)) {
    if (!isLedgerLine(value)) continue;
    if (value.atMs >= untilMs) break;
    if (++lines > maxLinesRead) return undefined;
    if (!notGiven.has(value.kind)) sum += value.amountMicroVnd;
  }
  return sum;
}

/** Most rows of a period that are read: a second or two. */
const maxMarginRows = 200_000;

/** Most rows of refunds that are read; refunds are rare. */
const maxRefundRows = 200_000;

/** Earnings and cost of some calls. */
export interface MarginSum {
  /** Calls that a provider answered. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Amount that customers paid. */
  readonly revenueMicroVnd: bigint;
  /** Amount that they got back. */
  readonly refundedMicroVnd: bigint;
  /** The calls whose cost is known, and what customers paid for them. */
  readonly knownCalls: number;
  readonly knownRevenueMicroVnd: bigint;
  readonly costMicroVnd: bigint;
}

/** The sum of no calls. */
export const noMargin: MarginSum = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  revenueMicroVnd: 0n,
  refundedMicroVnd: 0n,
  knownCalls: 0,
  knownRevenueMicroVnd: 0n,
  costMicroVnd: 0n,
};

/** Calls whose cost is not known. */
export function unknownCalls({ calls, knownCalls }: MarginSum): number {
  return Math.max(0, calls - knownCalls);
}

/**
 * Computes the margin of the calls whose cost is known: what customers paid, less refunds and what providers charge.
 * `undefined` if no cost is known.
 */
export function marginMicroVnd(sum: MarginSum): bigint | undefined {
  if (sum.knownCalls === 0) return undefined;
  return sum.knownRevenueMicroVnd - sum.refundedMicroVnd - sum.costMicroVnd;
}

/** Computes the margin in hundredths of a percent of what customers paid; `undefined` if they paid nothing. */
export function marginBasisPoints(sum: MarginSum): number | undefined {
  const margin = marginMicroVnd(sum);
  const net = sum.knownRevenueMicroVnd - sum.refundedMicroVnd;
  return margin === undefined || net <= 0n ? undefined : Number(margin * 10_000n / net);
}

/** Groups of margins. */
export const marginGroups = ["model", "route", "account", "key", "day"] as const;

/** A way to group margins. */
export type MarginGroup = typeof marginGroups[number];

/** The sums of a period. Routes have no tokens and no refunds, which are known per model only. */
export interface Margins {
  readonly total: MarginSum;
  readonly by: Readonly<Record<MarginGroup, ReadonlyMap<string, MarginSum>>>;
  /** Set if there were more rows than the bound: the sums are too low. */
  readonly isPartial: boolean;
}

/** The name of the group of calls whose route is not known: those before costs were configured. */
export const unknownRoute = joinedCells;

type Groups = Record<MarginGroup, Map<string, Writable<MarginSum>>>;

function groupOf(groups: Groups, by: MarginGroup, name: string): Writable<MarginSum> {
  let sum = groups[by].get(name);
  if (sum === undefined) groups[by].set(name, sum = { ...noMargin });
  return sum;
}

function add(total: Writable<MarginSum>, sum: MarginSum): void {
  total.calls += sum.calls;
  total.inputTokens += sum.inputTokens;
  total.outputTokens += sum.outputTokens;
  total.revenueMicroVnd += sum.revenueMicroVnd;
  total.refundedMicroVnd += sum.refundedMicroVnd;
  total.knownCalls += sum.knownCalls;
  total.knownRevenueMicroVnd += sum.knownRevenueMicroVnd;
  total.costMicroVnd += sum.costMicroVnd;
}

/** Adds sums. */
export function sumOfMargins(sums: Iterable<MarginSum>): MarginSum {
  const total = { ...noMargin };
  for (const sum of sums) add(total, sum);
  return total;
}

/** The sums of one row by route, and what is left of the row as {@linkcode unknownRoute}. */
function sumsByRoute(usage: UsageSum): ReadonlyMap<string, MarginSum> {
  const routes = new Map<string, Writable<MarginSum>>();
  const left = { ...noMargin, calls: usage.calls - usage.failedCalls };
  left.revenueMicroVnd = usage.costMicroVnd;
  for (const [id, cell] of Object.entries(usage.providers ?? {})) {
    const { card, route } = providerCellOf(id);
    const sum = routes.get(route) ?? { ...noMargin };
    routes.set(route, sum);
    sum.calls += cell.calls;
    sum.revenueMicroVnd += cell.revenueMicroVnd;
    left.calls -= cell.calls;
    left.revenueMicroVnd -= cell.revenueMicroVnd;
    if (card === undefined) continue;
    sum.knownCalls += cell.calls;
    sum.knownRevenueMicroVnd += cell.revenueMicroVnd;
    sum.costMicroVnd += cell.costMicroVnd;
  }
  if (left.calls > 0 || left.revenueMicroVnd > 0n) {
    const sum = routes.get(unknownRoute) ?? { ...noMargin };
    add(sum, { ...left, calls: Math.max(0, left.calls) });
    routes.set(unknownRoute, sum);
  }
  return routes;
}

/** The sum of one row. */
function sumOfRow(usage: UsageSum, routes: ReadonlyMap<string, MarginSum>): MarginSum {
  const sum = { ...noMargin };
  for (const route of routes.values()) add(sum, route);
  sum.inputTokens = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  sum.outputTokens = usage.outputTokens;
  return sum;
}

/** Adds up what some usage earned and cost: that of one customer, say, who needs no scan over all. */
export function marginOfUsage(rows: Iterable<{ readonly usage: Usage }>): MarginSum {
  const total = { ...noMargin };
  for (const { usage } of rows) {
    add(total, sumOfRow(usage, sumsByRoute(usage)));
    total.refundedMicroVnd += usage.refundedMicroVnd;
  }
  return total;
}

/** Selects a part of the calls. */
export interface MarginFilter {
  readonly accountId?: AccountId | undefined;
  readonly model?: string | undefined;
}

/** Reads the sums of some days. Without a cost in the catalogue there are none. */
export async function readMargins(
  kv: KeyValueStore,
  range: DayRange,
  filter: MarginFilter = {},
): Promise<Margins> {
  const total = { ...noMargin };
  const by: Groups = {
    model: new Map(),
    route: new Map(),
    account: new Map(),
    key: new Map(),
    day: new Map(),
  };
  const known = new Set<string>();
  let rows = 0;
  const page = { limit: maxMarginRows, batchSize: listBatchRows };
  for await (const { key, value } of kv.list<unknown>(dayCopiesRange(range), page)) {
    rows++;
    const cell = dayCopyOf(key);
    if (!isWanted(cell, filter)) continue;
    known.add(cellId(cell));
    const usage = usageSum(value);
    const routes = sumsByRoute(usage);
    const sum = sumOfRow(usage, routes);
    add(total, sum);
    for (const [name, group] of namesOf(cell)) add(groupOf(by, group, name), sum);
    for (const [route, part] of routes) {
      add(groupOf(by, "route", `${cell.model} ${route}`), part);
    }
  }
  const refunds = await addRefunds(kv, range, known, (cell, refundedMicroVnd) => {
    const refund = { ...noMargin, refundedMicroVnd };
    add(total, refund);
    for (const [name, group] of namesOf(cell)) add(groupOf(by, group, name), refund);
  });
  return { total, by, isPartial: rows >= maxMarginRows || refunds >= maxRefundRows };
}

type Cell = ReturnType<typeof daySumCellOf>;

function isWanted({ accountId, model }: Cell, filter: MarginFilter): boolean {
  return (filter.accountId === undefined || filter.accountId === accountId) &&
    (filter.model === undefined || filter.model === model);
}

const cellId = ({ accountId, day, keyId, model }: Cell): string =>
  daySumKey(accountId, day, keyId, model).join(" ");

function namesOf({ accountId, day, keyId, model }: Cell): readonly [string, MarginGroup][] {
  return [[model, "model"], [accountId, "account"], [keyId, "key"], [day, "day"]];
}

/** Adds the refunds of calls that are in the sums. Returns how many rows were read. */
async function addRefunds(
  kv: KeyValueStore,
  { fromDay, toDay }: DayRange,
  known: ReadonlySet<string>,
  found: (cell: Cell, refundedMicroVnd: bigint) => void,
): Promise<number> {
  let rows = 0;
  const page = { limit: maxRefundRows, batchSize: listBatchRows };
  for await (const entry of kv.list<unknown>({ prefix: refundSumsPrefix() }, page)) {
    rows++;
    const cell = daySumCellOf(entry.key);
    if (cell.day < fromDay || cell.day > toDay || !known.has(cellId(cell))) continue;
    found(cell, refundSum(entry));
  }
  return rows;
}
