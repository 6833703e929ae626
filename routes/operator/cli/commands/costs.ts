/** Commands about what calls cost the operator: margins, and sheets to hold against invoices of providers. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { formatCost, formatRate, rateUnit } from "../../../../core/billing/rate_card.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  marginGroups,
  marginMicroVnd,
  type MarginSum,
  readMargins,
  unknownCalls,
} from "../../../../kv/money/costs/margins.ts";
import { readProviderSheet, withoutDays } from "../../../../kv/money/costs/provider_sheet.ts";
import type { AdminDeps } from "./admin_deps.ts";

const day = z.iso.date("must be a day such as 2026-11-20");
const marginsQuery = z.strictObject({
  by: z.enum(marginGroups).default("model"),
  from: day.optional(),
  to: day.optional(),
});
/** @throws {GatewayError} if a range of days ends before it begins */
function requireOrder(from: string, to: string): void {
  if (from > to) throw new GatewayError("invalid_request", `--from ${from} is after --to ${to}`);
}

const sheetQuery = z.strictObject({
  provider: z.string().optional(),
  from: day,
  to: day.optional(),
});

function sumJson(sum: MarginSum) {
  const margin = marginMicroVnd(sum);
  return {
    calls: sum.calls,
    revenueVnd: formatVnd(sum.revenueMicroVnd),
    refundedVnd: formatVnd(sum.refundedMicroVnd),
    providerCostVnd: formatVnd(sum.costMicroVnd),
    marginVnd: margin === undefined ? null : formatVnd(margin),
    callsOfUnknownCost: unknownCalls(sum),
  };
}

/** Adds `/margins` and `/provider-sheet`. */
export function addCostRoutes(app: Hono, { kv, clock }: Pick<AdminDeps, "kv" | "clock">): void {
  app.get("/margins", async (context) => {
    const query = marginsQuery.parse(context.req.query());
    const toDay = query.to ?? vietnamDay(clock.nowMs());
    const fromDay = query.from ?? `${toDay.slice(0, 8)}01`;
    requireOrder(fromDay, toDay);
    const { total, by, isPartial } = await readMargins(kv, { fromDay, toDay });
    const rows = [...by[query.by]].sort(([one], [other]) => one < other ? -1 : 1)
      .map(([name, sum]) => ({ [query.by]: name, ...sumJson(sum) }));
    return context.json({ fromDay, toDay, isPartial, total: sumJson(total), rows });
  });

  app.get("/provider-sheet", async (context) => {
    const { provider, from, to = from } = sheetQuery.parse(context.req.query());
    requireOrder(from, to);
    const sheet = await readProviderSheet(kv, { fromDay: from, toDay: to });
    const isAsked = (one: { readonly provider: string }) =>
      provider === undefined || one.provider === provider;
    const rows = withoutDays(sheet.lines.filter(isAsked)).map((line) => ({
      provider: line.provider,
      model: line.model,
      bucket: line.bucket,
      units: line.units,
      currency: line.card.terms.currency.code,
      rate: formatRate(line.card, line.bucket) ?? null,
      ratePer: rateUnit(line.bucket),
      sum: formatCost(line.parts),
      sumVnd: formatVnd(line.costMicroVnd),
    }));
    const calls = sheet.calls.filter(isAsked);
    const count = (of: (one: typeof calls[number]) => number) =>
      calls.reduce((sum, one) => sum + of(one), 0);
    return context.json({
      fromUtcDay: from,
      toUtcDay: to,
      isPartial: sheet.isPartial,
      calls: count((one) => one.calls),
      callsOfUnknownCost: count((one) => one.unknownCalls),
      rows,
    });
  });
}
