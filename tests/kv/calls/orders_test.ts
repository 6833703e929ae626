import fc from "fast-check";
import { assert, assertEquals } from "../../support/assert.ts";
import type { AccountId, RequestId, VideoId } from "../../../core/lib/ids.ts";
import { limits } from "../../../core/limits.ts";
import { beginOrder, dropOrder, type OrderStart, writeOrdered } from "../../../kv/calls/orders.ts";
import { type Fault, faultyKv } from "../../support/faulty_kv.ts";
import type { KeyValueStore } from "../../../kv/store/key_value_store.ts";

const nowMs = Date.UTC(2026, 10, 20);
const accountId = "acc_1" as AccountId;
const input = { of: "video" as const, accountId, id: "k", fingerprint: "f", nowMs };
const requestOf = (number: number) => `req_${number}` as RequestId;

const begins = (kv: KeyValueStore, number: number, more: Partial<typeof input> = {}) =>
  beginOrder(kv, { ...input, ...more, requestId: requestOf(number) });

Deno.test("of any number of equal orders at once one begins, whatever answers of the store are lost", async () => {
  const fault = fc.constantFrom<Fault>("none", "none", "none", "before", "after");
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { maxLength: 20 }), fc.integer({ min: 1, max: 6 }), async (
      faults,
      callers,
    ) => {
      const kv = await Deno.openKv(":memory:");
      try {
        const left = [...faults];
        const faulty = faultyKv(kv, (call) => call === "get" ? "none" : left.shift() ?? "none");
        const starts = await Promise.all(
          Array.from({ length: callers }, (_, number) => begins(faulty, number)),
        );
        const begun = starts.filter(({ kind }) => kind === "begun");
        assert(begun.length <= 1, `${begun.length} orders`);
        // All tries of the winner may have been lost; then nobody may think that it began.
        if (!faults.includes("before") && !faults.includes("after")) assertEquals(begun.length, 1);
        for (const { kind } of starts) assert(kind === "begun" || kind === "under_way");
      } finally {
        kv.close();
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("a key is of its account and its request, and ends with its time", async () => {
  const kv = await Deno.openKv(":memory:");
  const kindOf = async (start: Promise<OrderStart>) => (await start).kind;
  try {
    const first = await begins(kv, 1);
    assert(first.kind === "begun");
    assertEquals(await kindOf(begins(kv, 2)), "under_way");
    assertEquals(await kindOf(begins(kv, 2, { fingerprint: "g" })), "other_request");
    assertEquals(await kindOf(begins(kv, 2, { accountId: "acc_2" as AccountId })), "begun");
    assertEquals(
      await kindOf(begins(kv, 3, { nowMs: nowMs + limits.orderUnderWayMs - 1 })),
      "under_way",
    );
    await dropOrder(kv, first.order);
    const second = await begins(kv, 4);
    assert(second.kind === "begun");
    const videoId = "video_1" as VideoId;
    const operation = kv.atomic();
    writeOrdered(operation, second.order, { id: videoId, createdAtMs: nowMs });
    await operation.commit();
    await dropOrder(kv, second.order); // as a call does that cannot tell whether its commit came through
    assertEquals(await begins(kv, 5), { kind: "ordered", videoId });
    const later = nowMs + limits.orderKeptMs;
    assertEquals((await begins(kv, 6, { nowMs: later - 1 })).kind, "ordered");
    assertEquals((await begins(kv, 7, { nowMs: later })).kind, "begun");
    const lost = later + limits.orderUnderWayMs;
    assertEquals((await begins(kv, 8, { nowMs: lost })).kind, "begun", "its process died");
  } finally {
    kv.close();
  }
});
