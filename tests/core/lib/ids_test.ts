/** Ids by the clock that makes them. */
import { beforeIdsOf, idTimeMs, newId } from "../../../core/lib/ids.ts";
import { assert, assertEquals } from "../../support/assert.ts";

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
});

Deno.test("ids of all but calls ascend, however far the clock steps back", () => {
  const kinds = [
    "account",
    "apiKey",
    "instance",
    "ledger",
    "video",
    "invoice",
    "audit",
    "approval",
    "announcement",
    "campaign",
    "voucher",
  ] as const;
  for (const kind of kinds) {
    let last = "";
    for (const stepBackMs of [0, 0, 1, 60_000, 60_001, 86_400_000, 10 * 365 * 86_400_000, 0]) {
      const id = newId(kind, startMs - stepBackMs);
      assert(last < id, `${kind}: ${stepBackMs}`);
      last = id;
    }
    const laterMs = startMs + 1_000;
    assertEquals(idTimeMs(kind, newId(kind, laterMs)), laterMs);
  }
});
