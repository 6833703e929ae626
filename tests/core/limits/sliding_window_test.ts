/** Tests that amounts count for a window of any width, of calls and of money, and for at most a slot more. */
import { msUntilAtMost, SlidingWindow } from "../../../core/limits/sliding_window.ts";
import { hourMs, minuteMs } from "../../../core/lib/time/durations.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const shapes = [minuteMs, hourMs].flatMap((windowMs) => [
  { windowMs, isWide: false, amount: 4_000_000_000 },
  { windowMs, isWide: true, amount: 2_000_000_000_000_000 },
]);

Deno.test("an amount counts for its window, leaves it within a slot, and the wait for it is exact", () => {
  for (const { amount, ...shape } of shapes) {
    const slotMs = shape.windowMs / 60;
    for (const atMs of [0, 1, slotMs - 1, slotMs, 7 * slotMs + 3]) {
      const window = new SlidingWindow(shape);
      window.add(amount, atMs);
      const waitMs = msUntilAtMost([window], amount - 1, atMs);
      assert(waitMs > shape.windowMs && waitMs <= shape.windowMs + slotMs, String(waitMs));
      assertEquals(window.emptyInMs(atMs), waitMs);
      assertEquals(window.sum(atMs + shape.windowMs), amount, JSON.stringify(shape));
      assertEquals(window.sum(atMs + waitMs - 1), amount);
      assertEquals(window.sum(atMs + waitMs), 0);
    }
  }
});

Deno.test("what is taken back no longer counts, while it is in the window", () => {
  for (const { amount, ...shape } of shapes) {
    const window = new SlidingWindow(shape);
    const place = window.add(amount, 0);
    assertEquals(window.takeBack(place, amount - 5, shape.windowMs), amount - 5);
    assertEquals(window.sum(shape.windowMs), 5);
    assertEquals(window.takeBack(place, 5, 2 * shape.windowMs), 0, "it has left");
  }
});
