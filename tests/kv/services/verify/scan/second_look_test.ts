import { assertEquals } from "../../../../support/assert.ts";
import type { AccountId } from "../../../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { DayBalancePages } from "../../../../../kv/services/verify/days/day_balances.ts";
import { Scan } from "../../../../../kv/services/verify/scan/scan.ts";
import { recheck } from "../../../../../kv/services/verify/scan/second_look.ts";
import { recentIdsStart, scanBounds } from "../../../../../kv/services/verify/scan/scan_sums.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";

// deno-lint-ignore require-yield
async function* nothing(): AsyncGenerator<never> {
  await Promise.resolve();
}

/** Scans a store of which nothing is sealed, and looks again at some accounts, whether the scan suspects them or not. */
async function looksWrong(
  { kv }: { readonly kv: KeyValueStore },
  suspects: readonly AccountId[],
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<AccountId[]> {
  const recentStart = await recentIdsStart(kv);
  const bounds = scanBounds({ startMs: undefined, closedEndMs: 0, recentStart });
  const scan = new Scan(kv, {
    bounds,
    openings: nothing,
    from: undefined,
    rowsAtOnce: 100,
    closings: new DayBalancePages(),
    digests: undefined,
    claims: undefined,
    slices: undefined,
  });
  await scan.run();
  await meanwhile();
  const pause = () => Promise.resolve();
  return [
    ...await recheck(kv, suspects, { bounds, sums: scan.sums, slices: undefined, pause }),
  ];
}

Deno.test("charges that lease rows lack are left out, those that they have are counted", async () => {
  await using world = await BooksWorld.used();
  for (const cost of [3n, 5n]) await world.settle(world.ann, cost);
  await world.call(world.bob, 7n); // writes the lease rows
  for (const cost of [11n, 13n]) await world.settle(world.ann, cost);
  assertEquals(await looksWrong(world, [world.ann, world.bob]), []);
});

Deno.test("calls and top-ups after the scan do not make an account look wrong", async () => {
  await using world = await BooksWorld.used();
  const wrong = await looksWrong(world, [world.ann, world.bob], async () => {
    await world.call(world.ann, 3n);
    await world.topUp(world.ann, 1_000n);
    await world.settle(world.ann, 5n);
    await world.settle(world.bob, 5n);
  });
  assertEquals(wrong, []);
});

Deno.test("an account that is wrong stays so", async () => {
  await using world = await BooksWorld.used();
  const key = ["wallet", world.bob];
  const { value } = await world.kv.get<{ availableMicroVnd: bigint }>(key);
  await world.kv.set(key, { ...value, availableMicroVnd: (value?.availableMicroVnd ?? 0n) + 1n });
  await world.settle(world.ann, 5n);
  assertEquals(await looksWrong(world, [world.ann, world.bob]), [world.bob]);
});
