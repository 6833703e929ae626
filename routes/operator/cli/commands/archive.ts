/** `admin archive` and `admin retention`: the life of a receipt after its day is sealed, and rows that leave by their age. */
import type { Hono } from "hono";
import { z } from "zod";
import { retentionKinds } from "../../../../core/config/retention.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { noteMove } from "../../../../kv/services/archive/last_move.ts";
import { moveDays, type MoveReport } from "../../../../kv/services/archive/move_days.ts";
import { outageLine } from "../../../../kv/engine/store/store_unavailable.ts";
import {
  applyRetention,
  type LeavingKind,
  planRetention,
} from "../../../../kv/services/retention/retention.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { readInput } from "../../operations/contract/operation.ts";
import { type AdminDeps, readJson } from "./admin_deps.ts";

/** Days that stay in the store unless the operator says another number: what customers look at most. */
const defaultKeptDays = 35;

/** A year: with more of them, little ever leaves the store. */
const maxKeptDays = 366;

/** Body of `archive`. */
export const archiveBody = z.strictObject({
  olderThanDays: z.int("must be a whole number of days").min(1).max(maxKeptDays)
    .default(defaultKeptDays),
});

const { least, most } = retentionKinds.receipts;

/** Body of `retention`. */
export const retentionBody = z.strictObject({
  months: z.int("must be a whole number of months").min(least).max(most).optional(),
  apply: z.boolean().default(false),
});

function noArchive(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "This store has no archive: a file and PostgreSQL have one",
  );
}

/** Message of SQLite about a file that another process has locked; the code of the error is lost between threads. */
const lockedFile = /\bdatabase is locked\b/;

/**
 * Runs what writes to files of the archive.
 *
 * @throws {GatewayError} that says what to do if another process has a file locked
 */
async function unlessLocked<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error && lockedFile.test(error.message))) throw error;
    throw new GatewayError(
      "service_unavailable",
      "Another process has a file of the archive locked: another archive or retention, a backup program, or a tool " +
        "that reads it (fuser names the process). Days that were moved are whole: end the other one, and run this again",
    );
  }
}

function problemsOf(kinds: readonly LeavingKind[]): string[] {
  return kinds.flatMap(({ kind, problem }) => problem === undefined ? [] : [`${kind}: ${problem}`]);
}

/** Says in a line what a run has moved, and why it ended. */
function endOf(
  { moved, sums = 0, problems, outage }: MoveReport,
  { before, sealed, due }: {
    /** The first day that is too young to move. */
    readonly before: string;
    /** Days that are sealed, and those of them that are old enough. */
    readonly sealed: number;
    readonly due: number;
  },
): string {
  const receipts = moved.reduce((sum, day) => sum + day.receipts, 0);
  const [first, last] = [moved[0]?.day, moved.at(-1)?.day];
  const what = [
    ...(first === undefined
      ? []
      : [`${moved.length} days with ${receipts} receipts, ${first} to ${last}`]),
    ...(sums === 0 ? [] : [`${sums} sums of old days`]),
  ];
  const done = `moved ${what.length === 0 ? "nothing" : what.join(", and ")}`;
  if (outage !== undefined) {
    return `${done}; stopped early. ${
      outageLine(outage)
    }. The next run goes on where this one stopped`;
  }
  if (problems.length > 0) return `${done}; ${problems.length} days stay, see problems`;
  if (sealed === 0) return `${done}: no day is sealed yet, which verify does`;
  if (due === 0) return `${done}: no sealed day is before ${before}`;
  return `${done}; all ${due} sealed days before ${before} are in the archive`;
}

/** Adds `/archive` and `/retention`. */
export function addArchiveRoutes(
  app: Hono,
  { kv, parts, clock, masterKeys, retention, beginReading }: Pick<
    AdminDeps,
    "kv" | "parts" | "clock" | "masterKeys" | "retention" | "beginReading"
  >,
): void {
  app.post("/archive", async (context) => {
    const { olderThanDays } = readInput(archiveBody, await readJson(context));
    if (parts === undefined) throw noArchive();
    const nowMs = clock.nowMs();
    const chain = await readChain(kv, masterKeys);
    const before = vietnamDay(nowMs - olderThanDays * dayMs);
    const checkpoints = chain.checkpoints.filter(({ day }) => day < before);
    using reading = beginReading?.(context.req.raw.signal);
    const { slices } = reading ?? {};
    const report = await unlessLocked(() => moveDays(parts, { checkpoints, nowMs, slices }));
    const { moved, sums = 0, problems, outage } = report;
    const ended = endOf(report, {
      before,
      sealed: chain.checkpoints.length,
      due: checkpoints.length,
    });
    if (outage !== undefined) {
      return context.json({ ok: false, ended, moved, sums, dropped: [], problems });
    }
    const source = { kv, parts, masterKeys, settings: retention, nowMs, slices };
    const kinds = await unlessLocked(() => applyRetention(source));
    const all = [...chain.problems, ...problems, ...problemsOf(kinds)];
    await noteMove(kv, { atMs: clock.nowMs(), problems: all.length });
    const dropped = kinds.filter(({ rows }) => rows > 0);
    return context.json({ ok: all.length === 0, ended, moved, sums, dropped, problems: all });
  });

  app.post("/retention", async (context) => {
    const { months, apply } = readInput(retentionBody, await readJson(context));
    using reading = beginReading?.(context.req.raw.signal);
    const { slices } = reading ?? {};
    const settings = { ...retention, ...(months !== undefined && { receipts: months }) };
    const source = { kv, parts, masterKeys, settings, nowMs: clock.nowMs(), slices };
    const kinds = await unlessLocked(() => (apply ? applyRetention : planRetention)(source));
    const problems = problemsOf(kinds);
    const ok = problems.length === 0;
    return context.json(apply ? { ok, dropped: kinds } : { ok, wouldDrop: kinds });
  });
}
