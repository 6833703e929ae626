import { assertEquals, assertMatch } from "../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { resealDays } from "../../../../kv/services/verify/verify_books.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";

/** Three sealed days of which the second has lost its checkpoint. */
async function brokenChain() {
  const world = await BooksWorld.used();
  const masterKeys = await readMasterKeys(newMasterKey());
  const { sealedNow: days } = await world.verify({ masterKeys });
  await world.kv.delete(["checkpoint", days[1] ?? ""]);
  const broken = await world.verify({ masterKeys });
  assertEquals(problemLines(broken), [`seal: the checkpoint of ${days[1]} is missing`]);
  return { world, days, options: { masterKeys, nowMs: world.nowMs } };
}

Deno.test("days are sealed anew from a day on, and the act is in the audit log", async () => {
  const { world, days, options } = await brokenChain();
  await using _closed = world;
  const report = await resealDays(world.kv, days[1] ?? "", options);
  assertEquals([problemLines(report), report.sealedNow], [[], days.slice(1)]);
  assertEquals(problemLines(await world.verify(options)), []);
  const lines = await listAuditLines(world.kv, { count: 5 });
  assertEquals(lines.map(({ act, subject }) => [act, subject]), [["days_resealed", days[1]]]);
  assertMatch(lines[0]?.detail ?? "", /is missing$/);
});

Deno.test("nothing is sealed anew while money is wrong", async () => {
  const { world, days, options } = await brokenChain();
  await using _closed = world;
  const row = await world.row(["wallet"]);
  await world.kv.set(row.key, { availableMicroVnd: 1n });
  const report = await resealDays(world.kv, days[0] ?? "", options);
  assertEquals([report.ok, report.sealedNow], [false, []]);
  await world.kv.set(row.key, row.value);
  assertEquals(problemLines(await world.verify(options)), [
    `seal: the checkpoint of ${days[1]} is missing`,
  ]);
});

Deno.test("the first day may be sealed anew, too", async () => {
  const { world, days, options } = await brokenChain();
  await using _closed = world;
  const report = await resealDays(world.kv, days[0] ?? "", options);
  assertEquals([problemLines(report), report.sealedNow], [[], days]);
});

Deno.test("a day of which later ones were sealed in other nights is sealed anew with them", async () => {
  await using world = await BooksWorld.open();
  await world.topUp(world.ann, 10_000n);
  for (let night = 0; night < 5; night++) {
    await world.call(world.ann, 10n);
    world.nextDay();
    const { sealedNow } = await world.verify();
    assertEquals(sealedNow.length, 1);
  }
  const { sealed } = await world.verify();
  const { masterKeys, nowMs } = world;
  const day = vietnamDay(nowMs - 3 * dayMs);
  const report = await resealDays(world.kv, day, {
    masterKeys,
    nowMs,
    pause: () => Promise.resolve(),
  });
  assertEquals([problemLines(report), report.sealedNow.length], [[], 3]);
  assertEquals(report.sealed?.day, sealed?.day);
  for (const isFull of [false, true]) {
    assertEquals(problemLines(await world.verify({ isFull })), []);
  }
});
