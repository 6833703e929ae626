import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { isActive, listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import { ensureDemoAccount, retireDemoAccount } from "../../routes/process/demo_account.ts";

Deno.test("the demo key is worthless in production", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  await retireDemoAccount(kv, 1_000); // A store that no sandbox has used.
  const demo = await ensureDemoAccount(kv, masterKeys, 1_000);

  await retireDemoAccount(kv, 2_000);
  const keys = await listApiKeys(kv, demo.accountId);
  assertEquals(keys.length, 1);
  assertEquals(keys.filter((key) => isActive(key, 3_000)), []);

  const again = await ensureDemoAccount(kv, masterKeys, 4_000);
  assertEquals(again.accountId, demo.accountId);
  assert(again.secret !== demo.secret, "a revoked key came back");
});

Deno.test("instances that start together on a new store share one demo account, credited once", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const demos = await Promise.all(
    Array.from({ length: 5 }, () => ensureDemoAccount(kv, masterKeys, 1_000)),
  );
  const { accountId } = demos[0]!;
  assertEquals(new Set(demos.map((demo) => demo.accountId)), new Set([accountId]));
  const { availableMicroVnd } = await readWallet(kv, accountId);
  assertEquals(availableMicroVnd, fromVnd(100_000));
});
