/** Debts of accounts: bounded, exact, and paid by the next income. */
import { setImmediate } from "node:timers";
import { assert, assertEquals } from "../../../../support/assert.ts";
import * as fc from "../../../../support/property.ts";
import type { AccountId } from "../../../../../core/lib/ids/ids.ts";
import { credit, debit } from "../../../../../kv/money/ledger/ledger.ts";
import { reapExpiredInstances } from "../../../../../kv/money/wallet/reaper.ts";
import {
  openWalletEngine,
  type Reservation,
  type WalletEngine,
} from "../../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { walletKey } from "../../../../../kv/engine/schema/keys.ts";
import { readWallet } from "../../../../../kv/money/balances/wallets.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  reserve,
} from "../../../../support/worlds/money_world.ts";

const debt = { toppedUpMicroVnd: 50n, othersMicroVnd: 0n };

async function world() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const options = { clock: time, timer: time, random: () => 0, reservationWaitMs: 0, debt };
  let operations = 0;
  return {
    kv,
    time,
    open: () => openWalletEngine(kv, options),
    wallet: await openWalletEngine(kv, options),
    async move(accountId: AccountId, amountMicroVnd: bigint, kind: "topup" | "admin" = "topup") {
      const operationId = `test:${operations++}`;
      const movement = { accountId, kind, operationId, reason: "test", atMs: time.nowMs() };
      return amountMicroVnd > 0n
        ? await credit(kv, { ...movement, amountMicroVnd })
        : await debit(kv, { ...movement, amountMicroVnd: -amountMicroVnd });
    },
    /**
     * Advances time by one step per answer of the store: pauses of store writers end, and no call
     * times out, however slow the machine is.
     */
    async whileTimePasses<Value>(work: readonly Promise<Value>[]): Promise<Value[]> {
      let isDone = false;
      const all = Promise.all(work).finally(() => isDone = true);
      while (!isDone) {
        await new Promise((resolve) => setImmediate(resolve));
        await kv.get(["turn"]);
        time.advance(1);
      }
      return await all;
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("an account that has topped up owes at most what it may, and the next credit pays it", async () => {
  using w = await world();
  const account = newAccount();
  await w.move(account, 100n);
  const call = await mustReserve(w.wallet, account, 150n);
  assertEquals((await reserve(w.wallet, account, 1n)).ok, false);
  assertEquals((await w.wallet.balance(account)).totalMicroVnd, 100n);
  assertEquals((await w.wallet.settle(call, draftOf(140n))).costMicroVnd, 140n);
  await w.wallet.close();
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, -40n);
  const report = await verifyStore(w.kv);
  assertEquals([report.problems, report.owedMicroVnd], [[], 40n]);
  const other = await w.open();
  const refused = await reserve(other, account, 11n);
  assert(!refused.ok);
  assertEquals([refused.reason, refused.availableMicroVnd, refused.owedMicroVnd], [
    "insufficient",
    0n,
    40n,
  ]);
  assertEquals((await w.move(account, -1n, "admin")).status, "insufficient");
  // Less than is owed, then more.
  assertEquals((await w.move(account, 15n, "admin")).status, "applied");
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, -25n);
  assertEquals((await w.move(account, 100n)).status, "applied");
  const wallet = await readWallet(w.kv, account);
  assertEquals([wallet.availableMicroVnd, wallet.mayOweMicroVnd], [75n, undefined]);
  await other.close();
  assertEquals((await verifyStore(w.kv)).problems, []);
});

Deno.test("an account that never topped up owes nothing, whatever was given to it", async () => {
  using w = await world();
  const account = newAccount();
  await w.move(account, 100n, "admin");
  assertEquals((await reserve(w.wallet, account, 101n)).ok, false);
  const call = await mustReserve(w.wallet, account, 100n);
  const receipt = await w.wallet.settle(call, draftOf(130n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [100n, 30n]);
  await w.wallet.close();
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 0n);
});

