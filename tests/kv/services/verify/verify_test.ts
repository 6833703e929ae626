import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { TimeSlices, workSliceMs } from "../../../../core/lib/time/time_slices.ts";
import { exportRecords } from "../../../../kv/services/verify/export.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** A store with a live instance: money in the wallet, in a lease, receipts in the index and in a batch. */
async function usedStore() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  await topUp(kv, newAccount(), 1_000n);
  await wallet.settle(await mustReserve(wallet, account, 50n), draftOf(40n));
  await wallet.indexOnce();
  await wallet.settle(await mustReserve(wallet, account, 50n), draftOf(30n));
  return { kv, account, wallet, [Symbol.dispose]: () => kv.close() };
}

async function firstKey(kv: KeyValueStore, prefix: string): Promise<Deno.KvKey> {
  for await (const { key } of kv.list({ prefix: [prefix] })) return key;
  throw new Error(`no row under ${prefix}`);
}

Deno.test("a live store is right while leases and batches are open", async () => {
  using store = await usedStore();
  const report = await verifyStore(store.kv);
  assertEquals(report.problems, []);
  assertEquals(report.ok, true);
  assertEquals([report.accounts, report.receipts], [2, 2]);
  assertEquals([report.ledgerMicroVnd, report.chargedMicroVnd], [2_000n, 70n]);
  assertEquals(report.availableMicroVnd + report.leasedMicroVnd, 1_930n);
});

Deno.test("beside calls, verifying and exporting give the thread away between slices of work", async () => {
  using store = await usedStore();
  for (const read of [verifyStore, exportAll]) {
    let nowMs = 0;
    let calls = 0;
    const slices = new TimeSlices({
      // Each reading of the clock counts as a whole slice of work.
      clock: { monotonicMs: () => nowMs += workSliceMs },
      pause: (durationMs) => {
        calls += durationMs >= workSliceMs ? 1 : 0;
        return Promise.resolve();
      },
    });
    await read(store.kv, { slices });
    assert(calls > 5, `${calls} rests`);
  }
});

async function exportAll(
  kv: KeyValueStore,
  { slices }: { readonly slices: TimeSlices },
): Promise<void> {
  await Array.fromAsync(exportRecords(kv, slices));
}

const damages: readonly (readonly [
  name: string,
  kind: string,
  damage: (kv: KeyValueStore, account: AccountId) => Promise<unknown>,
])[] = [
  [
    "a wallet that has a µVND too much",
    "balance",
    (kv, account) => kv.set(["wallet", account], { availableMicroVnd: 901n }),
  ],
  [
    "a negative wallet",
    "row",
    (kv, account) => kv.set(["wallet", account], { availableMicroVnd: -1n }),
  ],
  ["a lease that vanished", "balance", async (kv) => kv.delete(await firstKey(kv, "lease"))],
  [
    "a lease that has less than was charged",
    "balance",
    async (kv) => kv.set(await firstKey(kv, "lease"), { remainingMicroVnd: 1n, asOfCommit: 0 }),
  ],
  ["a receipt that vanished", "balance", async (kv) => kv.delete(await firstKey(kv, "receipt"))],
  ["a batch that vanished", "index", async (kv) => kv.delete(await firstKey(kv, "settled"))],
  ["a ledger line that vanished", "ledger", (kv, account) => deleteLedger(kv, account)],
  [
    "a ledger line that vanished with its money",
    "ledger",
    async (kv, account) => {
      const { ledgerId } = await firstLine(kv, account);
      await topUp(kv, account, 1_000n);
      await kv.delete(["ledger", account, ledgerId]);
      await addToWallet(kv, account, -1_000n);
    },
  ],
  [
    "an operation that was carried out twice",
    "ledger",
    async (kv, account) => {
      const line = await firstLine(kv, account);
      const ledgerId = newId("ledger", line.atMs);
      await kv.set(["ledger", account, ledgerId], { ...line, ledgerId });
      await addToWallet(kv, account, 1_000n);
    },
  ],
  [
    "a line that has become larger",
    "ledger",
    async (kv, account) => {
      const line = await firstLine(kv, account);
      await kv.set(["ledger", account, line.ledgerId], { ...line, amountMicroVnd: 2_000n });
      await addToWallet(kv, account, 1_000n);
    },
  ],
  [
    "a line whose operation could be carried out again",
    "ledger",
    async (kv, account) =>
      kv.delete(["ledger_operation", (await firstLine(kv, account)).operationId]),
  ],
  [
    "an open video whose task is gone",
    "video",
    (kv, account) => kv.set(["video_open", "video_1"], { accountId: account, deadlineAtMs: 1 }),
  ],
  [
    "an index page that vanished",
    "index",
    async (kv) => kv.delete(await firstKey(kv, "receipts_of")),
  ],
  [
    "an index entry without a receipt",
    "index",
    (kv, account) => kv.set(["receipts_of", account, "req_0mwo7pxghost"], "ghost"),
  ],
  ["a day sum that vanished", "rollup", async (kv) => kv.delete(await firstKey(kv, "usage"))],
  ["a garbled receipt", "row", async (kv) => kv.set(await firstKey(kv, "receipt"), "[9]")],
];

