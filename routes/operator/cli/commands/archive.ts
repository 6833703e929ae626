/** `admin archive`: the life of a receipt after its day is sealed. */
import type { Hono } from "hono";
import { z } from "zod";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { dropMonths, keptFromOf, planDrop } from "../../../../kv/services/archive/drop_months.ts";
import { noteMove } from "../../../../kv/services/archive/last_move.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { type AdminDeps, readJson } from "./admin_deps.ts";

/** Days that stay in the store unless the operator says another number: what customers look at most. */
const defaultKeptDays = 35;

/** A year: with more of them, little ever leaves the store. */
const maxKeptDays = 366;

const archiveBody = z.strictObject({
  olderThanDays: z.int("must be a whole number of days").min(1).max(maxKeptDays)
    .default(defaultKeptDays),
});

/** Months of receipts that stay at least: those of a quarter that is being settled. */
const minKeptMonths = 3;

/** Ten years, for which bookkeeping asks for ledgers and invoices: these stay in any case. */
const maxKeptMonths = 120;

const retentionBody = z.strictObject({
  months: z.int("must be a whole number of months").min(minKeptMonths).max(maxKeptMonths),
  apply: z.boolean().default(false),
});

function noArchive(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "This store has no archive: a file and PostgreSQL have one",
  );
}

/** Adds `/archive` and `/retention`. */
export function addArchiveRoutes(
  app: Hono,
  { kv, parts, clock, masterKeys, beginReading }: Pick<
    AdminDeps,
    "kv" | "parts" | "clock" | "masterKeys" | "beginReading"
  >,
): void {
  app.post("/archive", async (context) => {
    const { olderThanDays } = archiveBody.parse(await readJson(context));
    if (parts === undefined) throw noArchive();
    const nowMs = clock.nowMs();
    const chain = await readChain(kv, masterKeys);
    const before = vietnamDay(nowMs - olderThanDays * dayMs);
    const checkpoints = chain.checkpoints.filter(({ day }) => day < before);
    using reading = beginReading?.(context.req.raw.signal);
    const { moved, problems } = await moveDays(parts, {
      checkpoints,
      nowMs,
      slices: reading?.slices,
    });
    const all = [...chain.problems, ...problems];
    await noteMove(kv, { atMs: clock.nowMs(), problems: all.length });
    return context.json({ ok: all.length === 0, moved, problems: all });
  });

  app.post("/retention", async (context) => {
    const { months, apply } = retentionBody.parse(await readJson(context));
    if (parts === undefined) throw noArchive();
    using reading = beginReading?.(context.req.raw.signal);
    const nowMs = clock.nowMs();
    const keptFrom = keptFromOf(nowMs, months);
    const options = { masterKeys, keptFrom, nowMs, slices: reading?.slices };
    const plan = await (apply ? dropMonths : planDrop)(parts, options);
    if (!plan.ok) return context.json({ ok: false, keptFrom, problem: plan.problem });
    return context.json({
      ok: true,
      keptFrom,
      ...(apply ? { dropped: plan.months } : { wouldDrop: plan.months }),
    });
  });
}
