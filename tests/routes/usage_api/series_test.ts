/** The figures of charts: exact where sums are, by hour and by day, with refused calls among the errors. */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { RefusedCallRecorder } from "../../../kv/services/calls/refused_call_recorder.ts";
import { chunkGroups, groupReceipts } from "../../../kv/money/receipts/day_sum_group.ts";
import { writeIndex } from "../../../kv/money/receipts/index_write.ts";
import { apiKeyKey } from "../../../kv/engine/schema/keys.ts";
import type { ApiKeyRecord } from "../../../kv/people/api_keys/api_keys.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { readUsage } from "../../../kv/money/ledger/usage.ts";
import { errorRate, readHealth } from "../../../routes/usage_api/summary.ts";
import { withoutEmptyEdges } from "../../../routes/dashboard/components/mod.ts";
import { readPeriod } from "../../../routes/usage_api/period.ts";
import {
  type Metric,
  metricsOf,
  readSeries,
  readTotals,
  type SeriesQuery,
  totalsOf,
} from "../../../routes/usage_api/series.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { ManualTime } from "../../support/manual_time.ts";
import {
  newAccount,
  receiptOf,
  storeReceipts,
  testKeyId,
} from "../../support/worlds/money_world.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

const nowMs = Date.UTC(2026, 10, 20, 3, 20);
const [ann, bob] = [newAccount(), newAccount()];

const call = (account: typeof ann, agoMs: number, some: Partial<Receipt> = {}) =>
  receiptOf(account, {
    requestId: newId("request", nowMs - agoMs),
    startedAtMs: nowMs - agoMs,
    model: "premium-1",
    costMicroVnd: 2_000_000n,
    latencyMs: 1_000,
    ...some,
  });

const failure: Partial<Receipt> = {
  outcome: "failed",
  status: 504,
  costMicroVnd: 0n,
  attempts: [{ route: "a/m", outcome: "upstream_timeout", ms: 9 }],
};

async function fill(kv: KeyValueStore): Promise<void> {
  const receipts = [
    call(ann, 90 * 60_000),
    call(ann, 80 * 60_000, { model: "image-1", costMicroVnd: 4_200n }),
    call(ann, 5 * hourMs, failure),
    call(ann, 30 * hourMs),
    call(bob, 3 * hourMs, { latencyMs: 9_000 }),
  ];
  await storeReceipts(kv, receipts);
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    await writeIndex(kv, chunk, { bounded: (answer) => answer });
  }
  const time = new ManualTime(nowMs);
  const recorder = new RefusedCallRecorder({
    kv,
    clock: time,
    timer: time,
    keptDays: 30,
    onFailure: (error) => {
      throw error;
    },
  });
  for (let n = 0; n < 500; n++) {
    recorder.add({
      requestId: newId("request", nowMs),
      accountId: ann,
      keyId: testKeyId,
      atMs: nowMs - 2 * hourMs,
      latencyMs: 1,
      status: 402,
      code: "insufficient_balance",
      message: "no",
    });
  }
  await recorder.close();
}

const series = (
  kv: KeyValueStore,
  metric: Metric,
  period: string,
  accountId: typeof ann | undefined,
) => readSeries(kv, { accountId, period: readPeriod({ period }, nowMs), metric, by: "model" });

const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);

Deno.test("sums by hour and by day are those of the receipts, by model", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  const hours = await series(kv, "cost", "24h", ann);
  assertEquals(hours.stacks.map(({ name, values }) => [name, sum(values)]), [
    ["premium-1", 2],
    ["image-1", 0.0042],
  ]);
  const days = await series(kv, "cost", "7d", ann);
  assertEquals(sum(totalsOf(days)), 4.0042);
  assertEquals(sum(totalsOf(await series(kv, "calls", "7d", ann))), 4);
  assertEquals(sum(totalsOf(await series(kv, "calls", "24h", undefined))), 4, "all accounts");
});

Deno.test("bars by member and team are those of the keys, by hour and by day", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  const team = newId("team", 0);
  const sums = async (by: "member" | "team", period: string) => {
    const query = {
      accountId: ann,
      period: readPeriod({ period }, nowMs),
      metric: "cost",
      by,
    } as const;
    const { stacks } = await readSeries(kv, query);
    return stacks.map(({ name, values }) => [name, sum(values)]);
  };
  assertEquals(await sums("team", "7d"), [["none", 4.0042]], "a key that is not known any more");
  const key = { id: testKeyId, accountId: ann, createdAtMs: 0, masked: "", hash: "", name: "k" };
  await kv.set(apiKeyKey(ann, testKeyId), { ...key, teamId: team } satisfies ApiKeyRecord);
  for (const [by, name] of [["member", ann], ["team", team]] as const) {
    assertEquals(await sums(by, "24h"), [[name, 2.0042]]);
    assertEquals(await sums(by, "7d"), [[name, 4.0042]]);
  }
});

