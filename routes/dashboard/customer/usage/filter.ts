/** Reads the filter of the usage page from the query, and writes it for links. */
import type { Context } from "hono";
import { type AccountId, parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { UsageRow } from "../../../../kv/money/ledger/usage.ts";
import type { CallFilter } from "../../../usage_api/call_filter.ts";
import { bucketRange, type Period, type Preset, readPeriod } from "../../../usage_api/period.ts";
import { type Metric, metrics, type StackBy } from "../../../usage_api/series.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

/** The filter of the usage page, and what its chart shows. */
export interface UsageFilter {
  readonly period: Period;
  /** The grain that was asked for. */
  readonly grain: string | undefined;
  readonly metric: Metric;
  readonly by: StackBy;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  /** Which calls the list shows, by their status and error code; sums have no such parts. */
  readonly status: string | undefined;
  readonly error: string | undefined;
  /** The list shows the calls of one bar of the chart. */
  readonly at: string | undefined;
  /** The list begins with the calls of this second, in the form of the input for it. */
  readonly until: string | undefined;
  readonly before: RequestId | undefined;
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : text.slice(0, 256);
}

const secondMs = 1_000;

/** The time in Vietnam that an `<input type="datetime-local">` names. */
function parseSecond(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  const atMs = Date.parse(`${text}+07:00`);
  return Number.isNaN(atMs) ? undefined : atMs;
}

/** The filter of the list of calls of one account. */
export function callFilter(filter: UsageFilter, accountId: AccountId): CallFilter {
  return { accountId, ...callsOfAllFilter(filter) };
}

/** The filter of the list of calls of all accounts. */
export function callsOfAllFilter(filter: UsageFilter): Omit<CallFilter, "accountId"> {
  const { period, keyId, model, status, error, at, until, before } = filter;
  const secondAtMs = parseSecond(until);
  const bar = at === undefined ? undefined : bucketRange(at);
  return {
    fromMs: Math.max(period.fromMs, bar?.fromMs ?? 0),
    untilMs: Math.min(
      period.untilMs,
      bar?.untilMs ?? period.untilMs,
      secondAtMs === undefined ? period.untilMs : secondAtMs + secondMs,
    ),
    keyId,
    model,
    status,
    error,
    before,
  };
}

/** Reads the filter from the query. */
export function readUsageFilter(
  c: Context<DashboardEnv>,
  nowMs: number,
  usual: Preset = "30d",
): UsageFilter {
  const query = (name: string) => given(c.req.query(name));
  const at = query("at");
  return {
    period: readPeriod(
      {
        period: query("period"),
        from: query("from"),
        to: query("to"),
        grain: query("grain"),
      },
      nowMs,
      usual,
    ),
    grain: query("grain"),
    metric: metrics.find((metric) => metric === query("metric")) ?? "cost",
    by: query("by") === "key" ? "key" : "model",
    keyId: query("key"),
    model: query("model"),
    status: query("status"),
    error: query("error"),
    at: at === undefined || bucketRange(at) === undefined ? undefined : at,
    until: parseSecond(query("until")) === undefined ? undefined : query("until"),
    before: parseId("request", c.req.query("before") ?? ""),
  };
}

/** The parts of a filter as they are in the address; those with their usual value are left out. */
export function usageParameters(filter: UsageFilter): Record<string, string> {
  const { period: { preset, range }, grain, metric, by } = filter;
  const all = {
    ...preset === "custom" ? { from: range.fromDay, to: range.toDay } : { period: preset },
    grain,
    metric: metric === "cost" ? undefined : metric,
    by: by === "model" ? undefined : by,
    key: filter.keyId,
    model: filter.model,
    status: filter.status,
    error: filter.error,
    at: filter.at,
    until: filter.until,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** What a link changes of a filter; `undefined` takes a part away. */
export type FilterChange = Readonly<Record<string, string | undefined>>;

/** Writes the filter as a query, for links to other pages of the list and to the export. */
export function usageQuery(filter: UsageFilter, change: FilterChange = {}): string {
  const parameters: Record<string, string | undefined> = { ...usageParameters(filter), ...change };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value);
  }
  return query.toString();
}

/** Whether a row of usage matches the filter. */
export function fitsFilter(row: UsageRow, { keyId, model }: UsageFilter): boolean {
  return (keyId === undefined || row.keyId === keyId) &&
    (model === undefined || row.model === model);
}
