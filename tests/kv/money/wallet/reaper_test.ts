import { assertEquals } from "../../../support/assert.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { instanceTtlMs, openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  readUsageTotal,
  topUp,
} from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** A store after an instance died with a lease, an open call and settled calls that no index has. */
async function afterCrash() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  await mustReserve(wallet, account, 200n);
  const draft = draftOf(40n);
  await wallet.settle(await mustReserve(wallet, account, 50n), draft);
  return { kv, time, account, requestId: draft.requestId, [Symbol.dispose]: () => kv.close() };
}

async function rowsUnder(kv: KeyValueStore, prefix: string): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: [prefix] }))).length;
}

Deno.test("an instance is left alone until its time is over", async () => {
  using store = await afterCrash();
  store.time.advance(instanceTtlMs - 1);
  assertEquals(await reapExpiredInstances(store.kv, store.time.nowMs()), {
    reaped: 0,
    unfinished: [],
    nextExpiryMs: store.time.nowMs() + 1,
  });
  assertEquals(await rowsUnder(store.kv, "lease"), 1);
});

for (const all of [false, true]) {
  Deno.test(`what a dead instance held and owed is put right (all: ${all})`, async () => {
    using store = await afterCrash();
    const { kv, account } = store;
    if (!all) store.time.advance(instanceTtlMs);
    const report = await reapExpiredInstances(kv, store.time.nowMs(), { all });
    assertEquals([report.reaped, report.unfinished], [1, []]);
    assertEquals((await readWallet(kv, account)).availableMicroVnd, 960n);
    assertEquals((await readReceipt(kv, store.requestId))?.costMicroVnd, 40n);
    const days = { fromDay: "2026-01-01", toDay: "2026-12-31" };
    assertEquals((await readUsageTotal(kv, account, days)).costMicroVnd, 40n);
    for (const prefix of ["lease", "settled", "indexer"]) {
      assertEquals(await rowsUnder(kv, prefix), 0, prefix);
    }
    assertEquals((await verifyStore(kv)).ok, true);
  });
}

Deno.test("five reapers at once return the money once", async () => {
  using store = await afterCrash();
  store.time.advance(instanceTtlMs);
  const reports = await Promise.all(
    Array.from({ length: 5 }, () => reapExpiredInstances(store.kv, store.time.nowMs())),
  );
  assertEquals(reports.reduce((sum, { reaped }) => sum + reaped, 0), 1);
  assertEquals((await readWallet(store.kv, store.account)).availableMicroVnd, 960n);
  assertEquals((await verifyStore(store.kv)).ok, true);
});

Deno.test("a reaper that died half-way is finished by the next one", async () => {
  using store = await afterCrash();
  const { kv, time } = store;
  time.advance(instanceTtlMs);
  const [entry] = await Array.fromAsync(kv.list<Record<string, unknown>>({ prefix: ["instance"] }));
  if (!entry) throw new Error("no instance");
  await kv.set(entry.key, { state: "reaped", commit: 2, reapedAtMs: time.nowMs() });
  assertEquals((await reapExpiredInstances(kv, time.nowMs())).reaped, 1);
  assertEquals((await readWallet(kv, store.account)).availableMicroVnd, 960n);
});

Deno.test("an instance that cannot be cleared up is reported and does not keep the others", async () => {
  using store = await afterCrash();
  const { kv, time } = store;
  const other = await openWalletEngine(kv, { clock: time, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 10n);
  await mustReserve(other, account, 10n);
  await kv.delete(["receipt", store.requestId]);
  time.advance(instanceTtlMs);
  const report = await reapExpiredInstances(kv, time.nowMs());
  assertEquals(report.reaped, 1);
  assertEquals(report.unfinished.map(({ reason }) => reason), [
    "every settled call has its receipt",
  ]);
  assertEquals((await readWallet(kv, account)).availableMicroVnd, 10n);
});

Deno.test("the row of a dead instance goes with the run that clears it up", async () => {
  using store = await afterCrash();
  const { kv, time } = store;
  time.advance(instanceTtlMs);
  await reapExpiredInstances(kv, time.nowMs());
  assertEquals(await rowsUnder(kv, "instance"), 0);
});

Deno.test("a row that an older release left as done is deleted, a live one is not", async () => {
  using store = await afterCrash();
  const { kv, time } = store;
  const done = { state: "done", commit: 7, reapedAtMs: time.nowMs() };
  for (let at = 0; at < 278; at++) await kv.set(["instance", `in_${at}`], done);
  assertEquals(await rowsUnder(kv, "instance"), 279);
  assertEquals((await reapExpiredInstances(kv, time.nowMs())).reaped, 0);
  assertEquals(await rowsUnder(kv, "instance"), 1);
});
