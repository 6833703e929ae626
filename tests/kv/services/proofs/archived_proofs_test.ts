/** Signed days are verified where their receipts are: in the archive, and by their chunks once a month was dropped. */
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import { openSqliteArchive } from "../../../../kv/money/archive/sqlite_archive.ts";
import { dropMonths } from "../../../../kv/services/archive/drop_months.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { verifyAndSign } from "../../../../kv/services/proofs/verify_and_sign.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { origin } from "./signed_world.ts";

/** Days of the world: three months and some. */
const days = 100;

/** A world with a call every fifth day, all of whose days are signed and archived. */
async function archivedWorld(folder: string) {
  const world = await BooksWorld.open();
  const { kv, masterKeys } = world;
  const archive = await openSqliteArchive(folder);
  const whole = archivedStore(kv, archive);
  const verified = async (isFull: boolean) => {
    const { books, proofs } = await verifyAndSign(whole, {
      ...{ masterKeys, origin, isFull, nowMs: world.nowMs },
      pause: () => Promise.resolve(),
    });
    return { lines: problemLines(books), proofs };
  };
  await world.topUp(world.ann, 10_000n);
  for (let day = 0; day < days; day += 5) {
    await world.call(world.ann, 10n);
    world.advance(5 * dayMs);
    assertEquals((await verified(false)).lines, []);
  }
  const { checkpoints } = await readChain(kv, masterKeys);
  const { problems } = await moveDays({ living: kv, archive }, {
    checkpoints,
    nowMs: world.nowMs,
  });
  assertEquals(problems, []);
  const months = [...new Set(checkpoints.map(({ day }) => day.slice(0, 7)))];
  return { world, archive, verified, months, parts: { living: kv, archive } };
}

Deno.test("proofs are verified with the archive, and without the receipts that were dropped", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-proofs-" });
  const { world, archive, verified, months, parts } = await archivedWorld(folder);
  try {
    const [first = "", second = "", third = ""] = months;
    const before = await verified(true);
    assertEquals([before.lines, before.proofs.verified?.receipts], [[], days / 5]);
    const { masterKeys, nowMs, kv } = world;
    const dropped = await dropMonths(parts, { masterKeys, keptFrom: third, nowMs });
    assert(dropped.ok && dropped.months.length === 2, "two months are dropped");
    const after = await verified(true);
    assertEquals(after.lines, []);
    assertEquals(after.proofs.verified?.days, before.proofs.verified?.days);
    assert((after.proofs.verified?.receipts ?? 0) < days / 5, "some receipts are gone");
    // Of what was dropped the chunks still lead to the signed roots.
    const chunks = kv.list<string>({ prefix: ["proof_chunk"] });
    const of = (month: string) => ({ key }: Deno.KvEntry<string>) =>
      String(key[1]).startsWith(month) && key[2] === "receipts";
    const all = await Array.fromAsync(chunks);
    const chunk = all.find(of(first)) ?? all.find(of(second));
    assert(chunk !== undefined, "a chunk of a dropped month");
    const wrong = `proof: the chunks of the receipts of ${String(chunk.key[1])} do not lead to ` +
      "the signed root";
    await kv.set(chunk.key, chunk.value.replace(/.$/, (digit) => digit === "0" ? "1" : "0"));
    assertEquals((await verified(true)).lines, [wrong]);
    await kv.delete(chunk.key);
    assertEquals((await verified(true)).lines, [wrong]);
    await kv.set(chunk.key, chunk.value);
    const lost = ["proof_day", vietnamDay(Date.parse(`${second}-15T00:00:00Z`))];
    const row = await kv.get(lost);
    assert(row.value !== null, "a signed day of a dropped month");
    await kv.delete(lost);
    assertEquals((await verified(true)).lines, [`proof: the signed day ${lost[1]} is missing`]);
    await kv.set(lost, row.value);
    assertEquals((await verified(true)).lines, []);
    // A receipt in the archive that says another number of tokens.
    const { DatabaseSync } = await import("node:sqlite");
    const month = (await archive.months()).find(({ receipts }) => receipts > 0)?.month ?? "";
    using db = new DatabaseSync(`${folder}/${month}.sqlite`);
    db.exec("update receipts set output_tokens = output_tokens + 1");
    const changed = (await verified(true)).lines.filter((line) => line.startsWith("proof: "));
    assert(changed.length > 0 && changed.every((line) => line.includes("are not those that were")));
  } finally {
    await archive.close();
    await world[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  }
});