Deno.test("errors are those of receipts and every refused call, by kind", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  const errors = await series(kv, "errors", "24h", ann);
  assertEquals(errors.stacks.map(({ name, values }) => [name, sum(values)]), [
    ["402 insufficient_balance", 500],
    ["504 upstream_timeout", 1],
  ]);
  const health = await readHealth(kv, { fromMs: nowMs - 24 * hourMs, untilMs: nowMs });
  assertEquals([health.calls.calls, health.calls.failed, health.refused], [4, 1, 500]);
  assertEquals(errorRate(health), 501 / 504);
  assertEquals(health.accounts.get(bob)?.calls, 1);
});

Deno.test("times are percentiles of all calls of a bar, and absent without a call", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  const times = await series(kv, "duration", "24h", bob);
  const [p50, p95] = times.stacks.map(({ values }) => values.filter((value) => value >= 0));
  assertEquals(p50?.length, 1);
  assert(Math.abs((p50?.[0] ?? 0) - 9_000) < 900, `${p50}`);
  assert((p95?.[0] ?? 0) >= (p50?.[0] ?? 0));
});

Deno.test("empty edges are cut, but not down to a single bar", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  const whole = await series(kv, "calls", "30d", ann);
  const { series: cut, cutBars } = withoutEmptyEdges(whole, 8);
  assertEquals([whole.buckets.length, cut.buckets.length, cutBars], [30, 8, 22]);
  assertEquals(sum(totalsOf(cut)), sum(totalsOf(whole)));
});

/** What a filter leaves, in the chart of 24 hours and of 7 days, and in the totals. */
const filtered = [
  { filter: {}, calls: 3, failed: 1, cost: 2_004_200n, week: { calls: 4, cost: 4_004_200n } },
  {
    filter: { status: "ok" },
    calls: 2,
    failed: 0,
    cost: 2_004_200n,
    week: { calls: 3, cost: 4_004_200n },
  },
  {
    filter: { status: "error" },
    calls: 501,
    failed: 501,
    cost: 0n,
    week: { calls: 501, cost: 0n },
  },
  {
    filter: { status: "refused" },
    calls: 500,
    failed: 500,
    cost: 0n,
    week: { calls: 500, cost: 0n },
  },
  { filter: { status: "402" }, calls: 500, failed: 500, cost: 0n, week: { calls: 500, cost: 0n } },
  { filter: { status: "5xx" }, calls: 1, failed: 1, cost: 0n, week: { calls: 1, cost: 0n } },
  {
    filter: { error: "upstream_timeout" },
    calls: 1,
    failed: 1,
    cost: 0n,
    week: { calls: 1, cost: 0n },
  },
  {
    filter: { model: "image-1" },
    calls: 1,
    failed: 0,
    cost: 4_200n,
    week: { calls: 1, cost: 4_200n },
  },
  {
    filter: { model: "image-1", status: "error" },
    calls: 0,
    failed: 0,
    cost: 0n,
    week: { calls: 0, cost: 0n },
  },
] as const;

Deno.test("a filter reaches the chart and the totals alike", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv);
  for (const { filter, calls, failed, cost, week } of filtered) {
    const name = JSON.stringify(filter);
    for (const [preset, wanted] of [["24h", { calls, cost }], ["7d", week]] as const) {
      const period = readPeriod({ period: preset }, nowMs);
      const asked: Omit<SeriesQuery, "accountId"> = {
        period,
        metric: "calls",
        by: "model",
        ...filter,
      };
      const query = { ...asked, accountId: ann };
      const rows = await readUsage(kv, ann, period.range);
      const totals = await readTotals(kv, query, rows);
      assertEquals([totals.calls, totals.costMicroVnd], [wanted.calls, wanted.cost], name);
      assertEquals(totals.failedCalls, failed, name);
      const chart = async (metric: Metric) =>
        sum(totalsOf(await readSeries(kv, { ...query, metric })));
      assertEquals(await chart("calls"), wanted.calls, name);
      if (metricsOf(asked).includes("cost")) {
        assertEquals(await chart("cost"), Number(wanted.cost) / 1e6, name);
      }
      // Refused calls have no receipt, so without a filter they are among the errors only.
      const refused = Object.keys(filter).length === 0 ? 500 : 0;
      if (metricsOf(asked).includes("errors")) {
        assertEquals(await chart("errors"), failed + refused, name);
      }
    }
  }
});
