/**
 * Lists, searches and exports of calls that are in the store, in an archive, or in both: they find what a filter of an
 * array finds, on pages of any size, and ask a database a bounded number of times, however many calls there are.
 */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import * as fc from "../../../support/property.ts";
import type { CallTags } from "../../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import {
  type AccountId,
  type ApiKeyId,
  beforeIdsOf,
  idTimeMs,
  newId,
  type RequestId,
} from "../../../../core/lib/ids/ids.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { dayMs, hourMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";

import { openStore } from "../../../../kv/engine/opening/store.ts";
import { Pool } from "../../../../kv/engine/postgres/pool.ts";
import {
  failedPageKey,
  indexPageKey,
  newestOnReceiptPage,
} from "../../../../kv/engine/schema/keys.ts";

import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { openPostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import {
  type ArchivedCall,
  bucketStartMs,
  pageInColumns,
} from "../../../../kv/money/archive/receipt_rows.ts";
import type { ReceiptArchive } from "../../../../kv/money/archive/receipt_archive.ts";
import { openSqliteArchive } from "../../../../kv/money/archive/sqlite_archive.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { isFailed } from "../../../../kv/money/receipts/hour_sums.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { receiptPagesBetween } from "../../../../kv/money/receipts/receipt_pages.ts";
import type { CallFilter } from "../../../../routes/usage_api/search/call_filter.ts";
import {
  scanReceipts,
  takeCalls,
  takeCallsOfAll,
} from "../../../../routes/usage_api/search/call_scan.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { requestIdAt } from "../../../support/worlds/dashboard_world.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";

const accounts: readonly AccountId[] = [newAccount(), newAccount()];
const keys: readonly ApiKeyId[] = [newId("apiKey", 0), newId("apiKey", 0)];
const firstDayMs = vietnamDayStartMs("2026-09-20");

/** Days of calls: over three months of an archive, and longer than the hours of days are read at once. */
const days = 60;

interface Made {
  readonly atMs: number;
  readonly account: number;
  readonly key: number;
  readonly model: string;
  readonly end: "answered" | "timeout" | "limited";
  readonly isTagged: boolean;
}

const tags: CallTags = [{ key: "team", value: "search" }];

const anyCall: fc.Arbitrary<Made> = fc.record({
  atMs: fc.integer({ min: firstDayMs, max: firstDayMs + days * dayMs - 1 }),
  account: fc.nat({ max: 1 }),
  key: fc.nat({ max: 1 }),
  model: fc.constantFrom("premium-1", "image-1"),
  end: fc.constantFrom("answered", "answered", "timeout", "limited"),
  isTagged: fc.boolean(),
});

function receiptFor({ atMs, account, key, model, end, isTagged }: Made): Receipt {
  return receiptOf(accounts[account]!, {
    requestId: requestIdAt(atMs),
    // A call may start minutes after its request came, perhaps in the next hour or day.
    startedAtMs: atMs + (atMs % 10) * 60_000,
    keyId: keys[key]!,
    model,
    ...isTagged && { tags },
    ...end === "answered" ? {} : {
      outcome: "failed",
      status: end === "timeout" ? 504 : 429,
      attempts: [
        { route: "a/m", outcome: end === "timeout" ? "upstream_timeout" : "overloaded", ms: 1 },
      ],
    },
  });
}

/** A store with an archive. */
interface Parts {
  readonly living: KeyValueStore;
  readonly archive: ReceiptArchive;
}

async function write(kv: KeyValueStore, receipts: readonly Receipt[]): Promise<void> {
  for (let at = 0; at < receipts.length; at += 400) {
    await storeReceipts(kv, receipts.slice(at, at + 400));
  }
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded: (call) => call }), "written");
  }
}

/** Copies a day into the archive, as it is moved, and clears it from the store unless it is on its way. */
async function copyDay(
  { living, archive }: Parts,
  day: string,
  isCleared: boolean,
): Promise<void> {
  const startMs = vietnamDayStartMs(day);
  for (let fromMs = startMs; fromMs < startMs + dayMs; fromMs += hourMs) {
    const pages = await Array.fromAsync(
      living.list<string>(receiptPagesBetween(fromMs, fromMs + hourMs)),
    );
    if (pages.length === 0) continue;
    const positions = new Map<number, number>();
    const calls = pages.flatMap(({ key, value: text }): readonly ArchivedCall[] => {
      const newest = newestOnReceiptPage(key);
      const bucketMs = bucketStartMs(idTimeMs("request", newest));
      const position = positions.get(bucketMs) ?? 0;
      const columns = pageInColumns({ newest, text }, position);
      assert(columns.ok, "a page in columns");
      positions.set(bucketMs, position + columns.calls.length);
      return columns.calls;
    });
    const digest = `${fromMs}`;
    const mark = {
      startMs: fromMs,
      pages: pages.length,
      receipts: calls.length,
      chargedMicroVnd: 0n,
      digest,
    };
    const written = { startMs: fromMs, digest, calls: each(calls), mark: () => mark };
    assert(await archive.writeHour(written), "the hour is there");
    if (isCleared) { for (const { key } of pages) await living.delete(key); }
  }
  await archive.finishDay(day, each());
  if (isCleared) await clearIndexes(living, startMs);
}

