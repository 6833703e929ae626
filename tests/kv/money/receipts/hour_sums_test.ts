import * as fc from "../../../support/property.ts";
import { newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import type { StoredSum } from "../../../../kv/money/receipts/day_sums.ts";
import {
  addHoursToText,
  addToHours,
  decodeHourSums,
  encodeHourSums,
  type HourSum,
  readHours,
  vietnamHour,
} from "../../../../kv/money/receipts/hour_sums.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { listFailed } from "../../../../kv/money/receipts/receipt_index.ts";
import { daySumsOfPrefix } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { wrongHours } from "../../../../kv/services/verify/checks/verify_sums.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { anyReceipt } from "../../../support/receipt_arbitrary.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

const dayStartMs = Date.UTC(2026, 10, 19, 17);
const day = vietnamDay(dayStartMs);
const account = newAccount();

function hoursOf(receipts: readonly Receipt[]): Map<number, HourSum> {
  const hours = new Map<number, HourSum>();
  for (const receipt of receipts) addToHours(hours, receipt);
  return hours;
}

const plain = (atMs: number, some: Partial<Receipt> = {}) =>
  receiptOf(account, { requestId: newId("request", atMs), startedAtMs: atMs, ...some });

const failed = (atMs: number) =>
  plain(atMs, {
    outcome: "failed",
    status: 504,
    attempts: [{ route: "a/m", outcome: "upstream_timeout", ms: 9 }],
  });

async function index(kv: KeyValueStore, receipts: readonly Receipt[]) {
  await storeReceipts(kv, receipts);
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
}

async function rowsOf(kv: KeyValueStore) {
  return await Array.fromAsync(readHours(kv, day, account));
}

const problems = async (kv: KeyValueStore) => (await Array.fromAsync(wrongHours(kv, {}))).length;

Deno.test("hours come out of their text as they went in, in one step or in many", () => {
  const receipts = fc.array(anyReceipt, { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(receipts, fc.nat({ max: 20 }), (receipts, cut) => {
    const whole = encodeHourSums({ missingCalls: 0, hours: hoursOf(receipts) });
    assertEquals(decodeHourSums(whole), { missingCalls: 0, hours: hoursOf(receipts) });
    const first = addHoursToText(undefined, hoursOf(receipts.slice(0, cut)), 0);
    const text = addHoursToText(first, hoursOf(receipts.slice(cut)), receipts.slice(0, cut).length);
    assertEquals(decodeHourSums(text).missingCalls, 0);
    const sorted = (hours: ReadonlyMap<number, HourSum>) => [...hours].sort(([a], [b]) => a - b);
    assertEquals(sorted(decodeHourSums(text).hours), sorted(hoursOf(receipts)));
  }));
});

Deno.test("the hour of a moment is that of Vietnam", () => {
  assertEquals(vietnamHour(dayStartMs), 0);
  assertEquals(vietnamHour(dayStartMs - 1), 23);
  assertEquals(vietnamHour(dayStartMs + 14 * hourMs + 5), 14);
});

Deno.test("the indexer adds each receipt to its hour once, also if its answer was lost", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = [
    plain(dayStartMs + 1, { costMicroVnd: 5n, latencyMs: 100 }),
    plain(dayStartMs + hourMs, { costMicroVnd: 7n }),
    failed(dayStartMs + hourMs + 1),
  ];
  await index(kv, receipts);
  // A process that does not know whether its commit was applied tries again.
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    await writeIndex(kv, chunk, { bounded: (call) => call });
  }
  const [row, ...others] = await rowsOf(kv);
  assertEquals(others, []);
  const [first, second] = [row?.sums.hours.get(0), row?.sums.hours.get(1)];
  assertEquals([first?.calls, first?.failed, first?.costMicroVnd], [1, 0, 5n]);
  assertEquals([second?.calls, second?.failed], [2, 1]);
  assertEquals([...second?.errors ?? []], [["504 upstream_timeout", 1]]);
  assertEquals(await Array.fromAsync(listFailed(kv, account)), [receipts[2]?.requestId]);
  assertEquals(await problems(kv), 0);
});

