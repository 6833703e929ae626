import { DayHistory, sumOf } from "../../../../core/routing/history/availability.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDayNumber } from "../../../../core/lib/time/vietnam_time.ts";
import {
  historyDays,
  readDayHistory,
  writeDayHistory,
} from "../../../../kv/services/status/availability.ts";
import { assertEquals } from "../../../support/assert.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const nowMs = Date.UTC(2026, 10, 20, 3);
const today = vietnamDayNumber(nowMs);

/** A process that counted `answered` and `failed` calls of a model on a day. */
function counted(atMs: number, answered: number, failed: number): DayHistory {
  const history = new DayHistory(atMs);
  for (let i = 0; i < answered; i++) history.note("m", atMs, 400);
  for (let i = 0; i < failed; i++) history.note("m", atMs, undefined);
  return history;
}

Deno.test("rows of several processes add up, and the last write of a process counts once", async () => {
  using kv = await Deno.openKv(":memory:");
  const [one, other] = [newId("instance", nowMs), newId("instance", nowMs)];
  await writeDayHistory(kv, one, counted(nowMs, 1, 0).current(nowMs));
  await writeDayHistory(kv, one, counted(nowMs, 6, 1).current(nowMs));
  await writeDayHistory(kv, other, counted(nowMs, 2, 1).current(nowMs));
  const rows = await readDayHistory(kv, today);
  const sum = sumOf(rows.map(({ counts }) => counts), "m");
  assertEquals(sum, { calls: 10, uptime: 0.8, p50FirstOutputMs: 500, p95FirstOutputMs: 500 });
  assertEquals(sumOf(rows.map(({ counts }) => counts), "other"), undefined);
});

Deno.test("the history has the days that it says, and no older one", async () => {
  using kv = await Deno.openKv(":memory:");
  const instance = newId("instance", nowMs);
  for (const daysAgo of [0, 1, historyDays - 1, historyDays]) {
    const atMs = nowMs - daysAgo * dayMs;
    await writeDayHistory(kv, instance, counted(atMs, 1, 0).current(atMs));
  }
  const days = (await readDayHistory(kv, today)).map(({ day }) => today - day);
  assertEquals(days, [historyDays - 1, 1, 0]);
});

Deno.test("a day that has ended is given out once, with its last minute", () => {
  const history = counted(nowMs, 3, 0);
  assertEquals(history.takeFinished(), undefined);
  history.note("m", nowMs + dayMs, 100);
  const finished = history.takeFinished();
  assertEquals([finished?.day, finished?.counts["m"]?.answered], [today, 3]);
  assertEquals(history.takeFinished(), undefined);
  assertEquals(history.current(nowMs + dayMs).counts["m"]?.answered, 1);
});

Deno.test("the speed of a day is never told faster than it was, and at most a half slower", () => {
  for (const ms of [1, 99, 100, 101, 640, 2_600, 28_999]) {
    const history = new DayHistory(nowMs);
    history.note("m", nowMs, ms);
    const { p50FirstOutputMs = 0 } = sumOf([history.current(nowMs).counts]) ?? {};
    assertEquals(
      p50FirstOutputMs >= ms && p50FirstOutputMs <= Math.max(100, ms * 1.6),
      true,
      `${ms}`,
    );
  }
  const slow = new DayHistory(nowMs);
  slow.note("m", nowMs, 40_000);
  assertEquals(sumOf([slow.current(nowMs).counts])?.p50FirstOutputMs, undefined);
});
