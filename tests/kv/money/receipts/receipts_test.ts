import * as fc from "../../../support/property.ts";
import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { encodeBatch } from "../../../../kv/engine/store/batches.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { batchKey } from "../../../../kv/engine/schema/keys.ts";
import {
  boundReceipt,
  decodeReceipt,
  encodeReceipt,
} from "../../../../kv/money/receipts/receipt_codec.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { addReceipts, noUsage } from "../../../../kv/money/receipts/day_sums.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { readUsage } from "../../../../kv/money/ledger/usage.ts";
import {
  newAccount,
  readUsageTotal,
  receiptOf,
  storeReceipts,
} from "../../../support/worlds/money_world.ts";
import { anyReceipt } from "../../../support/receipt_arbitrary.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

Deno.test("a receipt comes out of the store as it went in", () => {
  fc.assert(fc.property(anyReceipt, (receipt) => {
    const stored = JSON.parse(encodeReceipt(receipt));
    assertEquals(decodeReceipt(receipt.requestId, stored), receipt);
  }));
});

Deno.test("earlier releases read a receipt with an end as before, and their rows have none", () => {
  const attempts = [{ route: "p/m", outcome: "ok", ms: 1 }, { route: "q/m", outcome: "ok", ms: 1 }];
  for (const some of [{}, { catalogVersion: 3 }, { region: "vn" }]) {
    const receipt = plain(newId("request", 0), { attempts, outcome: "broken", ...some });
    const stored = JSON.parse(encodeReceipt({ ...receipt, endCode: "call_timeout" }));
    assertEquals(stored[20][0].slice(7), ["call_timeout"]);
    // They read seven elements of an attempt at most.
    stored[20][0].length = 7;
    assertEquals(decodeReceipt(receipt.requestId, stored), receipt);
    const older = JSON.parse(encodeReceipt(receipt));
    assertEquals(decodeReceipt(receipt.requestId, older).endCode, undefined);
  }
});

Deno.test("a bounded receipt always fits into a row, and a usual one is not touched", () => {
  fc.assert(fc.property(anyReceipt, (receipt) => {
    const long = { ...receipt, model: "mô hình".repeat(50_000), attempts: [] };
    assertEquals(encodeReceipt(boundReceipt(long)).length < 16_384, true);
    assertEquals(boundReceipt(receipt), { ...receipt, attempts: receipt.attempts.slice(0, 16) });
  }));
});

Deno.test("rows that are no receipts are bugs, not receipts", () => {
  const id = newId("request", 0);
  const negative = JSON.parse(encodeReceipt({ ...plain(id), costMicroVnd: -1n }));
  const own = { priceMicroVnd: 1_001n, fee: 250 };
  const attempts = [{ route: "p/m", outcome: "ok", ms: 1, ownKey: true }] as const;
  const notTheFee = JSON.parse(
    encodeReceipt(plain(id, { ownKey: own, costMicroVnd: 25n, shortfallMicroVnd: 0n, attempts })),
  );
  for (const value of [undefined, {}, [2], negative, notTheFee]) {
    assertThrows(() => decodeReceipt(id, value), InvariantError);
  }
});

const account = newAccount();

const plain = (requestId: RequestId, some: Partial<Receipt> = {}) =>
  receiptOf(account, { requestId, ...some });

