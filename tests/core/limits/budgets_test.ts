import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  budgetDays,
  budgetEndMs,
  budgetWindows,
  reachedPercent,
} from "../../../core/limits/budgets.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";

const at = (text: string) => Date.parse(`${text}+07:00`);

Deno.test("windows are those of Vietnam's calendar, weeks from Monday", () => {
  const cases: [window: typeof budgetWindows[number], moment: string, from: string, to: string][] =
    [
      ["day", "2026-11-28T23:59:59.999", "2026-11-28", "2026-11-28"],
      ["day", "2026-11-29T00:00:00", "2026-11-29", "2026-11-29"],
      ["week", "2026-11-29T23:59:59", "2026-11-23", "2026-11-29"],
      ["week", "2026-11-30T00:00:00", "2026-11-30", "2026-12-06"],
      ["week", "2027-01-01T12:00:00", "2026-12-28", "2027-01-03"],
      ["month", "2028-02-29T12:00:00", "2028-02-01", "2028-02-29"],
      ["month", "2026-12-31T23:59:59", "2026-12-01", "2026-12-31"],
      ["month", "2027-01-01T00:00:00", "2027-01-01", "2027-01-31"],
      ["total", "2026-11-28T12:00:00", "2026-11-20", "9999-12-31"],
    ];
  for (const [window, moment, fromDay, toDay] of cases) {
    const createdAtMs = at("2026-11-20T08:00:00");
    assertEquals(budgetDays({ window, createdAtMs }, at(moment)), { fromDay, toDay }, moment);
  }
});

Deno.test("a call is in exactly one window of a kind, which ends when the next begins", () => {
  const moment = fc.integer({ min: at("2026-01-01T00:00:00"), max: at("2040-01-01T00:00:00") });
  fc.assert(fc.property(moment, fc.constantFrom(...budgetWindows), (atMs, window) => {
    const budget = { window, createdAtMs: at("2026-01-01T00:00:00") };
    const days = budgetDays(budget, atMs);
    const day = vietnamDay(atMs);
    assert(days.fromDay <= day && day <= days.toDay);
    const endMs = budgetEndMs(days);
    if (endMs === undefined) return assertEquals(window, "total");
    assertEquals(budgetDays(budget, endMs - 1), days);
    assert(budgetDays(budget, endMs).fromDay > days.toDay);
  }));
});

Deno.test("a share is reached by its whole amount, the largest counts", () => {
  const amountMicroVnd = 1_001n;
  const cases: [spent: bigint, percent: number | undefined][] = [
    [0n, undefined],
    [500n, undefined],
    [501n, 50],
    [800n, 50],
    [801n, 80],
    [1_000n, 80],
    [1_001n, 100],
    [10_000n, 100],
  ];
  for (const [spent, percent] of cases) {
    assertEquals(reachedPercent({ amountMicroVnd }, spent), percent, String(spent));
  }
});
