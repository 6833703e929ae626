import { assert, assertEquals, assertRejects, assertThrows } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { maxAttachedRowBytes } from "../../../../kv/money/wallet/settle/settlements.ts";
import {
  maxReceiptAttempts,
  maxReceiptTextChars,
} from "../../../../kv/money/receipts/receipt_codec.ts";
import { heartbeatMs, indexLingerMs } from "../../../../kv/money/wallet/housekeeping.ts";
import { maxUnsettledCalls } from "../../../../kv/money/wallet/wallet_engine.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { listReceipts, readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import {
  instanceTtlMs,
  openWalletEngine,
  StoppedError,
  type WalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import { readUsage } from "../../../../kv/money/ledger/usage.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { countedKv, settledDown, type StoreCounts } from "../../../support/stores/counted_kv.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  reserve,
  topUp,
} from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

async function world(wrap: (kv: KeyValueStore) => KeyValueStore = (kv) => kv) {
  const kv = await Deno.openKv(":memory:");
  // Counted below the faults: a call that never reaches the store is not waited for.
  const store = countedKv(kv);
  const time = new ManualTime();
  // Waits for other reservations are tested in `reservations_test.ts`.
  const options = { clock: time, timer: time, random: () => 0, reservationWaitMs: 0 };
  const open = () => openWalletEngine(wrap(kv), options);
  return {
    kv,
    store,
    time,
    open,
    wallet: await open(),
    [Symbol.dispose]: () => kv.close(),
  };
}

async function leaseRows(kv: KeyValueStore): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: ["lease"] }))).length;
}

Deno.test("reserve() is synchronous while the lease has room", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000_000n);
  const first = w.wallet.reserve(account, 100n);
  assert("then" in first, "the first call has to draw");
  await first;
  assert(!("then" in w.wallet.reserve(account, 100n)), "the next ones have not");
});

Deno.test("of 200 concurrent calls on a wallet that affords 50, exactly 50 are admitted", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 50n * 7n);
  const results = await Promise.all(
    Array.from({ length: 200 }, () => reserve(w.wallet, account, 7n)),
  );
  const admitted = results.flatMap((result) => result.ok ? [result.reservation] : []);
  assertEquals(admitted.length, 50);
  for (const result of results) {
    if (!result.ok) assertEquals([result.reason, result.availableMicroVnd], ["on_hold", 0n]);
  }
  await Promise.all(admitted.map((reservation) => w.wallet.settle(reservation, draftOf(7n))));
  const after = await reserve(w.wallet, account, 7n);
  assertEquals(after.ok ? "ok" : after.reason, "insufficient");
  await w.wallet.close();
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 0n);
  assertEquals((await verifyStore(w.kv)).ok, true);
});

Deno.test("two instances share a wallet that affords 50 calls without admitting 51", async () => {
  using w = await world();
  const other = await w.open();
  const account = newAccount();
  await topUp(w.kv, account, 50n * 7n);
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, at) => reserve(at % 2 ? w.wallet : other, account, 7n)),
  );
  assertEquals(results.filter(({ ok }) => ok).length, 50);
});

Deno.test("what a call did not use can be reserved again at once", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const first = await mustReserve(w.wallet, account, 100n);
  const settling = w.wallet.settle(first, draftOf(30n));
  const second = w.wallet.reserve(account, 70n);
  assert("ok" in second && second.ok, "70 of 100 are free before the commit is done");
  assertEquals((await settling).costMicroVnd, 30n);
});

Deno.test("a released reservation is free again", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  w.wallet.release(await mustReserve(w.wallet, account, 100n));
  assertEquals((await reserve(w.wallet, account, 100n)).ok, true);
});

