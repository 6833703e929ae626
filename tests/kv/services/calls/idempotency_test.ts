import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { AccountId, RequestId, VideoId } from "../../../../core/lib/ids/ids.ts";
import {
  claimKey,
  idempotencyClaimMs,
  idempotencyKeptMs,
  type KeyClaim,
  releaseKey,
  writeVideoTask,
} from "../../../../kv/services/calls/idempotency.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const nowMs = Date.UTC(2026, 10, 20);
const accountId = "acc_1" as AccountId;
const input = { of: "video" as const, accountId, id: "k", fingerprint: "f", nowMs };
const requestOf = (number: number) => `req_${number}` as RequestId;

const begins = (kv: KeyValueStore, number: number, more: Partial<typeof input> = {}) =>
  claimKey(kv, { ...input, ...more, requestId: requestOf(number) });

Deno.test("of any number of equal calls at once one claims the key, whatever answers of the store are lost", async () => {
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
        const begun = starts.filter(({ kind }) => kind === "claimed");
        assert(begun.length <= 1, `${begun.length} calls`);
        // All attempts of the winner may have been lost; then no call may believe that it has the
        // key.
        if (!faults.includes("before") && !faults.includes("after")) assertEquals(begun.length, 1);
        for (const { kind } of starts) assert(kind === "claimed" || kind === "under_way");
      } finally {
        kv.close();
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("a key is of its account and its request, and ends with its time", async () => {
  const kv = await Deno.openKv(":memory:");
  const kindOf = async (start: Promise<KeyClaim>) => (await start).kind;
  try {
    const first = await begins(kv, 1);
    assert(first.kind === "claimed");
    assertEquals(await kindOf(begins(kv, 2)), "under_way");
    assertEquals(await kindOf(begins(kv, 2, { fingerprint: "g" })), "other_request");
    assertEquals(await kindOf(begins(kv, 2, { accountId: "acc_2" as AccountId })), "claimed");
    assertEquals(
      await kindOf(begins(kv, 3, { nowMs: nowMs + idempotencyClaimMs - 1 })),
      "under_way",
    );
    await releaseKey(kv, first.claim);
    const second = await begins(kv, 4);
    assert(second.kind === "claimed");
    const videoId = "video_1" as VideoId;
    const operation = kv.atomic();
    writeVideoTask(operation, second.claim, { id: videoId, createdAtMs: nowMs });
    await operation.commit();
    await releaseKey(kv, second.claim); // as a call does that cannot tell whether its commit came through
    assertEquals(await begins(kv, 5), { kind: "done", videoId });
    const later = nowMs + idempotencyKeptMs;
    assertEquals((await begins(kv, 6, { nowMs: later - 1 })).kind, "done");
    assertEquals((await begins(kv, 7, { nowMs: later })).kind, "claimed");
    const lost = later + idempotencyClaimMs;
    assertEquals((await begins(kv, 8, { nowMs: lost })).kind, "claimed", "its process died");
  } finally {
    kv.close();
  }
});
