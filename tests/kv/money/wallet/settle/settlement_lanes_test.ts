import { setImmediate } from "node:timers";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { instancesPrefix } from "../../../../../kv/engine/schema/keys.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { openWalletEngine, type WalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { reapExpiredInstances } from "../../../../../kv/money/wallet/reaper.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import { countedKv, type StoreCounts } from "../../../../support/stores/counted_kv.ts";
import { draftOf, newAccount, topUp } from "../../../../support/worlds/money_world.ts";

async function instances(kv: KeyValueStore): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: instancesPrefix() }))).length;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Lets the store answer what was asked; the store of these tests is real, and its time is not. Time waits for an answer
 * that is due, however slow the machine: an engine whose commits take seconds would take itself for dead.
 */
async function pass({ time, store }: Pick<World, "time" | "store">, ms: number): Promise<void> {
  const answered = () => store.reads + store.commits - store.underWay;
  const before = answered();
  for (let turns = 0; turns < 200; turns++) await turn();
  while (store.underWay > 0 && answered() === before) await turn();
  time.advance(ms);
}

/** Lets time pass until the work is done. */
async function during<T>(world: Pick<World, "time" | "store">, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => isOver = true);
  over.catch(() => {});
  while (!isOver) await pass(world, 100);
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
    await turn();
  }
  await Promise.all(settling);
}

interface World {
  readonly wallet: WalletEngine;
  readonly time: ManualTime;
  readonly store: StoreCounts;
  /** What a commit takes of the world's time, beside what the store takes of the machine's. */
  commitMs: number;
}

const accountId = newAccount();

async function laned(kv: KeyValueStore): Promise<World> {
  const time = new ManualTime();
  const store = countedKv(kv);
  const lanes = { maxLanes: 3, farStoreMs: -1 };
  const far = { commitMs: 0 };
  const atomic = kv.atomic.bind(kv);
  kv.atomic = () => {
    const operation = atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = async () => {
      if (far.commitMs > 0) await new Promise<void>((resolve) => time.start(resolve, far.commitMs));
      return await commit();
    };
    return operation;
  };
  const wallet = await openWalletEngine(kv, { clock: time, timer: time, lanes });
  await topUp(kv, accountId, 1_000_000n);
  return Object.assign(far, { wallet, time, store });
}

Deno.test("lanes open with the load and close when they are idle", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = await laned(kv);
  const { wallet } = world;
  assertEquals(await instances(kv), 1);
  // Commits that take time overlap, however the machine and the store share theirs.
  world.commitMs = 400;
  await during(world, settleMany(wallet, 200));
  world.commitMs = 0;
  assertEquals(await instances(kv), 4);
  for (let waited = 0; waited < 4; waited++) await pass(world, 15_000);
  await pass(world, 0);
  assertEquals(await instances(kv), 1);
  await during(world, settleMany(wallet, 200));
  await wallet.close();
  assertEquals(await instances(kv), 0);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("calls of an engine that is taken for dead while its lanes settle are charged once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = await laned(kv);
  const { wallet, time } = world;
  await during(world, settleMany(wallet, 100));
  const before = wallet.instanceId;
  const settling = during(world, settleMany(wallet, 100));
  await reapExpiredInstances(kv, time.nowMs(), { all: true });
  await settling;
  assert(wallet.instanceId !== before, "it has started again");
  const closingMs = time.nowMs();
  await during(world, wallet.close());
  assert(time.nowMs() - closingMs < 5_000, "it closes without giving up");
  time.advance(120_000);
  await reapExpiredInstances(kv, time.nowMs());
  const report = await verifyStore(kv);
  assertEquals(report.problems, []);
  assertEquals(report.receipts, 200);
  assertEquals(report.availableMicroVnd, 1_000_000n - 200n * 7n);
});
