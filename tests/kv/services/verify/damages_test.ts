import { assert, assertEquals } from "../../../support/assert.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import type { Problem } from "../../../../kv/services/verify/checks/problems.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { damages, type Use } from "./damages.ts";

const pause = () => Promise.resolve();

/** Verifies with this many accounts and day sums in memory, and returns what was found. */
const uses: Record<Use, (world: BooksWorld, rows: number) => Promise<readonly Problem[]>> = {
  full: async ({ kv }, rowsAtOnce) => {
    const report = await verifyStore(kv, { rowsAtOnce, pause });
    assertEquals(report.ok, report.problems.length === 0);
    return report.problems;
  },
  sealed: async (world, rowsAtOnce) => {
    const report = await world.verify({ rowsAtOnce });
    assertEquals([report.ok, report.full], [report.problems.length === 0, false]);
    if (!report.ok) assertEquals(report.sealedNow, []);
    return report.problems;
  },
};

/** Calls of four days, the first two of them sealed for `sealed`, and one of today that no index names. */
async function worldFor(use: Use): Promise<BooksWorld> {
  const world = await BooksWorld.used();
  if (use === "sealed") {
    const report = await world.verify({ nowMs: world.nowMs - dayMs });
    assertEquals([problemLines(report), report.sealedNow.length], [[], 2]);
  }
  await world.settle(world.ann, 30n);
  return Object.assign(world, { row: world.row.bind(world) });
}

for (const use of ["full", "sealed"] as const) {
  for (const { name, kinds, line, outside, plant } of damages) {
    const reason = outside?.[use];
    Deno.test(`${use}: ${name} is ${reason === undefined ? "found" : `outside: ${reason}`}`, async () => {
      const world = await worldFor(use);
      try {
        const account = await plant(world);
        for (const rows of [1, 1_000]) {
          const problems = await uses[use](world, rows);
          const texts = problems.map((one) =>
            `${one.accountId ?? "store"} ${one.kind}: ${one.detail}`
          );
          const found = new Set(problems.map((one) => `${one.accountId ?? "store"} ${one.kind}`));
          for (const kind of kinds) {
            const isFound = found.has(`${account} ${kind}`);
            assertEquals(isFound, reason === undefined, `${account} ${kind}\n${texts.join("\n")}`);
          }
          if (use !== "sealed" || line === undefined) continue;
          assert(texts.some((text) => line.test(text)), texts.join("\n"));
        }
      } finally {
        await world[Symbol.asyncDispose]();
      }
    });
  }
}
