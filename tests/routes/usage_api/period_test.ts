import { assertEquals } from "../../support/assert.ts";
import {
  bucketRange,
  bucketsOf,
  periodBefore,
  readPeriod,
} from "../../../routes/usage_api/period.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** 10:20 in Vietnam. */
const nowMs = Date.UTC(2026, 10, 20, 3, 20);

Deno.test("presets choose period and grain", () => {
  const day = readPeriod({ period: "24h" }, nowMs);
  // 24 hours, and the minutes until the full hour before them.
  assertEquals([day.untilMs - nowMs, day.fromMs % hourMs, day.grain], [1, 0, "hour"]);
  assertEquals(bucketsOf(day).length, 25);
  assertEquals(bucketsOf(day).at(-1)?.id, "2026-11-20T10");
  const week = readPeriod({ period: "7d" }, nowMs);
  assertEquals([week.range.fromDay, week.grain], ["2026-11-14", "day"]);
  assertEquals(bucketsOf(readPeriod({ period: "7d", grain: "hour" }, nowMs)).length, 7 * 24);
  const month = readPeriod({ period: "month" }, nowMs);
  assertEquals([month.range.fromDay, month.range.toDay], ["2026-11-01", "2026-11-20"]);
  assertEquals(readPeriod({}, nowMs).preset, "30d");
  assertEquals(readPeriod({ period: "nonsense" }, nowMs, "24h").preset, "24h");
});

Deno.test("own days are a period, cut to what can be read, by month if they are many", () => {
  const custom = readPeriod({ from: "2026-08-01", to: "2026-10-31" }, nowMs);
  assertEquals([custom.preset, custom.grain, custom.cut], ["custom", "month", false]);
  assertEquals(bucketsOf(custom).map(({ id }) => id), ["2026-08", "2026-09", "2026-10"]);
  assertEquals(readPeriod({ from: "2020-01-01" }, nowMs).cut, true);
  // Hours are kept for weeks only.
  assertEquals(
    readPeriod({ from: "2026-08-01", to: "2026-08-02", grain: "hour" }, nowMs).grain,
    "day",
  );
});

Deno.test("bars of a period follow one another without a gap", () => {
  for (const period of ["1h", "24h", "7d", "30d", "month"]) {
    for (const grain of ["hour", "day", "month"]) {
      const buckets = bucketsOf(readPeriod({ period, grain }, nowMs));
      for (const [at, { id, fromMs, untilMs }] of buckets.entries()) {
        assertEquals(bucketRange(id), { id, fromMs, untilMs });
        if (at > 0) assertEquals(fromMs, buckets[at - 1]?.untilMs);
      }
    }
  }
  assertEquals(bucketRange("2026-13"), undefined);
  assertEquals(bucketRange("2026-11T05"), undefined);
  assertEquals(bucketRange("2026-12")?.untilMs, Date.UTC(2026, 11, 31, 17));
});

Deno.test("the period before has the same length and ends where the period begins", () => {
  const week = periodBefore(readPeriod({ period: "7d" }, nowMs));
  assertEquals([week.range.fromDay, week.range.toDay], ["2026-11-07", "2026-11-13"]);
  for (const preset of ["1h", "24h", "7d", "30d", "month"]) {
    const period = readPeriod({ period: preset }, nowMs);
    const before = periodBefore(period);
    assertEquals(before.untilMs, period.fromMs);
    assertEquals(bucketsOf(before).length, bucketsOf(period).length);
  }
});
