/**
 * Requests of shapes that a careless conversion passes again for each of their parts: as large as they may be, they
 * would take minutes, in which nothing else runs.
 */
import { assert } from "../../../support/assert.ts";
import { growthOfSteps, maxLinearGrowth } from "../../../support/steps.ts";
import { cases } from "./large_shapes.ts";

Deno.test("the steps of a conversion grow like the request, whatever its shape", async () => {
  const module = new URL("./large_shapes.ts", import.meta.url);
  const growth = await growthOfSteps(module, Object.keys(cases), 2_000);
  for (const [name, { factor }] of growth) assert(factor < maxLinearGrowth, `${name}: ${factor}`);
});
