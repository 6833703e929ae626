/** Commands on the whole store: verification, export, rebuilding of derived sums. */
import type { Hono } from "hono";
import { z } from "zod";
import { formatVnd, inVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import { voidSandboxMoney } from "../../../../kv/money/ledger/sandbox_money.ts";
import { checkTopups } from "../../../../kv/money/payments/topup_checks.ts";
import { rebuildAllDaySums, rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { resealDays, verifyBooks } from "../../../../kv/services/verify/verify_books.ts";
import { requireAccount } from "./accounts.ts";
import type { AdminDeps, StoreReading } from "./admin_deps.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
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

// Commands about what calls cost the operator: margins, and sheets to hold against invoices of providers.

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

const verifyQuery = z.strictObject({
  full: z.literal("yes").optional(),
  from: z.iso.date("must be a day such as 2026-11-20").optional(),
});

const resealBody = z.strictObject({ from: z.iso.date("must be a day such as 2026-11-20") });

const rebuildBody = z.strictObject({ account: z.string().optional() });

/** Adds `/verify`, `/verify/reseal`, `/sandbox/void`, `/export` and `/sums/rebuild`. */
export function addBookRoutes(
  app: Hono,
  { kv, clock, masterKeys, beginReading }: Pick<
    AdminDeps,
    "kv" | "clock" | "masterKeys" | "beginReading"
  >,
): void {
  app.get("/verify", async (context) => {
    const { full, from } = verifyQuery.parse(context.req.query());
    using reading = beginReading?.(context.req.raw.signal);
    const wallets = await verifyBooks(kv, {
      ...reading,
      masterKeys,
      nowMs: clock.nowMs(),
      isFull: full !== undefined,
      fromDay: from,
    });
    const topups = await checkTopups(kv, clock.nowMs());
    const ok = wallets.ok && topups.problems.length === 0;
    return Response.json(inVnd({ ...wallets, ok, topups }));
  });

  app.post("/verify/reseal", async (context) => {
    const { from } = resealBody.parse(await context.req.json());
    using reading = beginReading?.(context.req.raw.signal);
    const options = { ...reading, masterKeys, nowMs: clock.nowMs() };
    return Response.json(inVnd(await resealDays(kv, from, options)));
  });

  app.post("/sandbox/void", async () => {
    const voided = await voidSandboxMoney(kv, clock.nowMs());
    return Response.json(inVnd({ ok: voided.leased.length === 0, ...voided }));
  });

  app.get("/export", (context) => {
    const reading = beginReading?.(context.req.raw.signal);
    const records = ReadableStream.from(exported(kv, reading));
    return new Response(records.pipeThrough(new TextEncoderStream()));
  });

  app.post("/sums/rebuild", async (context) => {
    const { account } = rebuildBody.parse(await context.req.json());
    if (account === undefined) {
      using reading = beginReading?.(context.req.raw.signal);
      return context.json(await rebuildAllDaySums(kv, clock.nowMs(), reading?.signal));
    }
    const id = await requireAccount(kv, account);
    const { corrected, isMoving } = await rebuildDaySums(kv, id, clock.nowMs());
    return context.json({ accounts: 1, corrected, moving: isMoving ? [id] : [] });
  });
}

async function* exported(
  kv: KeyValueStore,
  reading: StoreReading | undefined,
): AsyncGenerator<string> {
  using _ending = reading;
  yield* exportRecords(kv, reading?.slices);
}
