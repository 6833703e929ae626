import { assert } from "./assert.ts";
import { linear, quadratic } from "./growing_work.ts";
import { growthOfSteps, maxLinearGrowth } from "./steps.ts";

Deno.test("steps grow as the work does: with its size, or with the square of it", async () => {
  const names = [...Object.keys(linear), ...Object.keys(quadratic)];
  const growth = await growthOfSteps(new URL("./growing_work.ts", import.meta.url), names, 500);
  for (const [name, { factor }] of growth) {
    const isRight = Object.hasOwn(linear, name)
      ? factor > 1.5 && factor < maxLinearGrowth
      : factor > 3.5;
    assert(isRight, `${name}: ${factor}`);
  }
});