Deno.test("two indexers of one day sum lose no hour", async () => {
  using kv = await Deno.openKv(":memory:");
  const batches = Array.from(
    { length: 6 },
    (_, at) => Array.from({ length: 5 }, () => plain(dayStartMs + at * hourMs)),
  );
  await storeReceipts(kv, batches.flat());
  await Promise.all(batches.map(async (receipts) => {
    for (const chunk of chunkGroups(groupReceipts(receipts))) {
      while (await writeIndex(kv, chunk, { bounded: (call) => call }) !== "written");
    }
  }));
  const [row] = await rowsOf(kv);
  const calls = [...row?.sums.hours.values() ?? []].map(({ calls }) => calls);
  assertEquals(calls.sort(), [5, 5, 5, 5, 5, 5]);
  assertEquals(await problems(kv), 0);
});

Deno.test("a store without hours gets them with the next call, and says what they lack", async () => {
  using kv = await Deno.openKv(":memory:");
  await index(kv, [plain(dayStartMs + 1), failed(dayStartMs + 2)]);
  // As an earlier release left it.
  for (const kind of ["usage_hours", "failed_of"]) {
    for await (const { key } of kv.list({ prefix: [kind] })) await kv.delete(key);
  }
  await index(kv, [plain(dayStartMs + hourMs)]);
  assertEquals((await rowsOf(kv))[0]?.sums.missingCalls, 2);
  assertEquals(await problems(kv), 0);
  const nowMs = dayStartMs + 5 * hourMs;
  assertEquals(await rebuildDaySums(kv, account, { nowMs: nowMs, afterDay: undefined }), {
    corrected: 1,
    isMoving: false,
  });
  const [row] = await rowsOf(kv);
  assertEquals([row?.sums.missingCalls, row?.sums.hours.get(0)?.calls], [0, 2]);
  assertEquals((await Array.fromAsync(listFailed(kv, account))).length, 1);
  assertEquals(await rebuildDaySums(kv, account, { nowMs: nowMs, afterDay: undefined }), {
    corrected: 0,
    isMoving: false,
  });
});

Deno.test("an earlier release that indexes beside this one leaves hours that say what they lack", async () => {
  using kv = await Deno.openKv(":memory:");
  await index(kv, [plain(dayStartMs + 1)]);
  // An earlier release adds three calls to the sum, and knows neither the hours nor the mark.
  const [entry] = await Array.fromAsync(kv.list<StoredSum>({ prefix: daySumsOfPrefix(account) }));
  const { hasHours, ...sum } = entry!.value;
  assert(hasHours);
  await kv.set(entry!.key, { ...sum, calls: sum.calls + 3 });
  assertEquals(await problems(kv), 0);
  await index(kv, [plain(dayStartMs + 2)]);
  assertEquals((await rowsOf(kv))[0]?.sums.missingCalls, 3);
  assertEquals(await problems(kv), 0);
  await kv.set(entry!.key, { ...sum, calls: 1 });
  assertEquals(await problems(kv), 1);
});

Deno.test("verification finds hours that do not add up, and rebuilding corrects them", async () => {
  using kv = await Deno.openKv(":memory:");
  await index(kv, [plain(dayStartMs + 1), plain(dayStartMs + hourMs)]);
  for await (const { key, value } of kv.list<string>({ prefix: ["usage_hours"] })) {
    await kv.set(key, value.split("\n").slice(0, -1).join("\n"));
  }
  assertEquals(await problems(kv), 1);
  await rebuildDaySums(kv, account, { nowMs: dayStartMs + 2 * hourMs, afterDay: undefined });
  assertEquals(await problems(kv), 0);
});

Deno.test("the index of failed calls lists the latest first, from any call on", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = Array.from({ length: 30 }, (_, at) => failed(dayStartMs + at * 700));
  await index(kv, receipts);
  const ids: RequestId[] = receipts.map(({ requestId }) => requestId).reverse();
  assertEquals(await Array.fromAsync(listFailed(kv, account)), ids);
  assertEquals(await Array.fromAsync(listFailed(kv, account, ids[10])), ids.slice(11));
});
