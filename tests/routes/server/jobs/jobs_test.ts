import { assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { instanceTtlMs, openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { createReaping, ledgerWatch } from "../../../../routes/server/jobs/jobs.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  reserve,
  topUp,
} from "../../../support/worlds/money_world.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

Deno.test("the log has one line when the ledger stops taking writes, and one when it takes them again", async () => {
  const wallet = { healthy: true };
  const said: string[] = [];
  const log = {
    event: (level: string, message: string) => void said.push(`${level}: ${message}`),
  };
  const watch = ledgerWatch({ wallet, log });
  for (const healthy of [true, false, false, true, true]) {
    wallet.healthy = healthy;
    await watch();
  }
  assertEquals(said, ["error: the ledger takes no writes", "info: the ledger takes writes again"]);
});

Deno.test("the log has one line for a dead instance whose money could not be returned", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 100n);
  const draft = draftOf(40n);
  await wallet.settle(await mustReserve(wallet, account, 40n), draft);
  await kv.delete(["receipt", draft.requestId]);
  clock.advance(instanceTtlMs);
  const said: unknown[] = [];
  const log = {
    event: (level: string, message: string, fields?: unknown) =>
      void said.push([level, message, fields]),
  };
  const living = { instanceId: newId("instance", clock.nowMs()) };
  const reap = createReaping({ kv, clock, log, wallet: living });
  for (let run = 0; run < 3; run++) await reap();
  assertEquals(said, [["error", "a dead instance cannot be recovered", {
    instance: wallet.instanceId,
    error: "every settled call has its receipt",
    look_at: "deno task admin verify",
  }]]);
});

for (const [jump, jumpMs] of [["a day ahead", 24 * hourMs], ["back an hour", -hourMs]] as const) {
  Deno.test(`a clock that jumps ${jump} takes no money from the calls in flight`, async () => {
    using kv = await Deno.openKv(":memory:");
    let nowMs = Date.UTC(2026, 10, 20);
    const clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
    const wallet = await openWalletEngine(kv, { clock, reservationWaitMs: 0 });
    try {
      const account = newAccount();
      await topUp(kv, account, 100n);
      const running = await mustReserve(wallet, account, 90n);
      const { instanceId } = wallet;
      nowMs += jumpMs;
      const reap = createReaping({ kv, clock, wallet, log: { event: () => {} } });
      await reap();
      const more = await reserve(wallet, account, 90n);
      assertEquals(more.ok ? "admitted" : more.reason, "on_hold");
      await reap();
      const { costMicroVnd, shortfallMicroVnd } = await wallet.settle(running, draftOf(90n));
      assertEquals([costMicroVnd, shortfallMicroVnd], [90n, 0n]);
      assertEquals(wallet.instanceId, instanceId);
    } finally {
      await wallet.close();
    }
    assertEquals((await verifyStore(kv)).problems, []);
  });
}
