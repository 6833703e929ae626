import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { encodeReceipt } from "../../../../kv/money/receipts/receipt_codec.ts";
import {
  decodeReceiptPage,
  maxReceiptPageChars,
  readReceiptPages,
} from "../../../../kv/money/receipts/receipt_pages.ts";
import { readReceipt, readReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const account = newAccount();

/** A receipt of a call that began at `atMs`; ids of one process ascend, so its own clock makes them. */
function receiptAt(atMs: number, some: Partial<Receipt> = {}): Receipt {
  const time = atMs.toString(36).padStart(9, "0");
  const tail = newId("request", 0).slice("req_".length + time.length);
  return receiptOf(account, { requestId: `req_${time}${tail}` as RequestId, ...some });
}

const pagesOf = async (kv: KeyValueStore) =>
  await Array.fromAsync(kv.list<unknown>({ prefix: ["receipt"] }));

Deno.test("every receipt is found by its id, however calls and commits were mixed", async () => {
  const moment = fc.oneof(fc.nat({ max: 80 }), fc.nat({ max: 10_000 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(moment, { maxLength: 12 }), { maxLength: 6 }),
      async (commits) => {
        using kv = await Deno.openKv(":memory:");
        const all: Receipt[] = [];
        for (const moments of commits) {
          const receipts = moments.map((atMs) => receiptAt(atMs));
          await storeReceipts(kv, receipts);
          all.push(...receipts);
        }
        for (const receipt of all) {
          assertEquals(await readReceipt(kv, receipt.requestId), receipt);
        }
        const ids = all.map(({ requestId }) => requestId);
        const absent = receiptAt(40).requestId;
        assertEquals(await readReceipts(kv, [...ids, absent]), all);
        assertEquals((await readReceiptPages(kv, [absent])).size, 0);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("calls of the same moment share a row, others do not", async () => {
  using kv = await Deno.openKv(":memory:");
  // 36 ms is one digit of the time in base 36.
  await storeReceipts(kv, [receiptAt(72), receiptAt(107), receiptAt(108), receiptAt(72)]);
  const rows = await pagesOf(kv);
  assertEquals(rows.map((row) => decodeReceiptPage(row).length), [3, 1]);
});

Deno.test("a page stays inside the store's bound, also in letters of two bytes", async () => {
  using kv = await Deno.openKv(":memory:");
  const model = "mô hình ".repeat(32);
  const receipts = Array.from({ length: 250 }, () => receiptAt(0, { model }));
  await storeReceipts(kv, receipts);
  const rows = await pagesOf(kv);
  assert(rows.length > 1);
  for (const { value } of rows) {
    assert(typeof value === "string" && value.length <= maxReceiptPageChars + 2);
  }
  assertEquals((await readReceipts(kv, receipts.map(({ requestId }) => requestId))).length, 250);
});

Deno.test("a row of the first form, one bare receipt, is still read", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipt = receiptAt(5);
  await kv.set(["receipt", receipt.requestId], encodeReceipt(receipt));
  await storeReceipts(kv, [receiptAt(5), receiptAt(5)]);
  assertEquals(await readReceipt(kv, receipt.requestId), receipt);
});

Deno.test("a receipt on the wrong page would not be found, so it is no receipt", () => {
  const receipt = receiptAt(5);
  const value = `[["${receipt.requestId}",${encodeReceipt(receipt)}]]`;
  const row = (newest: string) => ({ key: ["receipt", newest], value, versionstamp: "0" });
  assertEquals(decodeReceiptPage(row(receipt.requestId)), [receipt]);
  for (const newest of [receiptAt(500).requestId, `${receipt.requestId.slice(0, -1)}.`, "req_0"]) {
    assertThrows(() => decodeReceiptPage(row(newest)), InvariantError);
  }
});

Deno.test("verification tells of a call with two receipts", async () => {
  using kv = await Deno.openKv(":memory:");
  const [one, two] = [receiptAt(1), receiptAt(3)];
  await storeReceipts(kv, [one]);
  await storeReceipts(kv, [one, two]);
  const { problems } = await verifyStore(kv);
  assertEquals(
    problems.filter(({ kind }) => kind === "twice"),
    [{ accountId: account, kind: "twice", detail: `${one.requestId} has two receipts` }],
  );
});

Deno.test("earlier releases read rates with a fraction of a VND as whole numbers, rounded up", () => {
  const rates = {
    inputPerMtokMicroVnd: 750_000n,
    outputPerMtokMicroVnd: 2_000_000n,
    cacheReadPerMtokMicroVnd: 1n,
    cacheWritePerMtokMicroVnd: 1_000_001n,
  };
  const price = (receipt: Receipt) => JSON.parse(encodeReceipt(receipt))[17];
  const fraction = receiptAt(0, { price: { unit: "token", ...rates } });
  assertEquals(price(fraction).slice(0, 6), ["token", "1", "2", "1", "2", "2"]);
  const whole = { ...rates, cacheReadPerMtokMicroVnd: 0n };
  const stored = price(receiptAt(0, {
    price: {
      unit: "token",
      ...whole,
      inputPerMtokMicroVnd: 3_000_000n,
      cacheWritePerMtokMicroVnd: 0n,
    },
  }));
  assertEquals(stored, ["token", "3", "2", "0", "0"]);
});

Deno.test("a receipt whose fees for tools exceed its price is found by verification", async () => {
  using kv = await Deno.openKv(":memory:");
  const tool = { tool: "web_search", uses: 3, perUseMicroVnd: 10n } as const;
  const paid = receiptAt(0, {
    usage: { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 },
    toolCharges: [tool],
    costMicroVnd: 20n,
    shortfallMicroVnd: 10n,
  });
  await storeReceipts(kv, [paid]);
  assertEquals(await readReceipt(kv, paid.requestId), paid);
  await storeReceipts(kv, [receiptAt(5_000, { ...paid, shortfallMicroVnd: 9n })]);
  const { problems } = await verifyStore(kv);
  assert(problems.some(({ kind, detail }) => kind === "row" && /fees beyond/.test(detail)));
});