Deno.test("a call that costs more than was reserved takes what the wallet still has", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const covered = await mustReserve(w.wallet, account, 10n);
  const receipt = await w.wallet.settle(covered, draftOf(900n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [900n, 0n]);
  const uncovered = await mustReserve(w.wallet, account, 10n);
  const short = await w.wallet.settle(uncovered, draftOf(150n));
  assertEquals([short.costMicroVnd, short.shortfallMicroVnd], [100n, 50n]);
  await w.wallet.close();
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 0n);
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("a shortfall never takes what other calls have reserved", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const greedy = await mustReserve(w.wallet, account, 10n);
  const modest = await mustReserve(w.wallet, account, 60n);
  const receipt = await w.wallet.settle(greedy, draftOf(500n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [40n, 460n]);
  assertEquals((await w.wallet.settle(modest, draftOf(60n))).shortfallMicroVnd, 0n);
});

Deno.test("a free call gets its receipt", async () => {
  using w = await world();
  const account = newAccount();
  const reservation = await mustReserve(w.wallet, account, 0n);
  const draft = draftOf(0n, { outcome: "failed" });
  await w.wallet.settle(reservation, draft);
  assertEquals((await readReceipt(w.kv, draft.requestId))?.outcome, "failed");
});

Deno.test("a reservation is settled or released once", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const settled = await mustReserve(w.wallet, account, 10n);
  await w.wallet.settle(settled, draftOf(10n));
  await assertRejects(
    () => w.wallet.settle(settled, draftOf(10n)),
    InvariantError,
    "it is settled",
  );
  assertThrows(() => w.wallet.release(settled), InvariantError, "it is settled");
  const released = await mustReserve(w.wallet, account, 10n);
  w.wallet.release(released);
  await assertRejects(() => w.wallet.settle(released, draftOf(10n)), InvariantError);
  assertEquals((await w.wallet.balance(account)).totalMicroVnd, 90n);
});

/** A store that writes at once but answers only when `told` resolves. */
function slowAnswers(kv: KeyValueStore, told: () => Promise<void>): KeyValueStore {
  return new Proxy(kv, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (property !== "atomic") return value.bind(target);
      return () => {
        const operation = target.atomic();
        const commit = operation.commit.bind(operation);
        operation.commit = async () => {
          const result = await commit();
          await told();
          return result;
        };
        return operation;
      };
    },
  });
}

Deno.test("a balance read while a draw has landed, but is not known yet, misses nothing", async () => {
  let told = Promise.resolve();
  using w = await world((kv) => slowAnswers(kv, () => told));
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const open = await mustReserve(w.wallet, account, 10n);
  const { promise, resolve } = Promise.withResolvers<void>();
  told = promise;
  const drawing = reserve(w.wallet, account, 500n);
  await settledDown(w.store);
  assert((await readWallet(w.kv, account)).availableMicroVnd < 500n, "the draw has landed");
  const reading = w.wallet.balance(account);
  // The store answers in order: by now wallet and leases were read several times.
  for (let reads = 0; reads < 10; reads++) await w.kv.get(["nothing"]);
  resolve();
  assertEquals((await reading).totalMicroVnd, 1_000n);
  assert((await drawing).ok);
  w.wallet.release(open);
});

Deno.test("a request id is charged once, and the reservation of the second try can be released", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const draft = draftOf(10n);
  await w.wallet.settle(await mustReserve(w.wallet, account, 10n), draft);
  const again = await mustReserve(w.wallet, account, 10n);
  await assertRejects(() => w.wallet.settle(again, draft), InvariantError, "settled before");
  w.wallet.release(again);
  assertEquals((await w.wallet.balance(account)).reservedMicroVnd, 0n);
});

Deno.test("a refusal tells an empty wallet from one whose money is in use", async () => {
  using w = await world();
  const other = await w.open();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const poor = await reserve(w.wallet, account, 101n);
  assertEquals(poor, {
    ok: false,
    reason: "insufficient",
    neededMicroVnd: 101n,
    availableMicroVnd: 100n,
    reservedMicroVnd: 0n,
    owedMicroVnd: 0n,
  });
  await mustReserve(other, account, 80n);
  const busy = await reserve(w.wallet, account, 60n);
  assert(!busy.ok);
  assertEquals(busy.reason, "on_hold");
  assertEquals(busy.availableMicroVnd + busy.reservedMicroVnd, 100n);
});

Deno.test("a top-up is seen by the very next call, also on an instance that saw the wallet empty", async () => {
  using w = await world();
  const account = newAccount();
  assertEquals((await reserve(w.wallet, account, 5n)).ok, false);
  await topUp(w.kv, account, 5n);
  assertEquals((await reserve(w.wallet, account, 5n)).ok, true);
});

Deno.test("attached rows are written with the receipt", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const reservation = await mustReserve(w.wallet, account, 10n);
  await w.wallet.settle(reservation, draftOf(10n), {
    mutations: 1,
    apply: (op) => op.set(["task", 1], "queued"),
  });
  assertEquals((await w.kv.get(["task", 1])).value, "queued");
});

