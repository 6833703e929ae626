import { assert, assertEquals } from "../../../support/assert.ts";
import {
  breakerConsecutiveFailures,
  breakerMinCalls,
  breakerPauseMs,
  healthWindowMs,
} from "../../../../core/routing/health/breaker.ts";
import { breakerPauseMaxMs } from "../../../../core/routing/health/limits.ts";
import { RouteHealth } from "../../../../core/routing/health/route_health.ts";

const failure = { ok: false, reason: "upstream_unreachable" } as const;
const success = { ok: true, firstOutputMs: 100 } as const;
/** A random value that leaves pauses as they are: 0.8 + 0.4 × 0.5 = 1. */
const middle = 0.5;

function fail(health: RouteHealth, times: number, nowMs: number): void {
  for (let i = 0; i < times; i++) {
    health.begin(nowMs);
    health.end(failure, nowMs, middle);
  }
}

Deno.test("a route with some failures in a row leaves the pool, and one probe at a time may bring it back", () => {
  const health = new RouteHealth();
  fail(health, breakerConsecutiveFailures - 1, 0);
  assertEquals(health.availability(0), "yes");
  fail(health, 1, 0);
  assertEquals(health.availability(0), "no");
  assertEquals(health.availability(breakerPauseMs - 1), "no");
  assertEquals(health.availability(breakerPauseMs), "probe");
  health.begin(breakerPauseMs);
  assertEquals(health.availability(breakerPauseMs), "no", "a second probe beside the first");
  assertEquals(health.end(success, breakerPauseMs, middle), "closed");
  assertEquals(health.availability(breakerPauseMs), "yes");
});

Deno.test("each failed probe doubles the pause, up to the bound", () => {
  const health = new RouteHealth();
  fail(health, breakerConsecutiveFailures, 0);
  const pauses: number[] = [];
  let nowMs = 0;
  for (let i = 0; i < 10; i++) {
    const startedMs = nowMs;
    nowMs = health.nextProbeMs;
    pauses.push(nowMs - startedMs);
    fail(health, 1, nowMs);
  }
  assertEquals(pauses.slice(0, 4), [1, 2, 4, 8].map((n) => n * breakerPauseMs));
  assertEquals(pauses.at(-1), breakerPauseMaxMs);
});

Deno.test("when half of many calls fail the breaker opens though others succeed", () => {
  const health = new RouteHealth();
  for (let i = 0; i <= breakerMinCalls; i++) {
    health.begin(i);
    health.end(i % 2 === 0 ? failure : success, i, middle);
  }
  assertEquals(health.availability(breakerMinCalls), "no");
});

Deno.test("failures leave the window after its length", () => {
  const health = new RouteHealth();
  for (let i = 0; i < breakerMinCalls - 2; i++) {
    health.begin(0);
    health.end(i % 2 === 0 ? failure : success, 0, middle);
  }
  const later = healthWindowMs * 2;
  health.begin(later);
  health.end(success, later, middle);
  assertEquals(health.view(later, 0).windowCalls, 1);
  assertEquals(health.view(later, 0).windowFailures, 0);
});

Deno.test("a provider's retry-after is respected except for probes, which come later each time, and is bounded", () => {
  const health = new RouteHealth();
  const limited = (nowMs: number, retryAfterMs: number) => {
    health.begin(nowMs);
    health.end({ ok: false, reason: "rate_limit_exceeded", retryAfterMs }, nowMs, middle);
  };
  limited(0, 7_000);
  assert(health.pauseWasAsked);
  assertEquals([health.nextProbeMs, health.readyMs], [1_000, 7_000]);
  assertEquals([health.availability(999), health.availability(1_000)], ["no", "probe"]);
  limited(1_000, 6_000);
  assertEquals([health.nextProbeMs, health.readyMs], [3_000, 7_000]);
  limited(3_000, 1_500);
  assertEquals(health.nextProbeMs, 4_500, "no later than the provider says");
  limited(4_500, 1e9);
  assertEquals(health.readyMs, 4_500 + breakerPauseMaxMs);
  health.begin(12_500);
  health.end({ ok: true, firstOutputMs: 1 }, 12_501, middle, 12_500);
  assertEquals([health.availability(12_501), health.pauseWasAsked], ["yes", false]);
});

Deno.test("an attempt that says nothing about the route changes nothing but frees the probe", () => {
  const health = new RouteHealth();
  fail(health, breakerConsecutiveFailures, 0);
  health.begin(breakerPauseMs);
  health.forget(breakerPauseMs);
  assertEquals(health.availability(breakerPauseMs), "probe");
  assertEquals(health.inFlight, 0);
});

Deno.test("calls that ran when the breaker opened do not lengthen the pause", () => {
  const health = new RouteHealth();
  for (let i = 0; i < 50; i++) health.begin(0);
  for (let i = 0; i < 50; i++) health.end(failure, 10, middle);
  assertEquals(health.nextProbeMs, 10 + breakerPauseMs);
});

