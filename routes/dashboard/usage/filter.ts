/** Reads the filter of the usage page from the query. */
import type { Context } from "hono";
import { type AccountId, parseId, type RequestId } from "../../../core/lib/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { type DayRange } from "../../../kv/receipts/day_sums.ts";
import type { UsageRow } from "../../../kv/receipts/usage.ts";
import type { CallFilter } from "../../usage_api/call_filter.ts";
import { boundedRange, dayRange, rangeMs } from "../../usage_api/range.ts";
import type { DashboardEnv } from "../visitor/visitor.ts";

/** The filter of the usage page. */
export interface UsageFilter {
  readonly range: DayRange;
  /** The range was cut to the longest possible one. */
  readonly cut: boolean;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  /** Which calls the list shows, by their status and error code; sums have no such parts. */
  readonly status: string | undefined;
  readonly error: string | undefined;
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

/** The filter of the list of calls. */
export function callFilter(filter: UsageFilter, accountId: AccountId): CallFilter {
  const { range, keyId, model, status, error, until, before } = filter;
  const { fromMs, untilMs } = rangeMs(range);
  const secondAtMs = parseSecond(until);
  return {
    accountId,
    fromMs,
    untilMs: secondAtMs === undefined ? untilMs : Math.min(untilMs, secondAtMs + secondMs),
    keyId,
    model,
    status,
    error,
    before,
  };
}

/** Reads the filter from the query. */
export function readUsageFilter(c: Context<DashboardEnv>, nowMs: number): UsageFilter {
  const asked = { from: c.req.query("from"), to: c.req.query("to") };
  const { range, cut } = boundedRange(dayRange(asked, vietnamDay(nowMs)));
  return {
    range,
    cut,
    keyId: given(c.req.query("key")),
    model: given(c.req.query("model")),
    status: given(c.req.query("status")),
    error: given(c.req.query("error")),
    until: parseSecond(c.req.query("until")) === undefined ? undefined : c.req.query("until"),
    before: parseId("request", c.req.query("before") ?? ""),
  };
}

/** Writes the filter as a query, for links to other pages of the list and to the export. */
export function usageQuery(filter: UsageFilter, before?: RequestId): string {
  const query = new URLSearchParams({ from: filter.range.fromDay, to: filter.range.toDay });
  if (filter.keyId !== undefined) query.set("key", filter.keyId);
  if (filter.model !== undefined) query.set("model", filter.model);
  if (filter.status !== undefined) query.set("status", filter.status);
  if (filter.error !== undefined) query.set("error", filter.error);
  if (filter.until !== undefined) query.set("until", filter.until);
  if (before !== undefined) query.set("before", before);
  return query.toString();
}

/** Whether a row of usage matches the filter. */
export function fitsFilter(row: UsageRow, { keyId, model }: UsageFilter): boolean {
  return (keyId === undefined || row.keyId === keyId) &&
    (model === undefined || row.model === model);
}
