import { ascending } from "../../../../../core/lib/base/ascending.ts";
import { openDaySums } from "../../../../../kv/services/verify/scan/scan_sums.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import type { Receipt } from "../../../../../core/billing/usage/receipt.ts";
import { beforeIdsOf, newId, type RequestId } from "../../../../../core/lib/ids/ids.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import {
  allWrongHours,
  checkIndexedCalls,
  type ComparedSums,
  type DaySums,
  type ProvedSums,
  sameHours,
  sumId,
  wrongHours,
} from "../../../../../kv/services/verify/checks/verify_sums.ts";
import { allCopyProblems } from "../../../../../kv/services/verify/checks/verify_day_copies.ts";
import { sameUsage } from "../../../../../kv/money/receipts/day_sums.ts";
import { chunkGroups, groupReceipts } from "../../../../../kv/money/receipts/day_sum_group.ts";
import { writeIndex } from "../../../../../kv/money/receipts/index_write.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  receiptOf,
  topUp,
} from "../../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";

/** Makes an id of that time, independent of earlier ids. */
function idOf(atMs: number): RequestId {
  const random = newId("request", atMs).slice(-16);
  return `${beforeIdsOf("request", atMs)}${random}` as RequestId;
}

const startMs = Date.UTC(2026, 10, 20);

/** Calls of two days, a week apart, all of them indexed. */
async function weekOfCalls() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  for (
    const [startedAtMs, costs] of [[startMs, [40n, 30n]], [startMs + 7 * dayMs, [20n]]] as const
  ) {
    for (const cost of costs) {
      const requestId = idOf(startedAtMs);
      const reservation = await mustReserve(wallet, account, 50n);
      await wallet.settle(reservation, draftOf(cost, { requestId, startedAtMs }));
    }
    await wallet.indexOnce();
  }
  const stored = await openDaySums(kv, account, { start: undefined });
  const check = (known: ProvedSums) =>
    checkIndexedCalls(kv, account, { stored, known, slices: undefined });
  return { kv, account, stored, check, [Symbol.dispose]: () => kv.close() };
}

/** The two sums, the earlier day first. */
function sortedSums(sums: DaySums) {
  const [first, last] = [...sums].sort(([one], [other]) => ascending(one, other));
  if (first === undefined || last === undefined) throw new Error("two days were called on");
  return [first, last] as const;
}

function proved(
  versions: ReadonlyMap<string, string>,
  unwrittenFrom?: string,
): ProvedSums {
  return {
    isProved: (id, versionstamp) => versions.get(id) === versionstamp,
    unwrittenFrom: () => unwrittenFrom,
  };
}

const versionsOf = (sums: DaySums) =>
  new Map([...sums].map(([id, { versionstamp }]) => [id, versionstamp]));

/** Deletes the receipts of the first day, so that reading them is detected. */
async function forgetFirstDay(kv: KeyValueStore): Promise<void> {
  for await (const { key } of kv.list({ prefix: ["receipt"] }, { limit: 2 })) await kv.delete(key);
}

Deno.test("calls of proved days count by their sums, and are not read again", async () => {
  using week = await weekOfCalls();
  const [[first], [last]] = sortedSums(week.stored);
  const versions = versionsOf(week.stored);
  assertEquals((await week.check(proved(new Map()))).costMicroVnd, 90n);
  await forgetFirstDay(week.kv);
  const right = { costMicroVnd: 90n, missing: 0, wrongSums: [] };
  assertEquals(await week.check(proved(versions)), right);
  versions.delete(last);
  assertEquals(await week.check(proved(versions)), right, "the last day is read");
  versions.set(first, "changed since");
  assertEquals(await week.check(proved(versions)), {
    costMicroVnd: 20n,
    missing: 2,
    wrongSums: [first],
  });
});

Deno.test("a day whose sum was never written is read", async () => {
  using week = await weekOfCalls();
  const [[first, { cell }], last] = sortedSums(week.stored);
  const stored = new Map([last]);
  const known = proved(versionsOf(stored), cell.day);
  const seen = await checkIndexedCalls(week.kv, week.account, { stored, known, slices: undefined });
  assertEquals(seen, { costMicroVnd: 90n, missing: 0, wrongSums: [first] });
});

Deno.test("damage to the calls of an earlier day is found", async () => {
  using week = await weekOfCalls();
  await forgetFirstDay(week.kv);
  // Its sum differs from its receipts now, so the scan verifies the last day only.
  const report = await verifyStore(week.kv, { pause: () => Promise.resolve() });
  assertEquals(report.problems.map(({ kind }) => kind).sort(), [
    "balance",
    "index",
    "rollup",
  ]);
});

