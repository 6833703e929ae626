import { assertEquals } from "../../../../support/assert.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { encodeBatch } from "../../../../../kv/engine/store/batches.ts";
import {
  batchesOfPrefix,
  batchKey,
  batchOf,
  indexerKey,
} from "../../../../../kv/engine/schema/keys.ts";
import { IndexQueue } from "../../../../../kv/money/wallet/settle/index_queue.ts";
import {
  newAccount,
  readUsageTotal,
  receiptOf,
  storeReceipts,
} from "../../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";

const account = newAccount();
const allDays = { fromDay: "2000-01-01", toDay: "2999-12-31" };

/** A queue with two commits of two calls each, stored as settlements store them. */
async function twoBatches(kv: KeyValueStore) {
  const instanceId = newId("instance", 1);
  const { versionstamp } = await kv.set(indexerKey(instanceId), { sinceMs: 1 });
  const queue = new IndexQueue({
    kv,
    instanceId,
    versionstamp,
    bounded: (call) => call,
    pause: () => Promise.resolve(),
  });
  for (const commit of [1, 2]) {
    const receipts = [receiptOf(account), receiptOf(account)];
    await storeReceipts(kv, receipts);
    await kv.set(
      batchKey(instanceId, commit),
      encodeBatch([{
        accountId: account,
        chargedMicroVnd: 14n,
        requestIds: receipts.map(({ requestId }) => requestId),
      }]),
    );
    queue.add(commit, receipts);
  }
  const left = async () =>
    (await Array.fromAsync(kv.list({ prefix: batchesOfPrefix(instanceId) })))
      .map(({ key }) => batchOf(key).commit);
  return { queue, left };
}

Deno.test("a batch stays until the lease rows know of its charges, though it is indexed", async () => {
  using kv = await Deno.openKv(":memory:");
  const { queue, left } = await twoBatches(kv);
  assertEquals(await queue.step(), 4);
  await queue.sweep(1);
  assertEquals([await left(), queue.batches], [[1, 2], 2]);
  await queue.sweep(2);
  assertEquals([await left(), queue.batches], [[2], 1]);
  await queue.sweep(Infinity);
  assertEquals([await left(), queue.batches], [[], 0]);
  assertEquals((await readUsageTotal(kv, account, allDays)).calls, 4);
});

Deno.test("a batch stays until it is indexed, though the lease rows know of its charges", async () => {
  using kv = await Deno.openKv(":memory:");
  const { queue, left } = await twoBatches(kv);
  await queue.sweep(Infinity);
  assertEquals([await left(), queue.batches, queue.length], [[1, 2], 2, 4]);
});
