/** Tests which refused calls get rows, and that none waits, is lost or is counted twice. */
import * as fc from "../../../support/property.ts";
import type { ErrorCode } from "../../../../core/lib/errors/errors.ts";
import { type AccountId, type ApiKeyId, newId } from "../../../../core/lib/ids/ids.ts";
import { RefusedCallRecorder } from "../../../../kv/services/calls/refused_call_recorder.ts";
import {
  listAllRefusedCalls,
  listRefusedCalls,
  readRefusedCall,
  type RefusedCall,
} from "../../../../kv/services/calls/refused_calls.ts";
import { readRefusedHours } from "../../../../kv/services/calls/refused_hours.ts";
import { vietnamHour } from "../../../../kv/money/receipts/hour_sums.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const keyId: ApiKeyId = newId("apiKey", 0);

function callOf(
  accountId: AccountId,
  atMs: number,
  change: Partial<RefusedCall> = {},
): RefusedCall {
  return {
    requestId: newId("request", atMs),
    accountId,
    keyId,
    atMs,
    latencyMs: 3,
    status: 402,
    code: "insufficient_balance" satisfies ErrorCode,
    message: "Insufficient balance",
    endpoint: "/v1/messages",
    ...change,
  };
}

async function open(kv?: KeyValueStore) {
  const time = new ManualTime();
  const store = kv ?? await Deno.openKv(":memory:");
  const failures: unknown[] = [];
  const recorder = new RefusedCallRecorder({
    kv: store,
    clock: time,
    timer: time,
    keptDays: 30,
    onFailure: (error) => failures.push(error),
  });
  return { time, kv: store, recorder, failures };
}

const rowsOf = (kv: KeyValueStore, accountId: AccountId) =>
  Array.fromAsync(listRefusedCalls(kv, accountId));

Deno.test("a refused call is found by its id, by its account and among all", async () => {
  const { time, kv, recorder } = await open();
  const [one, other] = [newId("account", 0), newId("account", 0)];
  const calls = [callOf(one, time.nowMs()), callOf(other, time.nowMs()), callOf(one, time.nowMs())];
  for (const call of calls) recorder.add(call);
  await recorder.close();
  const [first, second, third] = calls;
  assertEquals(await rowsOf(kv, one), [third, first]);
  assertEquals(await Array.fromAsync(listAllRefusedCalls(kv)), [third, second, first]);
  assert(first !== undefined && third !== undefined);
  assertEquals(await readRefusedCall(kv, first.requestId), first);
  assertEquals(await Array.fromAsync(listRefusedCalls(kv, one, third.requestId)), [first]);
  assertEquals(await Array.fromAsync(listAllRefusedCalls(kv, first.requestId)), []);
  assertEquals(await readRefusedCall(kv, newId("request", 0)), undefined);
  kv.close();
});

Deno.test("the list of all calls is complete over several reads", async () => {
  const { time, kv, recorder } = await open();
  const calls = Array.from({ length: 25 }, () => callOf(newId("account", 0), time.nowMs()));
  for (const call of calls) recorder.add(call);
  await recorder.close();
  assertEquals(await Array.fromAsync(listAllRefusedCalls(kv)), calls.toReversed());
  kv.close();
});

Deno.test("rows are written without another call, and a long message is cut", async () => {
  const { time, kv, recorder } = await open();
  const accountId = newId("account", 0);
  recorder.add(callOf(accountId, time.nowMs(), { message: "x".repeat(5_000) }));
  assertEquals(await rowsOf(kv, accountId), []);
  await time.advance(1_000);
  const [row] = await rowsOf(kv, accountId);
  assertEquals(row?.message.length, 300);
  await recorder.close();
  kv.close();
});

