import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { Deadlines, type Timer } from "../../../../core/lib/time/deadlines.ts";

/** A manual clock with the one timer that the wheel may start. */
class HandClock implements Clock, Timer {
  now = 1_000_003;
  starts = 0;
  #due: { atMs: number; run: () => void } | undefined;

  nowMs = () => this.now;
  monotonicMs = () => this.now;

  get isTicking(): boolean {
    return this.#due !== undefined;
  }

  start(run: () => void, delayMs: number): () => void {
    assertEquals(this.#due, undefined, "one timer at a time");
    this.starts++;
    const due = { atMs: this.now + delayMs, run };
    this.#due = due;
    return () => {
      if (this.#due === due) this.#due = undefined;
    };
  }

  advance(byMs: number): void {
    const until = this.now + byMs;
    while (this.#due && this.#due.atMs <= until) {
      const due = this.#due;
      this.now = due.atMs;
      this.#due = undefined;
      due.run();
    }
    this.now = until;
  }

  /** Simulates a blocked event loop: time passes before the timer fires. */
  block(byMs: number): void {
    this.now += byMs;
    this.advance(0);
  }
}

const tickMs = 100;

function wheel() {
  const clock = new HandClock();
  return { clock, deadlines: new Deadlines({ clock, timer: clock, tickMs }) };
}

Deno.test("Deadlines: fires once, not early, and at most two ticks late", () => {
  const { clock, deadlines } = wheel();
  const firedAt: number[] = [];
  const startedAt = clock.now;
  deadlines.create(() => firedAt.push(clock.now - startedAt)).arm(1_000);
  clock.advance(999);
  assertEquals(firedAt, []);
  clock.advance(10_000);
  assertEquals(firedAt.length, 1);
  const late = (firedAt[0] ?? 0) - 1_000;
  assertEquals(late >= 0 && late <= 2 * tickMs, true, `late by ${late} ms`);
});

Deno.test("Deadlines: the timer runs only while something is armed", () => {
  const { clock, deadlines } = wheel();
  const deadline = deadlines.create(() => {});
  assertEquals(clock.isTicking, false);
  deadline.arm(5_000);
  assertEquals(clock.isTicking, true);
  deadline.disarm();
  assertEquals(deadlines.armedCount, 0);
  clock.advance(tickMs);
  assertEquals(clock.isTicking, false);
  deadline.arm(50);
  assertEquals(clock.isTicking, true);
  clock.advance(1_000);
  assertEquals(clock.isTicking, false);
});

Deno.test("Deadlines: many armings share one timer", () => {
  const { clock, deadlines } = wheel();
  for (let count = 0; count < 1_000; count++) deadlines.create(() => {}).arm(60_000 + count);
  assertEquals(clock.starts, 1);
  assertEquals(deadlines.armedCount, 1_000);
  clock.advance(70_000);
  assertEquals(deadlines.armedCount, 0);
});

Deno.test("Deadlines: a callback may arm itself, arm others and disarm others of the same tick", () => {
  const { clock, deadlines } = wheel();
  const log: string[] = [];
  const victim = deadlines.create(() => log.push("victim"));
  const other = deadlines.create(() => log.push("other"));
  const first = deadlines.create(() => {
    log.push("first");
    victim.disarm();
    other.arm(500);
    if (log.length < 3) first.arm(300);
  });
  first.arm(100);
  victim.arm(100);
  other.arm(100);
  clock.advance(5_000);
  assertEquals(log, ["first", "first", "first", "other"]);
});

Deno.test("Deadlines: after a pause longer than a whole turn exactly the due deadlines fire", () => {
  const { clock, deadlines } = wheel();
  const log: number[] = [];
  for (const delayMs of [50, 5_000, 25_600, 25_700, 51_200, 400_000, 900_000]) {
    deadlines.create(() => log.push(delayMs)).arm(delayMs);
  }
  clock.block(300_000);
  assertEquals(log.toSorted((a, b) => a - b), [50, 5_000, 25_600, 25_700, 51_200]);
  clock.advance(700_000);
  assertEquals(log.length, 7);
});

Deno.test("Deadlines.close: nothing fires afterwards and no timer is left", () => {
  const { clock, deadlines } = wheel();
  let fired = 0;
  const deadline = deadlines.create(() => fired++);
  deadline.arm(100);
  deadlines.close();
  assertEquals(clock.isTicking, false);
  deadline.arm(100);
  clock.advance(10_000);
  assertEquals([fired, deadlines.armedCount], [0, 0]);
});

Deno.test("Deadline.remainingMs: the remaining time, to within two ticks, also after arming for later", () => {
  const clock = new HandClock();
  const deadlines = new Deadlines({ clock, timer: clock, tickMs: 10 });
  const deadline = deadlines.create(() => {});
  assertEquals(deadline.remainingMs, 0);
  for (const delayMs of [50, 5_000]) {
    deadline.arm(delayMs);
    for (const passedMs of [0, 30]) {
      clock.advance(passedMs);
      const exact = delayMs - passedMs;
      const { remainingMs } = deadline;
      assertEquals(remainingMs >= exact && remainingMs <= exact + 20, true, `${remainingMs}`);
    }
  }
  deadline.disarm();
  assertEquals(deadline.remainingMs, 0);
});

Deno.test("Deadlines: a long deadline that is armed just before a tick does not fire early", () => {
  for (let offsetMs = 0; offsetMs < 2 * tickMs; offsetMs += 7) {
    const { clock, deadlines } = wheel();
    deadlines.create(() => {}).arm(60_000);
    clock.advance(offsetMs);
    let firedAt = 0;
    const armedAt = clock.now;
    deadlines.create(() => firedAt = clock.now).arm(5_000);
    clock.advance(20_000);
    const late = firedAt - armedAt - 5_000;
    assertEquals(late >= 0 && late <= 3 * tickMs, true, `off by ${late} ms`);
  }
});

type Move =
  | { readonly kind: "arm"; readonly which: number; readonly delayMs: number }
  | { readonly kind: "disarm"; readonly which: number }
  | { readonly kind: "advance" | "block"; readonly byMs: number };

const which = fc.nat({ max: 4 });
const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("arm" as const),
      which,
      delayMs: fc.oneof(fc.nat({ max: 500 }), fc.nat({ max: 100_000 })),
    }),
    fc.record({ kind: fc.constant("disarm" as const), which }),
    fc.record({
      kind: fc.constantFrom("advance" as const, "block" as const),
      byMs: fc.oneof(fc.nat({ max: 500 }), fc.nat({ max: 60_000 })),
    }),
  ),
  { maxLength: 60 },
);

Deno.test("Deadlines: agree with a plain model for any order of arming, disarming and waiting", () => {
  fc.assert(fc.property(moves, (list) => {
    const { clock, deadlines } = wheel();
    const dueAt = new Map<number, number>();
    const all = [0, 1, 2, 3, 4].map((index) =>
      deadlines.create(() => {
        const due = dueAt.get(index);
        assertEquals(due !== undefined && due <= clock.now, true, "fired early or disarmed");
        dueAt.delete(index);
      })
    );
    for (const move of list) {
      if (move.kind === "arm") {
        all[move.which]?.arm(move.delayMs);
        dueAt.set(move.which, clock.now + move.delayMs);
      } else if (move.kind === "disarm") {
        all[move.which]?.disarm();
        dueAt.delete(move.which);
      } else if (move.kind === "advance") clock.advance(move.byMs);
      else clock.block(move.byMs);
      assertEquals(deadlines.armedCount, dueAt.size);
      for (const due of dueAt.values()) {
        assertEquals(clock.now - due <= 3 * tickMs, true, "overdue and not fired");
      }
    }
  }));
});
