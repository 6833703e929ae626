import { assert, assertEquals } from "../../../../support/assert.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import {
  dayCopiesPrefix,
  daySumsPrefix,
  hourSumsPrefix,
} from "../../../../../kv/engine/schema/keys.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { runRandom } from "../../../../support/random.ts";
import { BooksWorld } from "../../../../support/worlds/books_world.ts";
import { draftOf, mustReserve } from "../../../../support/worlds/money_world.ts";

/** Calls of four days with costs of providers, two of each day and account, of the same model and of others. */
async function worldWithCosts(): Promise<BooksWorld> {
  const world = await BooksWorld.open();
  for (const account of [world.ann, world.bob]) await world.topUp(account, 10_000n);
  for (let day = 0; day < 4; day++) {
    if (day > 0) world.nextDay();
    for (const account of [world.ann, world.bob]) {
      for (const [at, model] of ["one", "one", "two"].entries()) {
        const startedAtMs = world.nowMs;
        const reservation = await mustReserve(world.wallet, account, 50n);
        await world.wallet.settle(
          reservation,
          draftOf(20n + BigInt(at), {
            requestId: newId("request", startedAtMs),
            startedAtMs,
            model,
            attempts: [{ route: "sandbox/some-model", outcome: "ok", ms: 5 }],
            providerCost: { kind: "known", card: "card", units: { input: 3 }, costMicroVnd: 5n },
          }),
        );
      }
    }
    await world.wallet.indexOnce();
  }
  return world;
}

const anyOf = <Item>(items: readonly Item[]): Item => {
  const item = items[Math.floor(runRandom() * items.length)];
  assert(item !== undefined);
  return item;
};

/** The same value with one number changed, each in turn. */
function changesOf(value: unknown): unknown[] {
  if (typeof value === "bigint") return [value + 1n];
  if (typeof value === "number") return [value + 1];
  if (typeof value === "string") {
    // Of a row of hours: the calls, tokens and money that a sum has, too.
    const [missing, line = ""] = value.split("\n");
    const cells = line.split("|");
    return [`${missing}\n${cells.with(1, String(Number(cells[1]) + 1)).join("|")}`];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    changesOf(part).map((other) => ({ ...value, [name]: other }))
  );
}

const kinds = { sum: daySumsPrefix(), copy: dayCopiesPrefix(), hours: hourSumsPrefix() };

for (const [kind, prefix] of Object.entries(kinds)) {
  Deno.test(`any ${kind} of a closed or open day that is changed, deleted or added is found`, async () => {
    await using world = await worldWithCosts();
    const { kv } = world;
    const problems = async (rowsAtOnce: number) => {
      const pause = () => Promise.resolve();
      const report = await verifyStore(kv, { rowsAtOnce, pause });
      return report.problems.map((problem) => problem.kind);
    };
    const rows = await Array.fromAsync(kv.list<unknown>({ prefix }));
    assertEquals(rows.length, 16);
    assertEquals(await problems(1_000), []);
    const whole = anyOf(rows);
    for (const [at, row] of rows.entries()) {
      const { key, value } = row;
      const rowsAtOnce = at % 2 === 0 ? 1_000 : 1;
      for (const other of row === whole ? changesOf(value) : [anyOf(changesOf(value))]) {
        await kv.set(key, other);
        assertEquals((await problems(rowsAtOnce))[0], "rollup", `${key} is ${Deno.inspect(other)}`);
      }
      await kv.set(key, value);
      const ghost = [...key.slice(0, -1), "ghost"];
      await kv.set(ghost, value);
      assertEquals((await problems(rowsAtOnce))[0], "rollup", `${ghost} was added`);
      await kv.delete(ghost);
      if (kind === "hours") continue; // They expire.
      await kv.delete(key);
      assertEquals((await problems(rowsAtOnce))[0], "rollup", `${key} was deleted`);
      await kv.set(key, value);
    }
    assertEquals(await problems(1_000), []);
  });
}

Deno.test("a sum that is gone with its copy and its hours is found", async () => {
  await using world = await worldWithCosts();
  const { kv } = world;
  const rows = await Promise.all(
    Object.values(kinds).map((prefix) => Array.fromAsync(kv.list<unknown>({ prefix }))),
  );
  const sum = anyOf(rows[0] ?? []);
  const parts = [...sum.key.slice(1)].sort().join();
  for (const { key } of rows.flat()) {
    if ([...key.slice(1)].sort().join() === parts) await kv.delete(key);
  }
  for (const rowsAtOnce of [1, 1_000]) {
    const { problems } = await verifyStore(kv, { rowsAtOnce, pause: () => Promise.resolve() });
    assertEquals(problems.map(({ kind }) => kind), ["rollup"]);
  }
});
