/** Reads the filter of the usage page from the query. */
import type { Context } from "hono";
import { parseId, type RequestId } from "../../../core/lib/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { type DayRange } from "../../../kv/receipts/day_sums.ts";
import type { UsageRow } from "../../../kv/receipts/usage.ts";
import { boundedRange, dayRange } from "../../usage_api/range.ts";
import type { DashboardEnv } from "../visitor/visitor.ts";

/** The filter of the usage page. */
export interface UsageFilter {
  readonly range: DayRange;
  /** The range was cut to the longest possible one. */
  readonly cut: boolean;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly before: RequestId | undefined;
}

function given(text: string | undefined): string | undefined {
  return text === undefined || text === "" ? undefined : text.slice(0, 256);
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
    before: parseId("request", c.req.query("before") ?? ""),
  };
}

/** Writes the filter as a query, for links to other pages of the list and to the export. */
export function usageQuery(filter: UsageFilter, before?: RequestId): string {
  const query = new URLSearchParams({ from: filter.range.fromDay, to: filter.range.toDay });
  if (filter.keyId !== undefined) query.set("key", filter.keyId);
  if (filter.model !== undefined) query.set("model", filter.model);
  if (before !== undefined) query.set("before", before);
  return query.toString();
}

/** Whether a row of usage matches the filter. */
export function fitsFilter(row: UsageRow, { keyId, model }: UsageFilter): boolean {
  return (keyId === undefined || row.keyId === keyId) &&
    (model === undefined || row.model === model);
}