Deno.test("calls that began before the breaker opened and succeed do not close it", () => {
  const health = new RouteHealth();
  for (let i = 0; i < 20; i++) health.begin(0);
  for (let i = 0; i < breakerConsecutiveFailures; i++) health.end(failure, 10, middle, 0);
  assertEquals(health.availability(10), "no");
  assertEquals(health.end(success, 20, middle, 0), undefined);
  assertEquals(health.availability(20), "no");
});

Deno.test("late failures do not count as failures of the probe that runs meanwhile", () => {
  const health = new RouteHealth();
  for (let i = 0; i < 20; i++) health.begin(0);
  for (let i = 0; i < breakerConsecutiveFailures; i++) health.end(failure, 10, middle, 0);
  const probeMs = health.nextProbeMs;
  health.begin(probeMs);
  for (let i = 0; i < 10; i++) assertEquals(health.end(failure, probeMs + i, middle, 0), undefined);
  health.forget(0);
  assertEquals(health.availability(probeMs + 10), "no", "the probe still runs");
  assertEquals(health.end(success, probeMs + 20, middle, probeMs), "closed");
});

Deno.test("a successful attempt on a resting route closes the breaker", () => {
  const health = new RouteHealth();
  fail(health, breakerConsecutiveFailures, 0);
  health.begin(100);
  assertEquals(health.end(success, 200, middle, 100), "closed");
});

Deno.test("a beaten probe has failed; a beaten call only shows how slow the route is", () => {
  const health = new RouteHealth();
  health.begin(0);
  health.end({ ok: true, firstOutputMs: 100 }, 100, middle, 0);
  health.begin(1_000);
  assertEquals(health.beaten(3_000, middle, 1_000), undefined);
  assertEquals(health.availability(3_000), "yes");
  assert((health.firstOutputMs(3_000) ?? 0) > 400, "slower than it was taken for");

  fail(health, breakerConsecutiveFailures, 4_000);
  const probeMs = health.nextProbeMs;
  health.begin(probeMs);
  assertEquals(health.beaten(probeMs + 2_000, middle, probeMs), "open");
  assertEquals(health.nextProbeMs, probeMs + 2_000 + 2 * breakerPauseMs);
  assertEquals(health.inFlight, 0);
});

Deno.test("a probe whose start is known in whole milliseconds still closes the breaker", () => {
  const health = new RouteHealth();
  fail(health, breakerConsecutiveFailures, 0);
  const beganAtMs = breakerPauseMs + 0.9;
  assertEquals(health.availability(beganAtMs), "probe");
  health.begin(beganAtMs);
  assertEquals(health.end(success, beganAtMs + 5, middle, Math.floor(beganAtMs)), "closed");
});

Deno.test("a distrusted route rests for the longest pause, and again after each probe", () => {
  const health = new RouteHealth();
  assertEquals(health.distrust("false_reports", 0, middle), "open");
  assertEquals([health.reason, health.availability(59_000)], ["false_reports", "no"]);
  assertEquals(health.pauseWasAsked, false);
  assertEquals(health.distrust("false_reports", 1_000, middle), undefined);
  // Where no other route is left it gets a last try; that it answers is not what it was doubted for.
  health.begin(2_000);
  assertEquals(health.end(success, 2_100, middle, 2_000), undefined);
  assertEquals(health.availability(60_000), "probe");
  health.begin(60_000);
  assertEquals(health.end(success, 60_100, middle, 60_000), "closed");
  assertEquals(health.distrust("false_reports", 60_110, middle), "open");
  assertEquals(health.availability(119_000), "no");
});

Deno.test("a route that rests in one thread rests in the others, a little longer, and works again in all", () => {
  const [one, other] = [new RouteHealth(), new RouteHealth()];
  fail(one, breakerConsecutiveFailures, 0);
  // The clock of the other thread began later.
  other.merge(one.shared(0), 5_000_000);
  assertEquals(
    other.availability(5_000_000 + breakerPauseMs),
    "no",
    "the one that failed probes first",
  );
  assertEquals(other.availability(5_000_000 + 1.25 * breakerPauseMs), "probe");
  one.begin(breakerPauseMs);
  assertEquals(one.end(success, breakerPauseMs, middle), "closed");
  other.merge(one.shared(breakerPauseMs), 5_000_000 + breakerPauseMs);
  assertEquals(other.availability(5_000_000 + breakerPauseMs), "yes");
});

Deno.test("what another thread found out during a probe does not leave the probe open for ever", () => {
  const [one, other] = [new RouteHealth(), new RouteHealth()];
  fail(one, breakerConsecutiveFailures, 0);
  fail(other, breakerConsecutiveFailures, 0);
  other.begin(breakerPauseMs);
  one.begin(breakerPauseMs);
  assertEquals(one.end(failure, breakerPauseMs, middle), "open");
  other.merge(one.shared(breakerPauseMs), breakerPauseMs + 5);
  other.end(success, breakerPauseMs + 10, middle, breakerPauseMs);
  assertEquals(other.availability(other.nextProbeMs), "probe");
});