Deno.test("rows and the counts in them add up to the calls, whatever arrives when", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          calls: fc.nat({ max: 300 }),
          account: fc.nat({ max: 2 }),
          pauseMs: fc.nat(90_000),
        }),
        { maxLength: 6 },
      ),
      async (bursts) => {
        const { time, kv, recorder, failures } = await open();
        const accounts = [newId("account", 0), newId("account", 0), newId("account", 0)];
        const sent = new Map<AccountId, number>();
        for (const { calls, account, pauseMs } of bursts) {
          const accountId = accounts[account] ?? newId("account", 0);
          for (let i = 0; i < calls; i++) recorder.add(callOf(accountId, time.nowMs()));
          sent.set(accountId, (sent.get(accountId) ?? 0) + calls);
          await time.advance(pauseMs);
        }
        await recorder.close();
        for (const [accountId, calls] of sent) {
          const rows = await rowsOf(kv, accountId);
          const counted = rows.reduce((sum, { leftOut = 0 }) => sum + leftOut, 0);
          assertEquals(rows.length + counted, calls);
        }
        assertEquals(failures, []);
        kv.close();
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("a flood of one account is sampled, and hides no call of another", async () => {
  const { time, kv, recorder } = await open();
  const [flooding, quiet] = [newId("account", 0), newId("account", 0)];
  for (let i = 0; i < 10_000; i++) recorder.add(callOf(flooding, time.nowMs()));
  recorder.add(callOf(quiet, time.nowMs()));
  await recorder.close();
  const rows = await rowsOf(kv, flooding);
  assert(rows.length >= 60 && rows.length <= 60 + 100, `${rows.length} rows`);
  assertEquals((await rowsOf(kv, quiet)).length, 1);
  kv.close();
});

Deno.test("a store that fails loses no call while there is room, and is asked again", async () => {
  const kv = await Deno.openKv(":memory:");
  let isAway = true;
  const unreliable: KeyValueStore = Object.assign(Object.create(kv), {
    atomic() {
      if (isAway) throw new Error("away");
      return kv.atomic();
    },
    list: kv.list.bind(kv),
  });
  const { time, recorder, failures } = await open(unreliable);
  const accountId = newId("account", 0);
  recorder.add(callOf(accountId, time.nowMs()));
  await time.advance(1_000);
  recorder.add(callOf(accountId, time.nowMs()));
  assert(failures.length > 0);
  isAway = false;
  await time.advance(10_000);
  assertEquals((await rowsOf(kv, accountId)).length, 2);
  await recorder.close();
  assertEquals((await rowsOf(kv, accountId)).length, 2);
  kv.close();
});

Deno.test("with 0 days nothing is kept", async () => {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const options = { kv, clock: time, timer: time, keptDays: 0, onFailure() {} };
  const recorder = new RefusedCallRecorder(options);
  const accountId = newId("account", 0);
  recorder.add(callOf(accountId, time.nowMs()));
  await recorder.close();
  assertEquals(await rowsOf(kv, accountId), []);
  kv.close();
});

Deno.test("refused calls are counted by hour, those of a flood too, by any number of recorders", async () => {
  const { time, kv, recorder, failures } = await open();
  const other = (await open(kv)).recorder;
  const account = newId("account", 0);
  const atMs = time.nowMs();
  for (let n = 0; n < 3_000; n++) recorder.add(callOf(account, atMs));
  for (let n = 0; n < 5; n++) {
    other.add(callOf(account, atMs, { status: 429, code: "rate_limit_exceeded", model: "m" }));
  }
  await time.advance(1_000);
  recorder.add(callOf(account, atMs));
  await recorder.close();
  await other.close();
  const rows = await Array.fromAsync(readRefusedHours(kv, vietnamDay(atMs), account));
  const counts = rows.flatMap(({ cell, hours }) =>
    [...hours].map(([hour, errors]) => [cell.model, hour, ...errors])
  );
  const hour = vietnamHour(atMs);
  assertEquals(counts.sort(), [
    ["", hour, ["402 insufficient_balance", 3_001]],
    ["m", hour, ["429 rate_limit_exceeded", 5]],
  ]);
  assertEquals(failures, []);
  kv.close();
});