async function clearIndexes(living: KeyValueStore, startMs: number): Promise<void> {
  for (const pageKey of [indexPageKey, failedPageKey]) {
    for (const accountId of accounts) {
      const idAt = (atMs: number) => beforeIdsOf("request", atMs);
      const range = {
        start: pageKey(accountId, idAt(startMs)),
        end: pageKey(accountId, idAt(startMs + dayMs)),
      };
      for await (const { key } of living.list(range)) await living.delete(key);
    }
  }
}

async function* each<Item>(...items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

const filters: readonly Partial<CallFilter>[] = [
  {},
  { status: "ok" },
  { status: "error" },
  { status: "5xx" },
  { status: "429" },
  { status: "402" },
  { error: "upstream_timeout" },
  { error: "family:provider" },
  { keyId: keys[1]! },
  { model: "image-1" },
  { model: "no-such-model" },
  { tag: { key: "team", value: "search" } },
  { tag: { key: "team", value: "sea" } },
  { keyId: keys[0]!, model: "premium-1", status: "error" },
];

function fits(receipt: Receipt, filter: Partial<CallFilter>): boolean {
  const { status, error, keyId, model, tag, fromMs = 0, untilMs = Infinity } = filter;
  const { startedAtMs } = receipt;
  const fails = isFailed(receipt);
  const code = fails ? receipt.attempts.at(-1)?.outcome : undefined;
  return startedAtMs >= fromMs && startedAtMs < untilMs &&
    (keyId === undefined || receipt.keyId === keyId) &&
    (model === undefined || receipt.model === model) &&
    (tag === undefined || receipt.tags?.some(({ value }) => value === tag.value) === true) &&
    (error === undefined || (error === "family:provider" ? fails : code === error)) &&
    (status === undefined || (status === "ok" && !fails) || (status === "error" && fails) ||
      (status === "5xx" && receipt.status >= 500) || status === String(receipt.status));
}

const whole = { fromMs: firstDayMs, untilMs: firstDayMs + (days + 1) * dayMs };

async function everyPage(
  next: (before: RequestId | undefined) => ReturnType<typeof takeCalls>,
): Promise<RequestId[]> {
  const ids: RequestId[] = [];
  let before: RequestId | undefined;
  do {
    const page = await next(before);
    ids.push(...page.calls.map(({ requestId }) => requestId));
    before = page.next;
  } while (before !== undefined);
  return ids;
}

/** Tests searches over a store whose first days are in an archive. */
function testSearches(name: string, open: () => Promise<Parts & AsyncDisposable>, runs: number) {
  Deno.test({
    name:
      `${name}: every filter finds the calls of store and archive that fit, each once, newest first`,
    // The driver's timers outlive a connection by some milliseconds.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await fc.assert(
        fc.asyncProperty(
          fc.array(anyCall, { maxLength: 60 }),
          fc.record({
            archived: fc.nat({ max: days }),
            onTheWay: fc.nat({ max: 4 }),
            count: fc.integer({ min: 1, max: 9 }),
            fromDay: fc.nat({ max: days }),
            untilDay: fc.nat({ max: days }),
            some: fc.shuffledSubarray([...filters], { minLength: 4, maxLength: 4 }),
          }),
          async (made, { archived, onTheWay, count, fromDay, untilDay, some }) => {
            await using parts = await open();
            const receipts = made.map(receiptFor)
              .sort((a, b) => ascending(b.requestId, a.requestId));
            await write(parts.living, receipts);
            for (let day = 0; day < archived; day++) {
              const name = vietnamDay(firstDayMs + day * dayMs);
              await copyDay(parts, name, day < archived - onTheWay);
            }
            const kv = archivedStore(parts.living, parts.archive);
            const range = {
              fromMs: firstDayMs + Math.min(fromDay, untilDay) * dayMs,
              untilMs: firstDayMs + Math.max(fromDay, untilDay) * dayMs,
            };
            for (
              const filter of some.flatMap((one) => [{ ...whole, ...one }, { ...range, ...one }])
            ) {
              const expected = receipts.filter((receipt) => fits(receipt, filter));
              const idsOf = (all: readonly Receipt[]) => all.map(({ requestId }) => requestId);
              const of = (accountId: AccountId) =>
                idsOf(expected.filter((receipt) => receipt.accountId === accountId));
              const what = JSON.stringify(filter);
              for (const accountId of accounts) {
                const asked = { ...filter, accountId };
                const pages = (before?: RequestId) => takeCalls(kv, { ...asked, before }, count);
                assertEquals(await everyPage(pages), of(accountId), what);
                if (filter.status !== undefined || filter.error !== undefined) continue;
                const exported = await Array.fromAsync(scanReceipts(kv, asked));
                assertEquals(idsOf(exported), of(accountId), what);
              }
              const all = (before?: RequestId) => takeCallsOfAll(kv, { ...filter, before }, count);
              assertEquals(await everyPage(all), idsOf(expected), what);
            }
          },
        ),
        { numRuns: runs },
      );
    },
  });
}

