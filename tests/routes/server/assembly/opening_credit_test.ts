import { assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { openingCreditOf } from "../../../../routes/server/assembly/pages.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const here = "http://127.0.0.1:8787";

Deno.test("a new account of a developer's machine gets play money once", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new ManualTime(0);
  const give = openingCreditOf({ kv, clock, baseUrl: here, sandbox: true, bankTransfer: false });
  const accountId = newId("account", 0);
  await give?.(accountId);
  await give?.(accountId);
  assertEquals((await readWallet(kv, accountId)).availableMicroVnd, fromVnd(20_000));
});

Deno.test("no play money in production, for the public, or where customers pay in", async () => {
  using kv = await Deno.openKv(":memory:");
  const base = {
    kv,
    clock: new ManualTime(0),
    baseUrl: here,
    sandbox: true,
    bankTransfer: false,
  };
  for (
    const other of [{ sandbox: false }, { bankTransfer: true }, { baseUrl: "https://gw.example" }, {
      baseUrl: "http://127.example.com",
    }]
  ) assertEquals(openingCreditOf({ ...base, ...other }), undefined, JSON.stringify(other));
});