Deno.test("a call of today that the index has lost is found beside the calls of earlier days", async () => {
  using week = await weekOfCalls();
  const pages = week.kv.list({ prefix: ["receipts_of"] }, { reverse: true, limit: 1 });
  for await (const { key } of pages) await week.kv.delete(key);
  const report = await verifyStore(week.kv, { pause: () => Promise.resolve() });
  assertEquals(report.problems.some(({ kind }) => kind === "index"), true);
});

/** Sums as a scan that found them all right has compared them. */
function comparedWith(receipts: readonly Receipt[]): ComparedSums {
  const right = new Map(
    groupReceipts(receipts).map(({ cell, sum }) => [sumId(cell), { cell, sum }]),
  );
  const uncopied = new Map([...right].map(([id, { cell }]) => [id, cell]));
  return {
    areHours: (id, total) => {
      const known = right.get(id);
      return known !== undefined && sameHours(known.sum, total);
    },
    takeCopy(id, copy) {
      const known = right.get(id);
      return known !== undefined && sameUsage(known.sum, copy) && uncopied.delete(id);
    },
    async *withoutCopy() {
      yield* uncopied.values();
    },
    unsure: new Map(),
    isOurs: () => true,
  };
}

Deno.test("hours that do not add up are found, also where their sum is right", async () => {
  using kv: KeyValueStore = await Deno.openKv(":memory:");
  const account = newAccount();
  const receipts = ["model-1", "model-2"].map((model) =>
    receiptOf(account, { requestId: idOf(startMs), model })
  );
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
  const compared = comparedWith(receipts);
  const wrong = async () => {
    const found = await Array.fromAsync(allWrongHours(kv, compared, undefined));
    return found.map(({ detail }) => /model-\d/.exec(detail)?.[0]);
  };
  assertEquals(await wrong(), []);
  const [row] = await Array.fromAsync(kv.list<string>({ prefix: ["usage_hours"] }));
  assert(row !== undefined);
  const parts = row.value.split("|");
  await kv.set(row.key, parts.with(1, String(Number(parts[1]) + 1)).join("|"));
  assertEquals(await wrong(), [row.key.at(-1)]);
  await kv.set(row.key, "not hours");
  assertEquals(await wrong(), [row.key.at(-1)]);
});

Deno.test("sums are compared with their hours and copies in few statements, however many there are", async () => {
  using kv: KeyValueStore = await Deno.openKv(":memory:");
  const account = newAccount();
  const receipts = Array.from({ length: 600 }, (_, model) =>
    receiptOf(account, {
      requestId: idOf(startMs),
      model: `model-${model}`,
      providerCost: { kind: "known", card: "card", units: { input: 3 }, costMicroVnd: 5n },
    }));
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
  let statements = 0;
  // As an engine does that reads several ranges in one round.
  kv.firstRows = async (selectors, limit, reverse = false) => {
    statements++;
    return await Promise.all(
      selectors.map((selector) => Array.fromAsync(kv.list(selector, { limit, reverse }))),
    );
  };
  const getMany = kv.getMany.bind(kv);
  kv.getMany = (keys) => {
    statements++;
    return getMany(keys);
  };
  assertEquals(await Array.fromAsync(wrongHours(kv, {})), []);
  // The sums of 600 rows of hours: 500 at once.
  assertEquals(statements, 2);
  const compared = comparedWith(receipts);
  assertEquals(await Array.fromAsync(allWrongHours(kv, compared, undefined)), []);
  assertEquals(await allCopyProblems(kv, compared, undefined), []);
  assertEquals(statements, 2, "rows that agree with the receipts are not read twice");
});

Deno.test("a copy that is missing and one too much are found, also on one day", async () => {
  using kv: KeyValueStore = await Deno.openKv(":memory:");
  const account = newAccount();
  const receipts = ["model-1", "model-2"].map((model) =>
    receiptOf(account, {
      requestId: idOf(startMs),
      model,
      providerCost: { kind: "known", card: "card", units: { input: 3 }, costMicroVnd: 5n },
    })
  );
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
  assertEquals(await allCopyProblems(kv, comparedWith(receipts), undefined), []);
  const [first] = await Array.fromAsync(kv.list<unknown>({ prefix: ["usage_by_day"] }));
  assert(first !== undefined);
  const wrong = async () => {
    const problems = await allCopyProblems(kv, comparedWith(receipts), undefined);
    return problems.map(({ detail }) => detail.split(" ").at(-3)).sort();
  };
  await kv.set([...first.key.slice(0, -1), "ghost"], first.value);
  assertEquals(await wrong(), ["ghost"]);
  await kv.delete(first.key);
  assertEquals(await wrong(), ["ghost", "model-1"]);
});
