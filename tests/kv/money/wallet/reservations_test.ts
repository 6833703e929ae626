/** Reservations that grow while a call runs, and calls that wait for the reservations of others. */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  openWalletEngine,
  type Reservation,
  type ReserveResult,
} from "../../../../kv/money/wallet/mod.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { countedKv, settledDown } from "../../../support/stores/counted_kv.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  reserve,
  topUp,
} from "../../../support/worlds/money_world.ts";

async function world() {
  const kv = await Deno.openKv(":memory:");
  const store = countedKv(kv);
  const time = new ManualTime();
  const open = () => openWalletEngine(kv, { clock: time, timer: time, random: () => 0 });
  return { kv, store, time, open, wallet: await open(), [Symbol.dispose]: () => kv.close() };
}

type World = Awaited<ReturnType<typeof world>>;

/** Advances time in steps, so that every timer and the store have their turns. */
async function pass({ store, time }: World, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    time.advance(500);
    await settledDown(store);
  }
}

async function checkAtRest({ kv, wallet }: World): Promise<void> {
  await wallet.close();
  const report = await verifyStore(kv);
  assertEquals([report.problems, report.leasedMicroVnd], [[], 0n]);
}

const states = (results: readonly ReserveResult[]) =>
  results.map((result) => result.ok ? "ok" : result.reason);

Deno.test("calls that wait for others' reservations get what those do not use, in the order they came", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 3_000n);
  const running = [
    await mustReserve(w.wallet, account, 1_063n),
    await mustReserve(w.wallet, account, 1_063n),
  ];
  const done: number[] = [];
  const waiting = Array.from({ length: 8 }, async (_, at) => {
    const reservation = await mustReserve(w.wallet, account, 1_063n);
    done.push(at);
    return reservation;
  });
  await settledDown(w.store);
  assertEquals(done, []);
  for (const reservation of running) await w.wallet.settle(reservation, draftOf(1n));
  for (const each of waiting) await w.wallet.settle(await each, draftOf(1n));
  assertEquals(done, [0, 1, 2, 3, 4, 5, 6, 7]);
  assertEquals((await w.wallet.balance(account)).totalMicroVnd, 2_990n);
  await checkAtRest(w);
});

Deno.test("a call waits for others' reservations no longer than its bound, then is refused because of them", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const first = await mustReserve(w.wallet, account, 80n);
  let result: ReserveResult | undefined;
  const waiting = reserve(w.wallet, account, 60n).then((end) => result = end);
  await pass(w, 14_500);
  assertEquals(result, undefined);
  await pass(w, 1_000);
  await waiting;
  assert(result?.ok === false);
  assertEquals([result.reason, result.availableMicroVnd, result.reservedMicroVnd], [
    "on_hold",
    20n,
    80n,
  ]);
  w.wallet.release(first);
  await checkAtRest(w);
});

Deno.test("an empty wallet refuses at once; a top-up, or what another instance gives back, ends the wait", async () => {
  using w = await world();
  const account = newAccount();
  assertEquals(states([await reserve(w.wallet, account, 5n)]), ["insufficient"]);
  const other = await w.open();
  await topUp(w.kv, account, 100n);
  const elsewhere = await mustReserve(other, account, 100n);
  const first = reserve(w.wallet, account, 40n);
  await settledDown(w.store);
  await topUp(w.kv, account, 40n);
  await pass(w, 2_000);
  assertEquals(states([await first]), ["ok"]);
  const second = reserve(w.wallet, account, 50n);
  await settledDown(w.store);
  other.release(elsewhere);
  await other.close();
  await pass(w, 2_000);
  assertEquals(states([await second]), ["ok"]);
});

Deno.test("no more calls of an account wait than may", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 10n);
  const first = await mustReserve(w.wallet, account, 10n);
  const calls = Array.from({ length: 1_005 }, () => reserve(w.wallet, account, 10n));
  let refused = 0;
  for (const call of calls) call.then((result) => refused += result.ok ? 0 : 1);
  await settledDown(w.store);
  assertEquals(refused, 5);
  w.wallet.release(first);
  await settledDown(w.store);
  await w.wallet.close();
  assertEquals(states(await Promise.all(calls)).filter((state) => state === "ok").length, 1);
});

