/** Sums by tag: written with the index, read with calls that are not in it, rebuilt, and verified. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { parseTag, parseTags, tagText } from "../../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { type ApiKeyId, newId } from "../../../../core/lib/ids/ids.ts";
import { tagSumKey } from "../../../../kv/engine/schema/keys.ts";
import { readTagUsage } from "../../../../kv/money/ledger/usage.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { daySumCell } from "../../../../kv/money/receipts/day_sums.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { wrongTagSums } from "../../../../kv/services/verify/checks/verify_tag_sums.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  newAccount,
  receiptOf,
  storeReceipts,
  topUp,
} from "../../../support/worlds/money_world.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { draftOf, mustReserve } from "../../../support/worlds/money_world.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const startMs = Date.UTC(2026, 10, 20);
const accountId = newAccount();
const keys: readonly ApiKeyId[] = [newId("apiKey", 1), newId("apiKey", 2)];
const range = { fromDay: "2026-11-01", toDay: "2026-11-30" };
const bounded = <T>(call: Promise<T>) => call;

async function indexAll(kv: KeyValueStore, receipts: readonly Receipt[]): Promise<void> {
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    assertEquals(await writeIndex(kv, chunk, { bounded }), "written");
  }
}

async function sumsOf(kv: KeyValueStore, key: string): Promise<Record<string, bigint>> {
  const sums: Record<string, bigint> = {};
  for (const { tag, day, usage } of await readTagUsage(kv, accountId, range, { key })) {
    const name = `${day} ${tagText(tag)}`;
    sums[name] = (sums[name] ?? 0n) + usage.costMicroVnd;
  }
  return sums;
}

function expected(receipts: readonly Receipt[], key: string): Record<string, bigint> {
  const sums: Record<string, bigint> = {};
  for (const receipt of receipts) {
    for (const tag of receipt.tags ?? []) {
      if (tag.key !== key) continue;
      const name = `${daySumCell(receipt).day} ${tagText(tag)}`;
      sums[name] = (sums[name] ?? 0n) + receipt.costMicroVnd;
    }
  }
  return sums;
}

const problems = async (kv: KeyValueStore) =>
  (await Array.fromAsync(wrongTagSums(kv, { today: "2026-11-25" }))).map(({ detail }) => detail);

const anyCall = fc.record({
  key: fc.constantFrom(...keys),
  model: fc.constantFrom("m", "n"),
  day: fc.integer({ min: 0, max: 2 }),
  cost: fc.bigInt({ min: 0n, max: 1_000n }),
  tags: fc.constantFrom(undefined, "team=a", "team=b", "env=x,team=a", "env=y,team=b,user=1"),
});

Deno.test("sums by tag are those of the receipts, however they were indexed", async () => {
  await fc.assert(fc.asyncProperty(
    fc.array(anyCall, { maxLength: 40 }),
    fc.integer({ min: 0, max: 40 }),
    async (calls, cut) => {
      using kv = await Deno.openKv(":memory:");
      const receipts = calls.map(({ key, model, day, cost, tags }, at) =>
        receiptOf(accountId, {
          requestId: newId("request", startMs + day * dayMs + at),
          startedAtMs: startMs + day * dayMs + at,
          keyId: key,
          model,
          costMicroVnd: cost,
          ...(tags !== undefined && { tags: parseTags(tags)! }),
        })
      );
      await storeReceipts(kv, receipts);
      await indexAll(kv, receipts.slice(0, cut));
      // A second time, as after a lost answer, together with the rest.
      await indexAll(kv, receipts);
      for (const key of ["team", "env", "user"]) {
        assertEquals(await sumsOf(kv, key), expected(receipts, key));
      }
      assertEquals(await problems(kv), []);
    },
  ));
});

Deno.test("a commit of the index stays within the store's bounds with ten tags of each call", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = Array.from({ length: 700 }, (_, at) => {
    const tags = Array.from({ length: 10 }, (_, n) => `t${n}=${"v".repeat(90)}${at}`).join();
    return receiptOf(accountId, {
      requestId: newId("request", startMs + at * 40),
      startedAtMs: startMs + at * 40,
      tags: parseTags(tags)!,
    });
  });
  for (let at = 0; at < receipts.length; at += 100) {
    await storeReceipts(kv, receipts.slice(at, at + 100));
  }
  await indexAll(kv, receipts);
  assertEquals(await sumsOf(kv, "t7"), expected(receipts, "t7"));
});

Deno.test("calls that are not in the index yet count, also by one tag", async () => {
  using kv = await Deno.openKv(":memory:");
  await topUp(kv, accountId, 1_000n);
  const clock = { nowMs: () => startMs, monotonicMs: () => startMs };
  const wallet = await openWalletEngine(kv, { clock });
  for (const tags of ["team=a", "team=b", "team=a,x=1"]) {
    const reservation = await mustReserve(wallet, accountId, 5n);
    const draft = { ...draftOf(5n), tags: parseTags(tags)! };
    await wallet.settle(reservation, draft);
  }
  const team = parseTag("team:a");
  assert(team !== undefined);
  const costs = async () =>
    (await readTagUsage(kv, accountId, range, team)).reduce(
      (sum, { usage }) => sum + usage.costMicroVnd,
      0n,
    );
  assertEquals(await costs(), 10n);
  await wallet.close();
  assertEquals(await costs(), 10n);
});

Deno.test("verification finds a wrong, a missing and a surplus sum, and rebuilding corrects them", async () => {
  using kv = await Deno.openKv(":memory:");
  const receipts = ["team=a", "team=b", "team=a"].map((tags, at) =>
    receiptOf(accountId, { requestId: newId("request", startMs + at), tags: parseTags(tags)! })
  );
  await storeReceipts(kv, receipts);
  await indexAll(kv, receipts);
  const cell = daySumCell(receipts[0]!);
  const rowOf = (value: string) => tagSumKey(cell, { key: "team", value });
  const right = await sumsOf(kv, "team");
  const row = (await kv.get<{ costMicroVnd: bigint }>(rowOf("a"))).value;
  const damages: [string, () => Promise<unknown>][] = [
    ["wrong", () => kv.set(rowOf("a"), { ...row, costMicroVnd: 1n })],
    ["missing", () => kv.delete(rowOf("b"))],
    ["surplus", () => kv.set(rowOf("c"), row)],
  ];
  for (const [name, damage] of damages) {
    assertEquals(await problems(kv), [], name);
    await damage();
    assertEquals((await problems(kv)).length, 1, name);
    const options = { nowMs: startMs + dayMs, afterDay: undefined };
    assertEquals(
      await rebuildDaySums(kv, accountId, options),
      { corrected: 1, isMoving: false },
      name,
    );
    assertEquals(await sumsOf(kv, "team"), right, name);
  }
});
