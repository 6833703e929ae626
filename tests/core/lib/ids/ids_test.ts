/** Ids by the clock that makes them. */
import { beforeIdsOf, idTimeMs, newId } from "../../../../core/lib/ids/ids.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

/** Far behind any clock of another test in this process. */
const startMs = Date.UTC(2040, 0, 1, 12);

Deno.test("ids ascend although the clock steps back a little, and follow one that is set right", () => {
  const first = newId("request", startMs);
  const sameMoment = newId("request", startMs);
  const steppedBack = newId("request", startMs - 60_000);
  assert(first < sameMoment && sameMoment < steppedBack);
  const correctMs = startMs - 86_400_000;
  const corrected = newId("request", correctMs);
  assertEquals(idTimeMs("request", corrected), correctMs);
  assert(beforeIdsOf("request", correctMs) < corrected && corrected < first);
  assert(corrected < newId("request", correctMs));
  assert(newId("ledger", startMs) < newId("ledger", correctMs), "money keeps its order");
});
