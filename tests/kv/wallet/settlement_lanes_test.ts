import { setImmediate } from "node:timers";
import { assert, assertEquals } from "../../support/assert.ts";
import { instancesPrefix } from "../../../kv/schema/keys.ts";
import { verifyStore } from "../../../kv/verify/verify.ts";
import { openWalletEngine, type WalletEngine } from "../../../kv/wallet/mod.ts";
import { reapExpiredInstances } from "../../../kv/wallet/reaper.ts";
import type { KeyValueStore } from "../../../kv/store/key_value_store.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { draftOf, newAccount, topUp } from "../../support/worlds/money_world.ts";

async function instances(kv: KeyValueStore): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: instancesPrefix() }))).length;
}

/** Lets the store answer what was asked; the store of these tests is real, and its time is not. */
async function pass(time: ManualTime, ms: number): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  time.advance(ms);
}

/** Lets time pass until the work is done. */
async function during<T>(time: ManualTime, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => isOver = true);
  over.catch(() => {});
  while (!isOver) await pass(time, 100);
  return await over;
}

/** Settles calls that end one after the other, so that later ones meet the commits of earlier ones. */
async function settleMany(wallet: WalletEngine, count: number): Promise<void> {
  const settling: Promise<unknown>[] = [];
  for (let call = 0; call < count; call++) {
    const pending = wallet.reserve(accountId, 10n);
    const result = "then" in pending ? await pending : pending;
    assert(result.ok);
    settling.push(wallet.settle(result.reservation, draftOf(7n)));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(settling);
}

interface World {
  readonly wallet: WalletEngine;
  readonly time: ManualTime;
}

const accountId = newAccount();

/** Loads until all lanes are open: a load that opens none would be a defect. */
const mostLoads = 5;

async function laned(kv: KeyValueStore): Promise<World> {
  const time = new ManualTime();
  const lanes = { maxLanes: 3, farStoreMs: -1 };
  const wallet = await openWalletEngine(kv, { clock: time, timer: time, lanes });
  await topUp(kv, accountId, 1_000_000n);
  return { wallet, time };
}

Deno.test("lanes open with the load and close when they are idle", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, time } = await laned(kv);
  assertEquals(await instances(kv), 1);
  // A lane opens by commits of the real store: on a busy machine one load may end before the last has opened.
  for (let load = 0; load < mostLoads && await instances(kv) < 4; load++) {
    await during(time, settleMany(wallet, 200));
  }
  assertEquals(await instances(kv), 4);
  for (let waited = 0; waited < 4; waited++) await pass(time, 15_000);
  await pass(time, 0);
  assertEquals(await instances(kv), 1);
  await during(time, settleMany(wallet, 200));
  await wallet.close();
  assertEquals(await instances(kv), 0);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("calls of an engine that is taken for dead while its lanes settle are charged once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, time } = await laned(kv);
  await during(time, settleMany(wallet, 100));
  const before = wallet.instanceId;
  const settling = during(time, settleMany(wallet, 100));
  await reapExpiredInstances(kv, time.nowMs(), { all: true });
  await settling;
  assert(wallet.instanceId !== before, "it has started again");
  const closingMs = time.nowMs();
  await during(time, wallet.close());
  assert(time.nowMs() - closingMs < 5_000, "it closes without giving up");
  time.advance(120_000);
  await reapExpiredInstances(kv, time.nowMs());
  const report = await verifyStore(kv);
  assertEquals(report.problems, []);
  assertEquals(report.receipts, 200);
  assertEquals(report.availableMicroVnd, 1_000_000n - 200n * 7n);
});