testSearches("SQLite", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const living = await Deno.openKv(":memory:");
  const archive = await openSqliteArchive(folder);
  return {
    living,
    archive,
    async [Symbol.asyncDispose]() {
      living.close();
      await archive.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}, 12);

const programs = await postgresPrograms();
if (programs === undefined) {
  Deno.test.ignore("PostgreSQL is not installed: searches of its archive", () => {});
} else {
  const server = await startPostgres(programs, { fsync: "off" });
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  const open = async () => {
    const url = await server.makeDatabase();
    const opened = await openStore({ kind: "postgres", url }, systemClock);
    assert(opened.ok, "a store");
    const archive = await openPostgresArchive({ url, clock: systemClock });
    return {
      living: opened.store.kv,
      archive,
      async [Symbol.asyncDispose]() {
        await archive.close();
        opened.store[Symbol.dispose]();
      },
    };
  };
  testSearches("PostgreSQL", open, 2);

  Deno.test({
    name:
      "PostgreSQL: a page, a search that finds nothing and a part of an export take few statements",
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using parts = await open();
      // In every sixth hour a call of the first account.
      const receipts = Array.from({ length: days * 4 }, (_, call) =>
        receiptFor({
          atMs: firstDayMs + 6 * call * hourMs + 60_000,
          account: 0,
          key: 0,
          model: "premium-1",
          end: call % 20 === 7 ? "timeout" : "answered",
          isTagged: false,
        }));
      await write(parts.living, receipts);
      for (let day = 0; day < 30; day++) {
        await copyDay(parts, vietnamDay(firstDayMs + day * dayMs), true);
      }
      const kv = archivedStore(parts.living, parts.archive);
      const accountId = accounts[0]!;
      const idAt = (day: number) => beforeIdsOf("request", firstDayMs + day * dayMs) as RequestId;
      const page = (filter: Partial<CallFilter>, count = 50) =>
        statementsOf(() => takeCalls(kv, { ...whole, accountId, ...filter }, count));
      const newest = await page({});
      assertEquals(newest.answer.calls.length, 50);
      const archived = await page({ before: idAt(20) });
      assertEquals(archived.answer.calls.length, 50);
      const ofBoth = await page({ before: idAt(31) });
      assertEquals(ofBoth.answer.calls.length, 50);
      const nothing = await page({ model: "no-such-model" });
      assertEquals([nothing.answer.calls.length, nothing.answer.next], [0, undefined]);
      const failed = await page({ error: "upstream_timeout" });
      assertEquals(failed.answer.calls.length, receipts.filter(isFailed).length);
      const ofAll = await statementsOf(() => takeCallsOfAll(kv, whole, 50));
      const exported = await statementsOf(() =>
        Array.fromAsync(scanReceipts(kv, { ...whole, accountId }))
      );
      assertEquals(exported.answer.length, receipts.length);
      // Batches, index, pages, archive, refused calls; a filter asks for sums instead of calls that do not fit.
      const bounds = {
        newest: 5,
        archived: 5,
        ofBoth: 5,
        ofAll: 5,
        nothing: 6,
        failed: 12,
        exported: 10,
      };
      const seen = { newest, archived, ofBoth, nothing, failed, ofAll, exported };
      for (const [name, { statements }] of Object.entries(seen)) {
        const bound = Object.entries(bounds).find(([of]) => of === name)?.[1] ?? 0;
        assert(statements <= bound, `${name}: ${statements} statements`);
      }
    },
  });
}

/** Counts the statements of a reading. */
async function statementsOf<Answer>(
  read: () => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly statements: number }> {
  const { query } = Pool.prototype;
  let statements = 0;
  Pool.prototype.query = function (...asked) {
    statements++;
    return query.apply(this, asked);
  };
  try {
    return { answer: await read(), statements };
  } finally {
    Pool.prototype.query = query;
  }
}