Deno.test("a reservation grows at once while the lease has room, then takes the rest of the wallet, then nothing", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  const call = await mustReserve(w.wallet, account, 10n);
  assertEquals(w.wallet.extend(call, 20n, 0), { outcome: "granted", amountMicroVnd: 20n });
  assertEquals(await w.wallet.extend(call, 900n, 0), { outcome: "granted", amountMicroVnd: 900n });
  assertEquals(await w.wallet.extend(call, 900n, 0), { outcome: "granted", amountMicroVnd: 70n });
  assertEquals(await w.wallet.extend(call, 900n, 0), { outcome: "exhausted" });
  assertEquals(call.amountMicroVnd, 1_000n);
  const receipt = await w.wallet.settle(call, draftOf(400n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [400n, 0n]);
  assertEquals((await w.wallet.balance(account)).totalMicroVnd, 600n);
  await checkAtRest(w);
});

Deno.test("a call that runs waits for what others hold before it learns that there is nothing more", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const [one, two] = [
    await mustReserve(w.wallet, account, 60n),
    await mustReserve(w.wallet, account, 40n),
  ];
  const extension = Promise.resolve(w.wallet.extend(one, 30n, 5_000));
  await settledDown(w.store);
  await w.wallet.settle(two, draftOf(5n));
  assertEquals(await extension, { outcome: "granted", amountMicroVnd: 30n });
  const late = Promise.resolve(w.wallet.extend(one, 30n, 5_000));
  // The last five are still free; then no other call has a reservation.
  assertEquals(await late, { outcome: "granted", amountMicroVnd: 5n });
  assertEquals(await w.wallet.extend(one, 30n, 5_000), { outcome: "exhausted" });
  w.wallet.release(one);
  await checkAtRest(w);
});

Deno.test("a call that ends while its reservation grows keeps nothing", async () => {
  for (const end of ["settle", "release"] as const) {
    using w = await world();
    const account = newAccount();
    await topUp(w.kv, account, 100n);
    const other = await mustReserve(w.wallet, account, 50n);
    const call = await mustReserve(w.wallet, account, 50n);
    const extension = Promise.resolve(w.wallet.extend(call, 30n, 5_000));
    await settledDown(w.store);
    if (end === "settle") await w.wallet.settle(call, draftOf(50n));
    else w.wallet.release(call);
    w.wallet.release(other);
    await pass(w, 2_000);
    assertEquals(await extension, { outcome: "exhausted" });
    assertEquals((await w.wallet.balance(account)).reservedMicroVnd, 0n);
    await checkAtRest(w);
  }
});

Deno.test("a reservation whose lease was lost grows on the next one, whole", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 100n);
  const call: Reservation = await mustReserve(w.wallet, account, 60n);
  await reapExpiredInstances(w.kv, w.time.nowMs(), { all: true });
  await w.wallet.heartbeat();
  await settledDown(w.store);
  assertEquals(await w.wallet.extend(call, 20n, 0), { outcome: "granted", amountMicroVnd: 20n });
  assertEquals(call.amountMicroVnd, 80n);
  const balance = await w.wallet.balance(account);
  assertEquals([balance.totalMicroVnd, balance.reservedMicroVnd], [100n, 80n]);
  assertEquals((await w.wallet.settle(call, draftOf(75n))).costMicroVnd, 75n);
  await checkAtRest(w);
});

Deno.test("a wallet engine that closes ends all waits", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 10n);
  const first = await mustReserve(w.wallet, account, 10n);
  const waiting = reserve(w.wallet, account, 10n);
  await settledDown(w.store);
  w.wallet.release(first);
  assertEquals(states([await waiting]), ["ok"]);
  const last = reserve(w.wallet, account, 10n);
  await settledDown(w.store);
  const closing = w.wallet.close();
  assertEquals(states([await last]), ["unavailable"]);
  await closing;
});