for (const [name, kind, damage] of damages) {
  Deno.test(`verification finds ${name}`, async () => {
    using store = await usedStore();
    await damage(store.kv, store.account);
    for (const rowsAtOnce of [1, 1_000]) {
      const report = await verifyStore(store.kv, { rowsAtOnce });
      assertEquals(report.ok, false);
      const kinds = report.problems.map((problem): string => problem.kind);
      assertEquals(kinds.includes(kind), true, kinds.join());
    }
  });
}

async function firstLine(kv: KeyValueStore, account: AccountId): Promise<LedgerEntry> {
  for await (const { value } of kv.list<LedgerEntry>({ prefix: ["ledger", account] })) return value;
  throw new Error("no line");
}

async function addToWallet(kv: KeyValueStore, account: AccountId, amountMicroVnd: bigint) {
  const { availableMicroVnd } = await readWallet(kv, account);
  await kv.set(["wallet", account], { availableMicroVnd: availableMicroVnd + amountMicroVnd });
}

async function deleteLedger(kv: KeyValueStore, account: AccountId): Promise<void> {
  for await (const { key } of kv.list({ prefix: ["ledger", account] })) await kv.delete(key);
}

Deno.test("verification beside and between the calls of a busy wallet engine finds no problem", async () => {
  using store = await usedStore();
  const { kv, wallet, account } = store;
  await topUp(kv, account, 1_000_000n);
  let calls = 0;
  const call = async () => {
    calls++;
    await wallet.settle(await mustReserve(wallet, account, 3n), draftOf(1n));
    if (calls % 5 === 0) await wallet.indexOnce();
  };
  // Bounded, since a slow machine would otherwise create receipts faster than it verifies them.
  const work = async () => {
    for (let at = 0; at < 300; at++) await call();
  };
  let nowMs = 0;
  let left = 0;
  const callBetween = async () => {
    if (left-- > 0) await call();
  };
  // Each reading of the clock counts as a whole slice of work, so calls end between the first pages that are read.
  const slices = new TimeSlices({
    clock: { monotonicMs: () => nowMs += workSliceMs },
    pause: callBetween,
  });
  const options = { slices, pause: callBetween };
  for (let round = 0; round < 10; round++) {
    const working = work();
    assertEquals((await verifyStore(kv, options)).problems, []);
    await working;
    left = 40;
    assertEquals((await verifyStore(kv, options)).problems, []);
    assert(left < 40, "calls ended meanwhile");
  }
  assertEquals((await verifyStore(kv)).ok, true);
});

Deno.test("the export has every record of money and no secret", async () => {
  using store = await usedStore();
  const { kv } = store;
  await kv.set(["session", "s3cret"], { hash: "s3cret" });
  await kv.set(["account_password", "acc_1"], "s3cret");
  await kv.set(["api_key_by_hash", "s3cret"], {});
  await kv.set(["api_key", "acc_1", "key_1"], { name: "mine", hash: "s3cret", sealed: "s3cret" });
  const text = (await Array.fromAsync(exportRecords(kv))).join("");
  assertEquals(text.includes("s3cret"), false);
  const records = text.trimEnd().split("\n").map((line) => JSON.parse(line));
  const counts = Map.groupBy(records, ({ key }) => key[0]);
  assertEquals(
    Object.fromEntries([...counts].map(([prefix, some]) => [prefix, some.length])),
    { api_key: 1, instance: 1, ledger: 2, lease: 1, receipt: 2, settled: 1, usage: 1, wallet: 2 },
  );
  assertStringIncludes(text, '"costMicroVnd":"40"');
});