Deno.test("an attachment that is too large is refused before anything is written", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const reservation = await mustReserve(w.wallet, account, 10n);
  const attach = {
    mutations: 1,
    apply: (op: { set(key: Deno.KvKey, value: unknown): unknown }) => {
      op.set(["task", 1], "x".repeat(maxAttachedRowBytes + 1));
    },
  };
  await assertRejects(() => w.wallet.settle(reservation, draftOf(10n), attach), InvariantError);
  w.wallet.release(reservation);
  assertEquals((await w.wallet.balance(account)).totalMicroVnd, 100n);
});

Deno.test("a receipt with endless texts is cut, not refused", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const long = "ệ".repeat(100_000);
  const attempts = Array.from({ length: 500 }, () => ({ route: long, outcome: long, ms: 1 }));
  const draft = draftOf(1n, { mappedFrom: long, route: long, attempts });
  await w.wallet.settle(await mustReserve(w.wallet, account, 1n), draft);
  const receipt = await readReceipt(w.kv, draft.requestId);
  assertEquals(receipt?.mappedFrom?.length, maxReceiptTextChars);
  assertEquals(receipt?.attempts.length, maxReceiptAttempts);
});

Deno.test("the balance adds up while calls are in flight, and after", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const one = await mustReserve(w.wallet, account, 100n);
  const two = await mustReserve(w.wallet, account, 50n);
  await w.wallet.settle(one, draftOf(70n));
  const during = await w.wallet.balance(account);
  assertEquals([during.totalMicroVnd, during.reservedMicroVnd], [930n, 50n]);
  assertEquals(during.availableMicroVnd + during.leasedMicroVnd, 930n);
  w.wallet.release(two);
  await w.wallet.close();
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 930n);
});

Deno.test("settled calls are listed and summed before and after the index has them", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const range = { fromDay: "2026-11-20", toDay: "2026-11-20" };
  const look = async () => {
    const page = await listReceipts(w.kv, account, { limit: 10 });
    const [row] = await readUsage(w.kv, account, range);
    return [page.receipts.length, row?.usage.calls, row?.usage.costMicroVnd];
  };
  for (let call = 0; call < 3; call++) {
    await w.wallet.settle(await mustReserve(w.wallet, account, 10n), draftOf(10n));
  }
  assertEquals(await look(), [3, 3, 30n]);
  assertEquals(await w.wallet.indexOnce(), { indexed: 3, waiting: 0 });
  assertEquals(await look(), [3, 3, 30n]);
  await w.wallet.settle(await mustReserve(w.wallet, account, 10n), draftOf(10n));
  assertEquals(await look(), [4, 4, 40n]);
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("the timer indexes and returns idle leases", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  await w.wallet.settle(await mustReserve(w.wallet, account, 500n), draftOf(10n));
  for (let turn = 0; turn < 6; turn++) {
    w.time.advance(indexLingerMs);
    await settledDown(w.store);
  }
  assertEquals(await leaseRows(w.kv), 0);
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 990n);
  assertEquals((await Array.fromAsync(w.kv.list({ prefix: ["settled"] }))).length, 0);
  assertEquals((await reserve(w.wallet, account, 990n)).ok, true);
});

Deno.test("an idle instance stays alive by its heartbeat", async () => {
  using w = await world();
  for (let minute = 0; minute < 40; minute++) {
    w.time.advance(heartbeatMs);
    await settledDown(w.store);
  }
  assertEquals((await reapExpiredInstances(w.kv, w.time.nowMs())).reaped, 0);
});

Deno.test("close() settles, indexes, gives everything back and leaves no row of the instance", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const open = await mustReserve(w.wallet, account, 100n);
  const settling = w.wallet.settle(await mustReserve(w.wallet, account, 100n), draftOf(60n));
  await w.wallet.close();
  assertEquals((await settling).costMicroVnd, 60n);
  for (const prefix of ["lease", "settled", "instance", "indexer"]) {
    assertEquals(await Array.fromAsync(w.kv.list({ prefix: [prefix] })), [], prefix);
  }
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 940n);
  await assertRejects(() => w.wallet.settle(open, draftOf(1n)), StoppedError);
  const late = await reserve(w.wallet, account, 1n);
  assertEquals(late.ok ? "ok" : late.reason, "unavailable");
  assertEquals(w.time.pending, 0, "no timer is left");
});

