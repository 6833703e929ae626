import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { AnswerBudget, answerWaitMs } from "../../../../core/lib/bytes/answer_budget.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const bounds = { total: 100, perOwner: 60 };
const largest = 40;

function open() {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  return { time, budget: new AnswerBudget(deadlines, bounds) };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
};

/** Generates an answer that arrives in parts and ends after a while, or whose route fails half-way. */
const plan = fc.record({
  owner: fc.constantFrom("a", "b", "c"),
  beginsAfter: fc.nat(20),
  parts: fc.array(fc.record({ bytes: fc.integer({ min: 4, max: 10 }), after: fc.nat(5) }), {
    minLength: 2,
    maxLength: largest / 10,
  }),
  leavesAfter: fc.nat(60),
  isHandedOver: fc.boolean(),
});

Deno.test("answers that grow and end in any order all fit eventually; at most one exceeds the bounds", async () => {
  let waits = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 8, maxLength: 24 }), async (plans) => {
      const { budget, time } = open();
      let most = 0;
      await Promise.all(plans.map(async (one) => {
        await turns(one.beginsAfter);
        const answer = budget.open(one.owner);
        let bytes = 0;
        for (const part of one.parts) {
          await turns(part.after);
          const waiting = answer.grow(part.bytes);
          if (waiting !== undefined) waits++;
          await waiting;
          bytes += part.bytes;
          assertEquals(answer.bytes, bytes);
          most = Math.max(most, budget.usedBytes);
        }
        if (one.isHandedOver) {
          const left = Promise.withResolvers<void>();
          answer.keepUntil(left.promise);
          answer.release();
          assertEquals(answer.bytes, bytes, "kept until its client has it");
          await turns(one.leavesAfter);
          left.resolve();
        } else {
          await turns(one.leavesAfter);
          answer.release();
        }
      }));
      await turns(5);
      time.advance(2 * answerWaitMs);
      assert(most <= bounds.total + largest, `${most} bytes`);
      assertEquals([budget.usedBytes, time.pending], [0, 0]);
    }),
    { numRuns: 300 },
  );
  assert(waits > 3 * fc.casesOf(300), `only ${waits} had to wait`);
});

Deno.test("an answer without room for a minute is refused, and takes none later", async () => {
  const { budget, time } = open();
  const [first, beyond, late] = ["a", "b", "c"].map((owner) => budget.open(owner));
  assertEquals(first!.grow(60), undefined);
  assertEquals(beyond!.grow(60), undefined, "one may be beyond the bounds");
  const waiting = late!.grow(30);
  assert(waiting !== undefined);
  time.advance(answerWaitMs - 1_000);
  assertEquals(budget.usedBytes, 120);
  const refused = waiting.then(() => undefined, (error) => error);
  time.advance(2_000);
  const error = await refused;
  assert(error instanceof GatewayError);
  assertEquals([error.code, error.status, error.retry], ["busy", 503, true]);
  beyond!.release();
  first!.release();
  assertEquals([budget.usedBytes, late!.bytes], [0, 0]);
});

Deno.test("one owner's answers leave room for another's", () => {
  const { budget } = open();
  const rush = Array.from({ length: 4 }, () => budget.open("rush"));
  const entered = rush.map((answer) => answer.grow(30) === undefined);
  assertEquals(entered, [true, true, true, false], "its share, and one beyond it");
  assertEquals(budget.open("other").grow(6), undefined, "its share of what the rush leaves");
});

Deno.test("bytes taken after the answer are given back when the promises that kept them settle", async () => {
  const { budget } = open();
  const answer = budget.open("a");
  const finding = Promise.withResolvers<void>();
  answer.keepUntil(finding.promise);
  answer.release();
  answer.grow(10);
  assertEquals(budget.usedBytes, 10);
  finding.reject(new Error("no route"));
  await turns(3);
  assertEquals(budget.usedBytes, 0);
});
