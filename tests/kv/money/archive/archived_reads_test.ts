import { assert, assertEquals } from "../../../support/assert.ts";
import { beforeIdsOf, newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { pageInColumns, pagesOf } from "../../../../kv/money/archive/receipt_rows.ts";
import type { ArchivedCall } from "../../../../kv/money/archive/receipt_rows.ts";
import { archivedCalls, maxCallsScanned } from "../../../../kv/money/archive/archived_calls.ts";
import type {
  FilteredReading,
  ReceiptArchive,
} from "../../../../kv/money/archive/receipt_archive.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import { receiptPageKey, receiptsPrefix } from "../../../../kv/engine/schema/keys.ts";
import { readReceipts } from "../../../../kv/money/receipts/receipts.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";

const account = newAccount();

/** Two buckets of time later, so that no two moments share one. */
const bucketStepMs = 72;

/** The receipts of a bucket, which share a page. */
function bucket(number: number, calls: number): Receipt[] {
  return Array.from(
    { length: calls },
    () => receiptOf(account, { requestId: newId("request", number * bucketStepMs) }),
  );
}

/** An archive of some pages that counts what it is asked for; it answers only what reading receipts needs. */
class CountedArchive {
  calls: ArchivedCall[] = [];
  reads = 0;

  get archive(): ReceiptArchive {
    const refuse = () => Promise.reject(new Error("not asked for by reads of receipts"));
    return {
      callsBetween: refuse,
      callsThatFit: ({ ranges }) => {
        this.reads++;
        const within = this.calls.filter(({ calledAtMs }) =>
          ranges.some(({ fromMs, toMs }) => calledAtMs >= fromMs && calledAtMs < toMs)
        );
        return Promise.resolve(within.toReversed());
      },
      callsByDay: refuse,
      timeOfCall: refuse,
      idsOf: refuse,
      idsAmong: refuse,
      accounts: refuse,
      hoursBetween: refuse,
      writeHour: refuse,
      finishDay: refuse,
      packDay: refuse,
      packMonth: refuse,
      sumPages: refuse,
      writeSums: refuse,
      accountsOfDay: refuse,
      chargesOf: refuse,
      months: refuse,
      dropMonth: refuse,
      close: () => Promise.resolve(),
    };
  }

  /** Takes the pages of a store, as moving a day does. */
  async take(kv: Deno.Kv): Promise<void> {
    for await (const { key, value } of kv.list<string>({ prefix: receiptsPrefix() })) {
      const columns = pageInColumns({ newest: key[1] as RequestId, text: value }, 0);
      assert(columns.ok, columns.ok ? "" : columns.problem);
      assertEquals(pagesOf(columns.calls)[0]?.text, value);
      this.calls.push(...columns.calls);
      await kv.delete(key);
    }
  }
}

const idsOf = (receipts: readonly Receipt[]) => receipts.map(({ requestId }) => requestId);

Deno.test("the pages of archived receipts are read in one reading for ten keys", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedArchive();
  const receipts = [1, 2, 3, 4, 5].flatMap((number) => bucket(number, 4));
  await storeReceipts(kv, receipts);
  await counted.take(kv);
  const whole = archivedStore(kv, counted.archive);
  for (const some of [receipts.slice(0, 8), receipts.slice(8), receipts.slice(0, 1)]) {
    counted.reads = 0;
    assertEquals(await readReceipts(whole, idsOf(some)), some);
    assertEquals(counted.reads, 1);
  }
});

Deno.test("for calls in the store the archive is asked once for ten keys, and finds none", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedArchive();
  const receipts = [1, 2, 3].flatMap((number) => bucket(number, 3));
  await storeReceipts(kv, receipts);
  const whole = archivedStore(kv, counted.archive);
  assertEquals(await readReceipts(whole, idsOf(receipts)), receipts);
  assertEquals(counted.reads, 1);
});

Deno.test("a call whose page leaves the store while it is looked for is found in the archive", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedArchive();
  const receipts = bucket(1, 3);
  await storeReceipts(kv, receipts);
  const whole = archivedStore(kv, counted.archive);
  const { archive } = counted;
  const moving = archivedStore(kv, {
    ...archive,
    // It leaves behind the first question to the archive, which has had nothing of it.
    async callsThatFit(reading) {
      const found = await archive.callsThatFit(reading);
      if (counted.calls.length === 0) await counted.take(kv);
      return found;
    },
  });
  assertEquals(await readReceipts(moving, idsOf(receipts)), receipts);
  assertEquals(await readReceipts(whole, idsOf(receipts)), receipts);
});

Deno.test("a single row is the archived page of its key, not that of another one", async () => {
  using kv = await Deno.openKv(":memory:");
  const counted = new CountedArchive();
  const ids = idsOf(bucket(1, 3)).sort();
  await storeReceipts(kv, ids.map((requestId) => receiptOf(account, { requestId })));
  const [page] = await Array.fromAsync(kv.list<string>({ prefix: receiptsPrefix() }));
  await counted.take(kv);
  const whole = archivedStore(kv, counted.archive);
  const read = async (id = "") => (await whole.get(receiptPageKey(id as RequestId))).value;
  assertEquals([await read(ids[2]), await read(ids[1])], [page?.value, null]);
});

Deno.test("a search looks at a bounded number of archived calls, and says how far it came", async () => {
  const callsOfDay = 6_000;
  const asked: FilteredReading[] = [];
  const archive = {
    callsThatFit: (reading: FilteredReading) => {
      asked.push(reading);
      return Promise.resolve([]);
    },
    callsByDay: () =>
      Promise.resolve(
        [30, 29, 28, 27, 26, 25].map((day) => ({
          day: `2026-11-${day}`,
          calls: callsOfDay,
          fitting: day === 29 ? 0 : 3,
        })),
      ),
    timeOfCall: () => Promise.resolve(undefined),
  };
  const idAt = (day: string) => beforeIdsOf("request", vietnamDayStartMs(day));
  const span = { from: idAt("2026-11-01"), before: idAt("2026-12-01"), limit: 50 };
  const read = await archivedCalls(archive, { ...span, accountId: account, model: "rare" });
  const days = asked.flatMap(({ ranges }) => ranges.map(({ fromMs }) => vietnamDay(fromMs)));
  assertEquals(days, ["2026-11-30", "2026-11-28", "2026-11-27", "2026-11-26"]);
  assertEquals(read, { calls: [], reached: idAt("2026-11-26"), scanned: 4 * callsOfDay });
  assert(read.scanned < maxCallsScanned + callsOfDay);
});
