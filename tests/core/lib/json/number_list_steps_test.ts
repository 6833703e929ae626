/** The search for the ends of lists passes each byte a bounded number of times. */
import { assert } from "../../../support/assert.ts";
import { growthOfSteps, maxLinearGrowth } from "../../../support/steps.ts";
import { cases } from "./searched_lists.ts";

/** Some ten for each byte of a piece; a search up to the end of the window for each would take thousands. */
const maxPieceSteps = 200;

Deno.test("the steps for many lists that are none of numbers grow like the text", async () => {
  const module = new URL("./searched_lists.ts", import.meta.url);
  const growth = await growthOfSteps(module, Object.keys(cases), 100_000);
  for (const [name, { factor, each }] of growth) {
    assert(factor < maxLinearGrowth && each < maxPieceSteps, `${name}: ${factor}, ${each}`);
  }
});
