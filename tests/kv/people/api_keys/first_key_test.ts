import { assert, assertEquals } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  createFirstKey,
  readFirstKey,
  revokeApiKey,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { minuteMs } from "../../../../core/lib/time/durations.ts";

Deno.test("an account gets one first key, however often and from wherever it is created", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const accountId = newId("account", 0);
  const create = () => createFirstKey(kv, masterKeys, accountId, { name: "first", nowMs: 0 });
  await Promise.all([create(), create(), create()]);
  const [only, ...others] = await listApiKeys(kv, accountId);
  assertEquals(others, []);
  assertEquals(only?.name, "first");
  assert(only !== undefined);
  await revokeApiKey(kv, accountId, only.id, 1);
  await create();
  assertEquals((await listApiKeys(kv, accountId)).length, 1, "a revoked key came back");
});

Deno.test("the first key is shown for ten minutes, and never of another account", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const accountId = newId("account", 0);
  await createFirstKey(kv, masterKeys, accountId, { name: "first", nowMs: 0 });
  const read = (nowMs: number) => readFirstKey(kv, masterKeys, accountId, nowMs);
  assert((await read(10 * minuteMs - 1))?.secret?.startsWith("sk-"));
  const later = await read(10 * minuteMs);
  assertEquals(later?.record.name, "first");
  assertEquals(later?.secret, undefined);
  assertEquals(await readFirstKey(kv, masterKeys, newId("account", 0), 0), undefined);
});
