import { assertEquals } from "@std/assert";
import { openTeller } from "../../../kv/teller/mod.ts";
import { verifyStore } from "../../../kv/verify.ts";
import { ledgerWatch, reapOthers } from "../../../routes/server/jobs.ts";
import { draftOf, mustReserve, newAccount, reserve, topUp } from "../../support/money_world.ts";

Deno.test("the log learns once when the ledger stops taking writes, and once when it is back", async () => {
  const teller = { healthy: true };
  const said: string[] = [];
  const log = {
    event: (level: string, message: string) => void said.push(`${level}: ${message}`),
  };
  const watch = ledgerWatch({ teller, log });
  for (const healthy of [true, false, false, true, true]) {
    teller.healthy = healthy;
    await watch();
  }
  assertEquals(said, ["error: the ledger takes no writes", "info: the ledger takes writes again"]);
});

const hourMs = 3_600_000;

for (const [jump, jumpMs] of [["a day ahead", 24 * hourMs], ["back an hour", -hourMs]] as const) {
  Deno.test(`a clock that jumps ${jump} takes no money from the calls in flight`, async () => {
    using kv = await Deno.openKv(":memory:");
    let nowMs = Date.UTC(2026, 10, 20);
    const clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
    const teller = await openTeller(kv, { clock });
    try {
      const account = newAccount();
      await topUp(kv, account, 100n);
      const running = await mustReserve(teller, account, 90n);
      const { instanceId } = teller;
      nowMs += jumpMs;
      await reapOthers({ kv, clock, teller });
      const more = await reserve(teller, account, 90n);
      assertEquals(more.ok ? "admitted" : more.reason, "on_hold");
      await reapOthers({ kv, clock, teller });
      const { costMicroVnd, shortfallMicroVnd } = await teller.settle(running, draftOf(90n));
      assertEquals([costMicroVnd, shortfallMicroVnd], [90n, 0n]);
      assertEquals(teller.instanceId, instanceId);
    } finally {
      await teller.close();
    }
    assertEquals((await verifyStore(kv)).problems, []);
  });
}