Deno.test("an instance that was taken for dead settles its calls under a new instance lease", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const open = await mustReserve(w.wallet, account, 100n);
  const before = w.wallet.instanceId;
  await reapExpiredInstances(w.kv, w.time.nowMs(), { all: true });
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 100n);
  const receipt = await w.wallet.settle(open, draftOf(100n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [100n, 0n]);
  assert(w.wallet.instanceId !== before);
  await w.wallet.close();
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("money that was spent while an instance was dead is a shortfall, not a debt", async () => {
  using w = await world();
  const other = await w.open();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const open = await mustReserve(w.wallet, account, 100n);
  await reapExpiredInstances(w.kv, w.time.nowMs(), { all: true });
  await other.settle(await mustReserve(other, account, 80n), draftOf(80n));
  await other.close();
  const receipt = await w.wallet.settle(open, draftOf(100n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [20n, 80n]);
  await w.wallet.close();
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("while the store is silent calls are refused, and what is owed is settled when it speaks again", async () => {
  let fault: Fault = "none";
  using w = await world((kv) => faultyKv(kv, () => fault));
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const open = await mustReserve(w.wallet, account, 1_000n);
  fault = "before";
  let settled = false;
  const settling = w.wallet.settle(open, draftOf(70n)).then((receipt) => {
    settled = true;
    return receipt;
  });
  const asking = reserve(w.wallet, newAccount(), 5n);
  for (let turn = 0; turn < 60; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  const refused = await asking;
  assertEquals(refused.ok ? "ok" : refused.reason, "unavailable");
  assertEquals(settled, false);
  fault = "none";
  for (let turn = 0; turn < 20 && !settled; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  assertEquals((await settling).costMicroVnd, 70n);
  await w.wallet.close();
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("while the store takes no writes the wallet engine says so and admits no call, whatever its lease has", async () => {
  let full = false;
  using w = await world((kv) =>
    faultyKv(kv, (call) => full && call === "commit" ? "before" : "none")
  );
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const open = await mustReserve(w.wallet, account, 10n);
  assert(!("then" in w.wallet.reserve(account, 10n)), "there is room in the lease");
  full = true;
  const settling = w.wallet.settle(open, draftOf(7n));
  for (let turn = 0; turn < 10; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  assertEquals(w.wallet.healthy, false);
  const refused = await reserve(w.wallet, account, 10n);
  assertEquals(refused.ok ? "ok" : refused.reason, "unavailable");
  full = false;
  for (let turn = 0; turn < 10; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  assertEquals((await settling).costMicroVnd, 7n);
  assertEquals(w.wallet.healthy, true);
  assert((await reserve(w.wallet, account, 10n)).ok);
});

Deno.test("a call that is refused on a silent store asks whether it is back", async () => {
  let fault: Fault = "none";
  using w = await world((kv) => faultyKv(kv, () => fault));
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  fault = "before";
  const asking = reserve(w.wallet, account, 10n);
  for (let turn = 0; turn < 20; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  assert(!(await asking).ok);
  assertEquals(w.wallet.healthy, false);
  fault = "none";
  assert(!(await reserve(w.wallet, account, 10n)).ok);
  for (let turn = 0; turn < 5; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  assert((await reserve(w.wallet, account, 10n)).ok);
});

Deno.test("closing on a silent store gives up in time and leaves the money to the reaper", async () => {
  let fault: Fault = "none";
  using w = await world((kv) => faultyKv(kv, () => fault));
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const open = await mustReserve(w.wallet, account, 100n);
  fault = "before";
  const settling = assertRejects(() => w.wallet.settle(open, draftOf(70n)), StoppedError);
  await settledDown(w.store);
  let closed = false;
  const closing = w.wallet.close().then(() => closed = true);
  for (let turn = 0; turn < 60 && !closed; turn++) {
    w.time.advance(500);
    await settledDown(w.store);
  }
  await closing;
  await settling;
  assertEquals(w.time.pending, 0);
  w.time.advance(instanceTtlMs);
  assertEquals((await reapExpiredInstances(w.kv, w.time.nowMs())).reaped, 1);
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 100n);
});

Deno.test("an index whose answer is lost again and again counts each call once", async () => {
  let fault: (call: string) => Fault = () => "none";
  using w = await world((kv) => faultyKv(kv, (call) => fault(call)));
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  await w.wallet.settle(await mustReserve(w.wallet, account, 10n), draftOf(10n));
  await w.wallet.heartbeat();
  // The index commit takes effect, its answer is lost, and the store does not answer for the rest
  // of the step.
  let landed = false;
  fault = (call) => {
    if (!landed && call === "commit") {
      landed = true;
      return "after";
    }
    return landed ? "before" : "none";
  };
  const step = w.wallet.indexOnce();
  for (let turn = 0; turn < 40; turn++) {
    w.time.advance(50);
    await settledDown(w.store);
  }
  assertEquals(landed, true);
  fault = () => "none";
  await runWith(w, step);
  await runWith(w, w.wallet.indexOnce());
  const [row] = await readUsage(w.kv, account, { fromDay: "2026-11-20", toDay: "2026-11-20" });
  assertEquals(row?.usage.calls, 1);
  await w.wallet.close();
  assertEquals((await verifyStore(w.kv)).problems, []);
});

/** Lets time pass until a promise is settled. */
async function runWith<T>(
  { store, time }: { readonly store: StoreCounts; readonly time: ManualTime },
  promise: Promise<T>,
): Promise<T> {
  let done = false;
  promise.finally(() => done = true).catch(() => {});
  while (!done) {
    time.advance(50);
    await settledDown(store);
  }
  return await promise;
}

Deno.test("receipts of many wallets and many calls are all there, in ascending order", async () => {
  using w = await world();
  const accounts = Array.from({ length: 20 }, newAccount);
  for (const account of accounts) await topUp(w.kv, account, 10_000n);
  const call = async (wallet: WalletEngine, at: number) => {
    const account = accounts[at % accounts.length] ?? newAccount();
    return await wallet.settle(await mustReserve(wallet, account, 20n), draftOf(BigInt(at % 20)));
  };
  const receipts = await Promise.all(Array.from({ length: 700 }, (_, at) => call(w.wallet, at)));
  assertEquals(new Set(receipts.map(({ requestId }) => requestId)).size, 700);
  while ((await w.wallet.indexOnce()).waiting > 0);
  const report = await verifyStore(w.kv, { rowsAtOnce: 7 });
  assertEquals([report.ok, report.receipts, report.accounts], [true, 700, 20]);
  assertEquals(report.chargedMicroVnd, receipts.reduce((sum, r) => sum + r.costMicroVnd, 0n));
});

Deno.test("an instance that overslept asks the store before it admits a call again", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  wallet.release(await mustReserve(wallet, account, 100n));
  assert(!("then" in wallet.reserve(account, 1n)));
  time.advance(instanceTtlMs);
  await reapExpiredInstances(kv, time.nowMs());
  const before = wallet.instanceId;
  const late = wallet.reserve(account, 1n);
  assert("then" in late, "its leases may be gone");
  assertEquals((await late).ok, true);
  assert(wallet.instanceId !== before, "and were");
  await wallet.close();
});

Deno.test("no call is admitted while more is unsettled than may be kept", async () => {
  let fault: Fault = "none";
  using w = await world((kv) => faultyKv(kv, () => fault));
  const account = newAccount();
  await topUp(w.kv, account, 10n);
  await mustReserve(w.wallet, account, 10n);
  const open = Array.from({ length: maxUnsettledCalls }, () => w.wallet.reserve(account, 0n));
  fault = "before";
  const settling = open.map((result) => {
    if (!("ok" in result) || !result.ok) throw new Error("refused");
    return w.wallet.settle(result.reservation, draftOf(0n));
  });
  const refused = await reserve(w.wallet, account, 0n);
  assertEquals(refused.ok ? "ok" : refused.reason, "unavailable");
  fault = "none";
  await runWith(w, Promise.all(settling));
  assertEquals((await reserve(w.wallet, account, 0n)).ok, true);
});

Deno.test("an instance that lost its right to index notices it and starts over", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  await w.wallet.settle(await mustReserve(w.wallet, account, 10n), draftOf(10n));
  const before = w.wallet.instanceId;
  await reapExpiredInstances(w.kv, w.time.nowMs(), { all: true });
  await runWith(w, w.wallet.indexOnce().catch(() => {}));
  assert(w.wallet.instanceId !== before);
  const days = { fromDay: "2026-11-20", toDay: "2026-11-20" };
  assertEquals((await readUsage(w.kv, account, days)).map(({ usage }) => usage.calls), [1]);
});
