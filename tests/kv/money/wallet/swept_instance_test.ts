/** Tests that an instance whose row was deleted stays excluded, and that many dead instances are cleared up in one pass. */
import { setImmediate } from "node:timers";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { instanceKey } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import {
  openWalletEngine,
  type Reservation,
  type WalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { type Fate, Turnstile } from "../../../support/stores/turnstile_kv.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

const stillTimer = { start: () => () => {} };
async function breathe(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets the calls of `client` pass until `done`. */
async function passUntil<T>(turnstile: Turnstile, done: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  done.then(over, over);
  for (let turn = 0; !isOver && turn < 500; turn++) {
    await turnstile.waiting[0]?.pass("answered");
    await breathe();
  }
  assert(isOver, "the calls end");
  return await done;
}

/** An instance that is stopped as by SIGSTOP while the commit of a settlement is on its way to the store. */
async function pausedInstance() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const turnstile = new Turnstile(kv);
  const opening = openWalletEngine(turnstile.client("paused"), { clock: time, timer: stillTimer });
  const wallet = await passUntil(turnstile, opening);
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  const reserve = (amountMicroVnd: bigint) =>
    passUntil(turnstile, mustReserve(wallet, account, amountMicroVnd));
  const [ended, open] = [await reserve(300n), await reserve(200n)];
  const draft = draftOf(120n);
  const settling = wallet.settle(ended, draft);
  await breathe();
  assertEquals(turnstile.waiting.map(({ name }) => name), ["commit"]);
  return {
    kv,
    time,
    turnstile,
    wallet,
    account,
    open,
    settling,
    [Symbol.dispose]: () => kv.close(),
  };
}

async function hasInstanceRow(kv: KeyValueStore, { instanceId }: WalletEngine): Promise<boolean> {
  return (await kv.get(instanceKey(instanceId))).value !== null;
}

const fates: readonly Fate[] = ["answered", "answer_lost", "denied"];
for (const fate of fates) {
  Deno.test(`an instance paused for an hour is excluded though its row is gone (commit ${fate})`, async () => {
    using w = await pausedInstance();
    w.time.advance(hourMs);
    assertEquals((await reapExpiredInstances(w.kv, w.time.nowMs())).reaped, 1);
    assertEquals(await hasInstanceRow(w.kv, w.wallet), false);
    assertEquals((await readWallet(w.kv, w.account)).availableMicroVnd, 1_000n);
    const before = w.wallet.instanceId;
    await w.turnstile.waiting[0]?.pass(fate);
    const receipt = await passUntil(w.turnstile, w.settling);
    assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [120n, 0n]);
    assert(w.wallet.instanceId !== before, "it goes on under another id");
    await passUntil(w.turnstile, w.wallet.settle(w.open, draftOf(30n)));
    await passUntil(w.turnstile, w.wallet.close());
    assertEquals((await readWallet(w.kv, w.account)).availableMicroVnd, 850n);
    const report = await verifyStore(w.kv);
    assertEquals([report.problems, report.chargedMicroVnd], [[], 150n]);
  });
}

Deno.test("a commit that landed before the instance was taken for dead is found, not repeated", async () => {
  using w = await pausedInstance();
  await w.turnstile.waiting[0]?.pass("answer_lost");
  w.time.advance(hourMs);
  assertEquals((await reapExpiredInstances(w.kv, w.time.nowMs())).reaped, 1);
  assertEquals(await hasInstanceRow(w.kv, w.wallet), false);
  assertEquals((await passUntil(w.turnstile, w.settling)).costMicroVnd, 120n);
  w.wallet.release(w.open);
  await passUntil(w.turnstile, w.wallet.close());
  assertEquals((await readWallet(w.kv, w.account)).availableMicroVnd, 880n);
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("a repeated registration that lands after the row was deleted excludes the instance, too", async () => {
  using w = await pausedInstance();
  w.time.advance(hourMs);
  await reapExpiredInstances(w.kv, w.time.nowMs());
  const late = { state: "live", commit: 0, expiresAtMs: w.time.nowMs() };
  await w.kv.set(instanceKey(w.wallet.instanceId), late);
  const receipt = await passUntil(w.turnstile, w.settling);
  assertEquals(receipt.costMicroVnd, 120n);
  w.wallet.release(w.open);
  await passUntil(w.turnstile, w.wallet.close());
  assertEquals((await readWallet(w.kv, w.account)).availableMicroVnd, 880n);
  assertEquals((await reapExpiredInstances(w.kv, w.time.nowMs())).reaped, 1);
  assertEquals((await verifyStore(w.kv)).problems, []);
});

/** Counts the reads of whole kinds. */
function countingLists(kv: KeyValueStore): { readonly kv: KeyValueStore; readonly of: string[] } {
  const of: string[] = [];
  const counted = new Proxy(kv, {
    get(target, property) {
      if (property === "list") {
        return (selector: Deno.KvListSelector, options?: Deno.KvListOptions) => {
          const prefix = "prefix" in selector ? selector.prefix : selector.start;
          of.push(`${prefix.length} ${String(prefix[0])}`);
          return target.list(selector, options);
        };
      }
      const value = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { kv: counted, of };
}

Deno.test("fifty instances that died with leases and open calls are cleared up in one pass", async () => {
  const kv = await Deno.openKv(":memory:");
  try {
    const time = new ManualTime();
    const accounts: AccountId[] = Array.from({ length: 10 }, newAccount);
    for (const account of accounts) await topUp(kv, account, 1_000_000n);
    const options = { clock: time, timer: stillTimer };
    const dying = await Promise.all(
      Array.from({ length: 50 }, () => openWalletEngine(kv, options)),
    );
    const open: Reservation[] = [];
    const settled: RequestId[] = [];
    for (const [at, wallet] of dying.entries()) {
      const account = accounts[at % accounts.length] ?? newAccount();
      open.push(await mustReserve(wallet, account, 900n));
      const draft = draftOf(BigInt(at + 1));
      await wallet.settle(await mustReserve(wallet, account, 100n), draft);
      settled.push(draft.requestId);
    }
    time.advance(hourMs);
    const living = await openWalletEngine(kv, options);
    const counted = countingLists(kv);
    const reports = await Promise.all([
      reapExpiredInstances(counted.kv, time.nowMs(), { own: new Set([living.instanceId]) }),
      reapExpiredInstances(counted.kv, time.nowMs(), { own: new Set([living.instanceId]) }),
    ]);
    assertEquals(reports.flatMap(({ unfinished }) => unfinished), []);
    assertEquals(reports.reduce((sum, { reaped }) => sum + reaped, 0), 50);
    // One that finds every instance taken by the other has nothing to return.
    const readings = counted.of.filter((list) => list === "1 lease").length;
    assert(readings === 1 || readings === 2, `each reads the leases at most once: ${readings}`);
    const rows = await Array.fromAsync(kv.list({ prefix: ["instance"] }));
    assertEquals(rows.map(({ key }) => key[1]), [living.instanceId]);
    await living.close();
    let availableMicroVnd = 0n;
    for (const account of accounts) {
      availableMicroVnd += (await readWallet(kv, account)).availableMicroVnd;
    }
    assertEquals(availableMicroVnd, 10_000_000n - 1_275n);
    const report = await verifyStore(kv);
    assertEquals([report.problems, report.receipts, report.leasedMicroVnd], [[], 50, 0n]);
    assertEquals([open.length, settled.length], [50, 50]);
  } finally {
    kv.close();
  }
});
