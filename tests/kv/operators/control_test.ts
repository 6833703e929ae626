import { assertEquals } from "../../support/assert.ts";
import { controlStaleMs, openControl } from "../../../kv/operators/control.ts";

Deno.test("the state of keys is stale after a freeze, though the clock of durations stood still", async () => {
  using kv = await Deno.openKv(":memory:");
  let wallMs = Date.UTC(2026, 10, 20);
  const control = await openControl(kv, { nowMs: () => wallMs, monotonicMs: () => 0 });
  try {
    assertEquals(control.freshKeysEpoch(), "first");
    wallMs += controlStaleMs + 1;
    assertEquals(control.freshKeysEpoch(), undefined);
    await control.catchUp();
    assertEquals(control.freshKeysEpoch(), "first");
  } finally {
    control.close();
  }
});
