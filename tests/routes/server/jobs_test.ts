import { assertEquals } from "@std/assert";
import { limits } from "../../../core/limits.ts";
import { openTeller } from "../../../kv/teller/mod.ts";
import { createReaping, ledgerWatch } from "../../../routes/server/jobs.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../support/money_world.ts";

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

Deno.test("the log learns once of a dead instance whose money could not go back", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualTime();
  const teller = await openTeller(kv, { clock, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 100n);
  const draft = draftOf(40n);
  await teller.settle(await mustReserve(teller, account, 40n), draft);
  await kv.delete(["receipt", draft.requestId]);
  clock.advance(limits.instanceTtlMs);
  const said: unknown[] = [];
  const log = {
    event: (level: string, message: string, fields?: unknown) =>
      void said.push([level, message, fields]),
  };
  const reap = createReaping({ kv, clock, log });
  for (let run = 0; run < 3; run++) await reap();
  assertEquals(said, [["error", "a dead instance is not cleared up", {
    instance: teller.instanceId,
    error: "every settled call has its receipt",
    look_at: "deno task admin verify",
  }]]);
});