/** Stores receipts as settlements do: some indexed, some still in a batch, some in both. */
async function store(
  kv: KeyValueStore,
  receipts: readonly Receipt[],
  indexed: number,
  batched: number,
) {
  await storeReceipts(kv, receipts);
  for (const chunk of chunkGroups(groupReceipts(receipts.slice(0, indexed)))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
  const parts = receipts.slice(-batched).map(({ accountId, requestId, costMicroVnd }) => ({
    accountId,
    chargedMicroVnd: costMicroVnd,
    requestIds: [requestId],
  }));
  if (batched > 0) await kv.set(batchKey(newId("instance", 0), 1), encodeBatch(parts));
}

Deno.test("listReceipts() pages through index and batches, each call once, newest first", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 12 }),
      fc.nat({ max: 12 }),
      fc.integer({ min: 1, max: 5 }),
      async (
        indexed,
        extra,
        limit,
      ) => {
        using kv = await Deno.openKv(":memory:");
        const total = indexed + extra;
        // All ids first: a receipt has others, of other moments.
        const ids = Array.from({ length: total }, () => newId("request", 0));
        const receipts = ids.map((id) => plain(id));
        await store(kv, receipts, indexed, Math.min(total, extra + 2));
        const seen: RequestId[] = [];
        let before: RequestId | undefined;
        do {
          const page = await listReceipts(kv, account, {
            limit,
            ...(before === undefined ? {} : { before }),
          });
          seen.push(...page.receipts.map(({ requestId }) => requestId));
          before = page.next;
        } while (before !== undefined);
        assertEquals(seen, receipts.map(({ requestId }) => requestId).reverse());
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("receipts of others are not listed", async () => {
  using kv = await Deno.openKv(":memory:");
  const foreign = plain(newId("request", 0), { accountId: newAccount() });
  await store(kv, [foreign, plain(newId("request", 0))], 1, 1);
  assertEquals((await listReceipts(kv, account, { limit: 10 })).receipts.length, 1);
});

const allDays = { fromDay: "0000-01-01", toDay: "9999-12-31" };

Deno.test("usage is the sum of the receipts, wherever they are", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyReceipt, { maxLength: 20 }),
      fc.nat({ max: 20 }),
      async (some, at) => {
        using kv = await Deno.openKv(":memory:");
        const receipts = [...new Map(some.map((one) => [one.requestId, one])).values()];
        const owner = receipts[0]?.accountId ?? account;
        const indexed = Math.min(at, receipts.length);
        await store(kv, receipts, indexed, receipts.length - indexed);
        assertEquals(await readUsageTotal(kv, owner, allDays), {
          ...addReceipts(noUsage, receipts),
          refundedMicroVnd: 0n,
        });
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("the days of a range are both included, in Vietnam time", async () => {
  using kv = await Deno.openKv(":memory:");
  const at = (iso: string) => plain(newId("request", 0), { startedAtMs: Date.parse(iso) });
  const receipts = [
    at("2026-11-19T16:59:59.999Z"), // the 19th
    at("2026-11-19T17:00:00Z"), // the 20th
    at("2026-11-21T16:59:59Z"), // the 21st
    at("2026-11-21T17:00:00Z"), // the 22nd
  ];
  await store(kv, receipts, 2, 2);
  const rows = await readUsage(kv, account, { fromDay: "2026-11-20", toDay: "2026-11-21" });
  assertEquals(rows.map(({ day, usage }) => [day, usage.calls]), [["2026-11-20", 1], [
    "2026-11-21",
    1,
  ]]);
  assertEquals(vietnamDay(Date.parse("2026-12-31T17:00:00Z")), "2027-01-01");
});

Deno.test("indexing the same receipts again, or by several at once, changes nothing", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = Array.from({ length: 500 }, (_, at) => {
    return plain(newId("request", 0), { model: `model-${at % 12}` });
  });
  await store(kv, receipts, 0, 0);
  const index = async () => {
    for (const chunk of chunkGroups(groupReceipts(receipts))) {
      assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
    }
  };
  await Promise.all([index(), index(), index()]);
  await index();
  const total = await readUsageTotal(kv, account, allDays);
  assertEquals([total.calls, total.costMicroVnd], [500, 3_500n]);
});

Deno.test("rebuildDaySums() corrects wrong, missing and surplus day sums", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = ["a", "b", "c"].map((model) => plain(newId("request", 0), { model }));
  await store(kv, receipts, 3, 0);
  const before = await readUsage(kv, account, allDays);
  const rows = await Array.fromAsync(kv.list({ prefix: ["usage", account] }));
  const [one, two] = rows;
  if (!one || !two) throw new Error("no day sums");
  await kv.set(one.key, { ...noUsage, calls: 99 });
  await kv.delete(two.key);
  await kv.set([...two.key.slice(0, 4), "ghost"], noUsage);
  assertEquals(
    await rebuildDaySums(kv, account, { nowMs: Date.UTC(2026, 10, 20), afterDay: undefined }),
    {
      corrected: 3,
      isMoving: false,
    },
  );
  assertEquals(await readUsage(kv, account, allDays), before);
  assertEquals(
    await rebuildDaySums(kv, account, { nowMs: Date.UTC(2026, 10, 20), afterDay: undefined }),
    {
      corrected: 0,
      isMoving: false,
    },
  );
});

Deno.test("earlier releases read a receipt with tags as before, and their rows have none", () => {
  fc.assert(fc.property(anyReceipt, (receipt) => {
    const { tags: _, ...plain } = receipt;
    const tags = [{ key: "team", value: "search" }] as const;
    const stored = JSON.parse(encodeReceipt({ ...plain, tags }));
    const price = stored[17];
    assertEquals(price.pop(), "team=search");
    // What an earlier release makes of the elements that it knows.
    assertEquals(decodeReceipt(receipt.requestId, stored), plain);
    assertEquals(
      decodeReceipt(receipt.requestId, JSON.parse(encodeReceipt(plain))).tags,
      undefined,
    );
  }));
});