Deno.test("what a dead instance had lent goes back; a debt stays under the limit it was made under", async () => {
  using w = await world();
  const account = newAccount();
  await w.move(account, 10n);
  await mustReserve(w.wallet, account, 60n);
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, -50n);
  await reapExpiredInstances(w.kv, w.time.nowMs(), { all: true });
  assertEquals((await readWallet(w.kv, account)).availableMicroVnd, 10n);
  const strict = await openWalletEngine(w.kv, { clock: w.time, timer: w.time });
  const refused = await reserve(strict, account, 11n);
  assertEquals(refused.ok ? "ok" : refused.reason, "insufficient");
  await strict.close();
});

Deno.test("verify finds a wallet that owes more than it may", async () => {
  using w = await world();
  const account = newAccount();
  await w.move(account, 10n);
  for (const row of [{ availableMicroVnd: -5n }, { availableMicroVnd: -5n, mayOweMicroVnd: 4n }]) {
    await w.kv.set(walletKey(account), row);
    const report = await verifyStore(w.kv);
    assert(report.problems.some(({ kind }) => kind === "row"), JSON.stringify(report.problems));
  }
  await w.wallet.close();
});

/**
 * A call of the rush: what it reserves, whether its output can be stopped, and what it would
 * produce in pieces.
 */
const call = fc.record({
  expected: fc.integer({ min: 1, max: 120 }),
  worst: fc.integer({ min: 100, max: 400 }),
  stream: fc.boolean(),
  pieces: fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 }),
  instance: fc.nat({ max: 1 }),
});

type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never;

// Random calls lead to a debt, or to an extension, in most runs only; these always do.
const owing: Call = { expected: 1, worst: 100, stream: false, pieces: [80], instance: 0 };
const growing: Call = { expected: 10, worst: 100, stream: true, pieces: [10, 50], instance: 0 };
const rushOf = (one: Call): Call[] => Array.from({ length: 200 }, () => one);

/** Emits only pieces that are reserved; returns what was emitted. */
async function serve(
  wallet: WalletEngine,
  reservation: Reservation,
  { stream, pieces, worst }: Call,
) {
  let given = 0n;
  for (const piece of pieces) {
    const next = given + BigInt(piece);
    if (next > BigInt(worst)) break;
    if (next > reservation.amountMicroVnd) {
      assert(stream, "the worst case of others is reserved whole");
      const asked = next - reservation.amountMicroVnd;
      const extension = await wallet.extend(reservation, asked, 0);
      if (extension.outcome !== "granted" || extension.amountMicroVnd < asked) break;
    }
    given = next;
    // Other calls run between the pieces.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const receipt = await wallet.settle(reservation, draftOf(given));
  assertEquals(receipt.shortfallMicroVnd, 0n);
  return given;
}

Deno.test("200 calls at once never get more out of a wallet than it has and may owe", async () => {
  let [extended, indebted] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(call, { minLength: 200, maxLength: 200 }),
      fc.integer({ min: 1, max: 1_200 }),
      fc.boolean(),
      async (calls, worth, hasToppedUp) => {
        using w = await world();
        const account = newAccount();
        await w.move(account, BigInt(worth), hasToppedUp ? "topup" : "admin");
        const engines = [w.wallet, await w.open()] as const;
        const given = await w.whileTimePasses(calls.map(async (each) => {
          const wallet = engines[each.instance === 0 ? 0 : 1];
          const hold = each.stream ? Math.min(each.expected, each.worst) : each.worst;
          const result = await reserve(wallet, account, BigInt(hold));
          if (!result.ok) return 0n;
          const got = await serve(wallet, result.reservation, each);
          if (got > BigInt(hold)) extended++;
          return got;
        }));
        await w.whileTimePasses(engines.map((wallet) => wallet.close()));
        const sum = given.reduce((total, each) => total + each, 0n);
        const mayOwe = hasToppedUp ? debt.toppedUpMicroVnd : 0n;
        assert(sum <= BigInt(worth) + mayOwe, `${sum} of ${worth}`);
        if (sum > BigInt(worth)) indebted++;
        assertEquals((await readWallet(w.kv, account)).availableMicroVnd, BigInt(worth) - sum);
        assertEquals((await verifyStore(w.kv)).problems, []);
      },
    ),
    { numRuns: 25, examples: [[rushOf(owing), 60, true], [rushOf(growing), 20_000, true]] },
  );
  assert(extended > 0 && indebted > 0, "reservations grew, and debts were made");
});
