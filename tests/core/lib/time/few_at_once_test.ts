import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { FewAtOnce } from "../../../../core/lib/time/few_at_once.ts";
import { assertEquals, assertRejects } from "../../../support/assert.ts";

Deno.test("so many run at a time, so many wait in their order, and others are refused; a failure frees its place", async () => {
  const few = new FewAtOnce({ most: 2, maxWaiting: 2, refusal: "full" });
  const began: number[] = [];
  const ends = [0, 1, 2, 3, 4].map(() => Promise.withResolvers<number>());
  const run = (number: number) =>
    few.run(() => {
      began.push(number);
      return ends[number]!.promise;
    });
  const [first, second, third, fourth] = [run(0), run(1), run(2), run(3)];
  await assertRejects(() => run(4), GatewayError, "full");
  assertEquals(began, [0, 1]);
  ends[1]?.reject(new Error("broken"));
  await assertRejects(() => second, Error, "broken");
  assertEquals(began, [0, 1, 2]);
  ends[0]?.resolve(0);
  ends[2]?.resolve(2);
  ends[3]?.resolve(3);
  assertEquals(await Promise.all([first, third, fourth]), [0, 2, 3]);
  const last = run(4);
  ends[4]?.resolve(4);
  assertEquals(await last, 4);
});
