import { assertEquals } from "../../../support/assert.ts";
import { BodyBudget } from "../../../../core/lib/bytes/body_budget.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";

Deno.test("each body that takes more than the bounds leave is announced once, before it takes it", async () => {
  const deadlines = new Deadlines({ clock: systemClock });
  const usedBytes: number[] = [];
  const budget: BodyBudget = new BodyBudget(
    deadlines,
    { total: 100, perOwner: 50 },
    () => usedBytes.push(budget.usedBytes),
  );
  const small = budget.body("a");
  await small.grow(20);
  assertEquals(usedBytes, []);
  const large = budget.body("b");
  for (let at = 0; at < 5; at++) await large.grow(40);
  assertEquals(usedBytes, [60]);
  const waiting = budget.body("c").grow(90);
  large.release();
  await waiting;
  assertEquals(usedBytes, [60, 20]);
  small.release();
  deadlines.close();
});
