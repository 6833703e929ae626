/** A search that passes over hours finds what a search of every call finds, on pages of any size. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import * as fc from "../../../support/property.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { type ApiKeyId, newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { RefusedCallRecorder } from "../../../../kv/services/calls/refused_call_recorder.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { encodeBatch } from "../../../../kv/engine/store/batches.ts";
import { batchKey } from "../../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { CallFilter } from "../../../../routes/usage_api/search/call_filter.ts";
import {
  type Call,
  errorOf,
  maxScanRows,
  takeCalls,
} from "../../../../routes/usage_api/search/call_scan.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { requestIdAt } from "../../../support/worlds/dashboard_world.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

const account = newAccount();
const startMs = Date.UTC(2026, 10, 1);
const keys: readonly ApiKeyId[] = [newId("apiKey", 0), newId("apiKey", 0)];

type Kind = "answered" | "timeout" | "limited" | "poor" | "wrong";

interface Made {
  readonly atMs: number;
  readonly kind: Kind;
  readonly key: number;
  readonly model: string;
}

const anyCall = fc.record({
  atMs: fc.integer({ min: startMs, max: startMs + 9 * 24 * hourMs }),
  kind: fc.constantFrom<Kind>("answered", "answered", "timeout", "limited", "poor", "wrong"),
  key: fc.nat({ max: 1 }),
  model: fc.constantFrom("premium-1", "image-1"),
});

function receiptFor({ atMs, kind, key, model }: Made): Receipt {
  const code = kind === "timeout" ? "upstream_timeout" : "rate_limit_exceeded";
  return receiptOf(account, {
    requestId: requestIdAt(atMs),
    // A call may start minutes after its request came, perhaps in the next hour or day.
    startedAtMs: atMs + (atMs % 10) * 60_000,
    keyId: keys[key]!,
    model,
    ...kind === "answered" ? {} : {
      outcome: "failed" as const,
      status: kind === "timeout" ? 504 : 429,
      attempts: [{ route: "a/m", outcome: code, ms: 1 }],
    },
  });
}

function refusalFor({ atMs, kind, key, model }: Made): RefusedCall {
  return {
    requestId: requestIdAt(atMs),
    accountId: account,
    keyId: keys[key]!,
    atMs,
    latencyMs: 1,
    ...kind === "poor"
      ? { status: 402, code: "insufficient_balance" as const }
      : { status: 400, code: "invalid_request" as const, model },
    message: "no",
  };
}

async function fill(kv: KeyValueStore, made: readonly Made[]): Promise<Call[]> {
  const isRefusal = ({ kind }: Made) => kind === "poor" || kind === "wrong";
  const receipts = made.filter((one) => !isRefusal(one)).map(receiptFor);
  for (let at = 0; at < receipts.length; at += 500) {
    await storeReceipts(kv, receipts.slice(at, at + 500));
  }
  const tail = receipts.slice(-2);
  for (const chunk of chunkGroups(groupReceipts(receipts.slice(0, -2)))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
  const parts = tail.map(({ requestId }) => ({
    accountId: account,
    chargedMicroVnd: 7n,
    requestIds: [requestId],
  }));
  if (parts.length > 0) await kv.set(batchKey(newId("instance", 0), 1), encodeBatch(parts));
  const time = new ManualTime(startMs);
  const recorder = new RefusedCallRecorder({
    kv,
    clock: time,
    timer: time,
    keptDays: 30,
    onFailure: (error) => {
      throw error;
    },
  });
  const refusals = made.filter(isRefusal).map(refusalFor);
  for (const refusal of refusals) recorder.add(refusal);
  await recorder.close();
  return [
    ...receipts.map((receipt): Call => ({
      kind: "receipt",
      requestId: receipt.requestId,
      receipt,
    })),
    ...refusals.map((refused): Call => ({
      kind: "refused",
      requestId: refused.requestId,
      refused,
    })),
  ].sort((one, other) => ascending(other.requestId, one.requestId));
}

const filters: readonly Partial<CallFilter>[] = [
  {},
  { status: "ok" },
  { status: "error" },
  { status: "refused" },
  { status: "5xx" },
  { status: "429" },
  { status: "402" },
  { error: "upstream_timeout" },
  { error: "invalid_request" },
  { status: "504", error: "rate_limit_exceeded" },
  { keyId: keys[1]! },
  { model: "image-1" },
  { model: "image-1", status: "ok" },
  { keyId: keys[0]!, model: "premium-1", status: "error" },
  { model: "no-such-model" },
];

/** What every call is compared with, without sums. */
function fits(call: Call, { status, error, keyId, model }: Partial<CallFilter>): boolean {
  const one = call.kind === "receipt" ? call.receipt : call.refused;
  if (keyId !== undefined && one.keyId !== keyId) return false;
  if (model !== undefined && one.model !== model) return false;
  if (error !== undefined && errorOf(call) !== error) return false;
  const isError = one.status >= 400;
  return status === undefined || (status === "ok" && !isError) || (status === "error" && isError) ||
    (status === "refused" && call.kind === "refused") ||
    (status === "5xx" && one.status >= 500) || status === String(one.status);
}

async function listAll(kv: KeyValueStore, filter: Partial<CallFilter>, count: number) {
  const ids: RequestId[] = [];
  let before: RequestId | undefined;
  do {
    const untilMs = startMs + 20 * 24 * hourMs;
    const page = await takeCalls(
      kv,
      { accountId: account, fromMs: startMs, untilMs, ...filter, before },
      count,
    );
    ids.push(...page.calls.map(({ requestId }) => requestId));
    before = page.next;
  } while (before !== undefined);
  return ids;
}

Deno.test("every filter finds the calls that fit, each once, newest first", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyCall, { maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      async (made, count) => {
        using kv = await Deno.openKv(":memory:");
        const calls = await fill(kv, made);
        for (const filter of filters) {
          const expected = calls.filter((call) => fits(call, filter));
          assertEquals(
            await listAll(kv, filter, count),
            expected.map(({ requestId }) => requestId),
            JSON.stringify(filter),
          );
        }
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("a rare failure among thousands of calls is on the first page", async () => {
  using kv = await Deno.openKv(":memory:");
  const every = 4 * hourMs / (3 * maxScanRows);
  const made = Array.from({ length: 3 * maxScanRows }, (_, at): Made => ({
    atMs: Math.round(startMs + 24 * hourMs + at * every),
    kind: at === 5 ? "timeout" : "answered",
    key: 0,
    model: at === 9 ? "image-1" : "premium-1",
  }));
  await fill(kv, made);
  const range = { accountId: account, fromMs: startMs, untilMs: startMs + 9 * 24 * hourMs };
  const failed = await takeCalls(kv, { ...range, error: "upstream_timeout" }, 50);
  assertEquals([failed.calls.length, failed.next], [1, undefined]);
  // The hour of a rare model is known, and searched in bounded steps.
  let before: RequestId | undefined;
  let [found, pages] = [0, 0];
  do {
    const page = await takeCalls(kv, { ...range, model: "image-1", before }, 50);
    found += page.calls.length;
    before = page.next;
    pages++;
  } while (before !== undefined);
  assertEquals(found, 1);
  assert(pages <= 2, `${pages} pages`);
});
