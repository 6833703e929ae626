import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { isActive, listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import {
  ensureDemoAccount,
  ensureTrialAccount,
  retirePlayAccounts,
} from "../../routes/process/demo_account.ts";

Deno.test("the demo key is worthless in production", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  await retirePlayAccounts(kv, 1_000); // A store that no sandbox has used.
  const demo = await ensureDemoAccount(kv, masterKeys, 1_000);

  await retirePlayAccounts(kv, 2_000);
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

Deno.test("visitors of a sandbox get the play money of a day once", async () => {
  using kv = await Deno.openKv(":memory:");
  const day = 86_400_000;
  for (const atMs of [1_000, 2_000, 1_000 + day]) await ensureTrialAccount(kv, 5_000, atMs);
  const id = await ensureTrialAccount(kv, 5_000, 2_000 + day);
  assertEquals((await readWallet(kv, id)).availableMicroVnd, fromVnd(10_000));
});
