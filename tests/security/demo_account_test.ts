import { assert, assertEquals } from "@std/assert";
import { newMasterKey, readMasterKeys } from "../../core/keys/seal.ts";
import { isActive, listApiKeys } from "../../kv/api_keys.ts";
import { ensureDemoAccount, retireDemoAccount } from "../../routes/server/demo_account.ts";

Deno.test("the key with play money is worth nothing in production", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  await retireDemoAccount(kv, 1_000); // a store that never was a sandbox
  const demo = await ensureDemoAccount(kv, masterKeys, 1_000);

  await retireDemoAccount(kv, 2_000);
  const keys = await listApiKeys(kv, demo.accountId);
  assertEquals(keys.length, 1);
  assertEquals(keys.filter((key) => isActive(key, 3_000)), []);

  const again = await ensureDemoAccount(kv, masterKeys, 4_000);
  assertEquals(again.accountId, demo.accountId);
  assert(again.secret !== demo.secret, "a revoked key came back");
});
