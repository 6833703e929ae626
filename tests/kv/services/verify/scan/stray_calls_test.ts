import { assertEquals } from "../../../../support/assert.ts";
import type { AccountId } from "../../../../../core/lib/ids/ids.ts";
import { ScanSums } from "../../../../../kv/services/verify/scan/scan_sums.ts";
import { strayCalls } from "../../../../../kv/services/verify/scan/stray_calls.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";
import { copyReceipt, payerOf } from "../damages.ts";

const bounds = { startId: "", recentStart: "" };

/** Looks at some accounts as if their receipts and index had differed. */
function lookAt(world: BooksWorld, accounts: readonly AccountId[], callsAtOnce: number) {
  const sums = new ScanSums();
  for (const accountId of accounts) sums.tally(accountId).oldIndexPrint = 1;
  return strayCalls(world.kv, sums.tallies, { bounds, slices: undefined, callsAtOnce });
}

for (const callsAtOnce of [2, 5, 1_000]) {
  Deno.test(`stray calls are found in parts: ${callsAtOnce} calls in memory`, async () => {
    await using world = await BooksWorld.used();
    await world.settle(world.ann, 30n);
    const { kv, ann, bob } = world;
    assertEquals(await lookAt(world, [ann, bob], callsAtOnce), []);
    const missing = new Map<AccountId, number>();
    for (const at of [2, 4]) {
      const row = await world.row(["receipt"], at);
      await kv.delete(row.key);
      missing.set(payerOf(row), (missing.get(payerOf(row)) ?? 0) + 1);
    }
    const extra = await world.row(["receipt"], 5);
    await copyReceipt(kv, extra);
    const expected = [
      ...[...missing].map(([id, calls]) => `${id}: ${calls} receipts are missing`),
      `${payerOf(extra)}: receipts and index differ`,
    ];
    const found = await lookAt(world, [ann, bob], callsAtOnce);
    assertEquals(
      found.map(({ accountId, detail }) => `${accountId}: ${detail}`).sort(),
      expected.sort(),
    );
  });
}
