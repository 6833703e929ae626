/** Operations about what calls cost the operator: margins, and sheets to hold against invoices of providers. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { z } from "zod";
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
import { operation, type Refused, refused } from "../contract/operation.ts";
import { day } from "../contract/texts.ts";

/** The refusal of a range of days that ends before it begins. */
function orderRefusal(from: string, to: string): Refused<"order"> | undefined {
  if (from <= to) return undefined;
  return refused("order", "invalid_request", `from: ${from} is after to ${to}`, "from");
}

const sumFields = {
  calls: z.int(),
  revenueVnd: z.string(),
  refundedVnd: z.string(),
  providerCostVnd: z.string(),
  marginVnd: z.string().nullable().describe("Of calls whose cost is known; null: of none."),
  callsOfUnknownCost: z.int(),
};

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

/** Shows margins. */
export const showMargins = operation({
  name: "margins.show",
  summary: "What calls earned and cost, by default of this month by model",
  effect: "reads",
  input: z.strictObject({
    by: z.enum(marginGroups).default("model"),
    from: day.optional().describe("First day, in Vietnam time; by default that of the month."),
    to: day.optional().describe("Last day, in Vietnam time; by default today."),
  }),
  output: z.object({
    fromDay: z.string(),
    toDay: z.string(),
    isPartial: z.boolean(),
    total: z.object(sumFields),
    rows: z.array(
      z.looseObject(sumFields).describe("A row has its name under the name of the grouping."),
    ),
  }),
  async run({ kv }, { by: group, from, to }, { nowMs }) {
    const toDay = to ?? vietnamDay(nowMs);
    const fromDay = from ?? `${toDay.slice(0, 8)}01`;
    const refusal = orderRefusal(fromDay, toDay);
    if (refusal !== undefined) return refusal;
    const { total, by, isPartial } = await readMargins(kv, { fromDay, toDay });
    const rows = [...by[group]].sort(([one], [other]) => ascending(one, other))
      .map(([name, sum]) => ({ [group]: name, ...sumJson(sum) }));
    return { ok: true, body: { fromDay, toDay, isPartial, total: sumJson(total), rows } };
  },
});

/** Shows the units, rates and sums of providers. */
export const showSheet = operation({
  name: "margins.sheet",
  summary: "Units, rates and sums of UTC days, to hold against a provider's invoice",
  effect: "reads",
  input: z.strictObject({ from: day, to: day.optional(), provider: z.string().optional() }),
  output: z.object({
    fromUtcDay: z.string(),
    toUtcDay: z.string(),
    isPartial: z.boolean(),
    calls: z.int(),
    callsOfUnknownCost: z.int(),
    rows: z.array(z.object({
      provider: z.string(),
      model: z.string(),
      bucket: z.string(),
      units: z.number(),
      currency: z.string(),
      rate: z.string().nullable(),
      ratePer: z.enum(["mtok", "minute", "piece"]),
      sum: z.string(),
      sumVnd: z.string(),
    })),
  }),
  async run({ kv }, { provider, from, to = from }) {
    const refusal = orderRefusal(from, to);
    if (refusal !== undefined) return refusal;
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
    const body = {
      fromUtcDay: from,
      toUtcDay: to,
      isPartial: sheet.isPartial,
      calls: count((one) => one.calls),
      callsOfUnknownCost: count((one) => one.unknownCalls),
      rows,
    };
    return { ok: true, body };
  },
});
