import { listAllReceipts } from "../../../support/worlds/money_world.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { keptFromOf } from "../../../../core/config/retention.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { keptBalancesHeadKey } from "../../../../kv/engine/schema/keys.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { dropMonths, planDrop } from "../../../../kv/services/archive/drop_months.ts";
import type { StoreParts } from "../../../../kv/money/archive/receipt_archive.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { daysWithFiles } from "../../../../kv/services/backup/sealed_day_rows.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { resealDays } from "../../../../kv/services/verify/verify_books.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import type { TestArchive } from "./moving.ts";

/** A world with calls every fifth day of four months, whose days but those of the last month are archived. */
class MonthsWorld implements AsyncDisposable {
  readonly world: BooksWorld;
  readonly test: TestArchive;
  readonly parts: StoreParts;
  readonly whole: ReturnType<typeof archivedStore>;
  readonly months: readonly string[];

  private constructor(world: BooksWorld, test: TestArchive, months: readonly string[]) {
    this.world = world;
    this.test = test;
    this.months = months;
    this.parts = { living: world.kv, archive: test.archive };
    this.whole = archivedStore(world.kv, test.archive);
  }

  static async open(test: TestArchive): Promise<MonthsWorld> {
    const world = await BooksWorld.open();
    await world.topUp(world.ann, 10_000n);
    await world.topUp(world.bob, 10_000n);
    const months = new Set<string>();
    while (months.size < 4) {
      months.add(vietnamDay(world.nowMs).slice(0, 7));
      await world.call(world.ann, 10n);
      await world.call(world.bob, 20n);
      // The last minute of a day: calls of its end have their sums in the next one.
      await world.topUp(world.ann, 100n);
      world.advance(5 * dayMs);
    }
    const all = [...months];
    const opened = new MonthsWorld(world, test, all);
    assertEquals(problemLines(await world.verify()), []);
    await opened.move(all.at(-1) ?? "");
    return opened;
  }

  async move(before: string): Promise<void> {
    const { kv, masterKeys, nowMs } = this.world;
    const { checkpoints } = await readChain(kv, masterKeys);
    const some = checkpoints.filter(({ day }) => day < before);
    assertEquals((await moveDays(this.parts, { checkpoints: some, nowMs })).problems, []);
  }

  options(keptFrom: string) {
    const { masterKeys, nowMs } = this.world;
    return { masterKeys, keptFrom, nowMs };
  }

  async verified(): Promise<string[]> {
    const lines: string[] = [];
    for (const isFull of [false, true]) {
      lines.push(...problemLines(await this.world.verify({ kv: this.whole, isFull })));
    }
    return lines;
  }

  async firstReceiptDay(): Promise<string | undefined> {
    const all = await Array.fromAsync(listAllReceipts(this.whole));
    return all.map(({ startedAtMs }) => vietnamDay(startedAtMs)).sort()[0];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test[Symbol.asyncDispose]();
    await this.world[Symbol.asyncDispose]();
  }
}

/** Tests that months leave an archive, whatever it is made of. */
export function testDropping(
  name: string,
  openArchive: () => Promise<TestArchive>,
  options: Omit<Deno.TestDefinition, "name" | "fn"> = {},
): void {
  const test = (what: string, fn: () => Promise<void>) =>
    Deno.test({ name: `${name}: ${what}`, fn, ...options });
  const open = async () => await MonthsWorld.open(await openArchive());

  test("dropped months leave sums, ledger and balances, from which everything is verified", async () => {
    await using world = await open();
    const [first = "", second = "", third = ""] = world.months;
    const totals = await world.world.verify({ kv: world.whole, isFull: true });
    const plan = await planDrop(world.parts, world.options(second));
    assert(plan.ok, "it can be dropped");
    assertEquals(plan.months.map(({ month }) => month), [first]);
    assertEquals(await world.firstReceiptDay().then((day) => day?.slice(0, 7)), first);
    const bytes = async () => (await world.test.archive.months())[0]?.bytes ?? 0;
    const dropped = await dropMonths(world.parts, world.options(second));
    assertEquals(dropped.ok && dropped.months.length, 1);
    assert(await bytes() <= (plan.months[0]?.bytes ?? 0), "the disk is given back");
    assertEquals(await world.firstReceiptDay().then((day) => day?.slice(0, 7)), second);
    assertEquals(await world.verified(), []);
    const { chargedMicroVnd, ledgerMicroVnd, availableMicroVnd } = await world.world.verify({
      kv: world.whole,
      isFull: true,
    });
    assertEquals(
      [chargedMicroVnd, ledgerMicroVnd, availableMicroVnd],
      [totals.chargedMicroVnd, totals.ledgerMicroVnd, totals.availableMicroVnd],
    );
    // The next month goes the same way, from the balances that were kept.
    assert((await dropMonths(world.parts, world.options(third))).ok, "and the next one");
    assertEquals(await world.firstReceiptDay().then((day) => day?.slice(0, 7)), third);
    assertEquals(await world.verified(), []);
    assertEquals(await dropMonths(world.parts, world.options(third)), { ok: true, months: [] });
    // Balances that were kept before the last ones leave: they would grow by a copy of all accounts with each month.
    const [, , , last = ""] = world.months;
    world.world.advance(40 * dayMs);
    assertEquals(await world.verified(), []);
    await world.move("9999");
    assert((await dropMonths(world.parts, world.options(last))).ok, "and the last one");
    const pages = world.world.kv.list({ prefix: ["kept_balances"] });
    const days = await Array.fromAsync(pages, ({ key }) => key[1]);
    assertEquals(days, [`${third}-01`, `${last}-01`]);
    assertEquals(await world.verified(), []);
  });

  test("refunds of dropped calls are no fault, also when the account is refunded again", async () => {
    await using world = await open();
    const { kv, ann, nowMs } = world.world;
    const [, , third = ""] = world.months;
    const refund = async (receipt: Receipt | undefined) => {
      assert(receipt !== undefined, "a receipt");
      await refundCall(kv, receipt, { reason: "test", atMs: nowMs });
    };
    const all = await Array.fromAsync(listAllReceipts(world.whole));
    const ofAnn = all.filter(({ accountId }) => accountId === ann);
    await refund(ofAnn.at(-1));
    assertEquals(await world.verified(), []);
    assert((await dropMonths(world.parts, world.options(third))).ok, "two months are dropped");
    assertEquals(await world.verified(), []);
    await refund(ofAnn[0]);
    assertEquals(await world.verified(), []);
    // A sum of refunds that still has its calls is compared as before.
    const sums = await Array.fromAsync(kv.list<object>({ prefix: ["refunded", ann] }));
    const [dropped, later] = sums;
    assert(dropped !== undefined && later !== undefined, "a sum for each day");
    await kv.set(later.key, { refundedMicroVnd: 11n });
    assert((await world.verified()).some((line) => line.startsWith("refund: ")), "it differs");
  });

  test("sums of dropped months stay as they are when sums are rebuilt", async () => {
    await using world = await open();
    const { kv, ann, nowMs } = world.world;
    const [, , third = ""] = world.months;
    const sums = async () => await Array.fromAsync(kv.list({ prefix: ["usage", ann] }));
    const before = await sums();
    await dropMonths(world.parts, world.options(third));
    const rebuilt = await rebuildDaySums(world.whole, ann, { nowMs, afterDay: `${third}-01` });
    assertEquals(rebuilt, { corrected: 0, isMoving: false });
    assertEquals(await sums(), before);
  });

  test("days of dropped months cannot be sealed anew, and get no file of a backup", async () => {
    await using world = await open();
    const [, , third = ""] = world.months;
    const { kv, masterKeys, nowMs } = world.world;
    await dropMonths(world.parts, world.options(third));
    const report = { masterKeys, nowMs, pause: () => Promise.resolve() };
    await assertRejects(() => resealDays(world.whole, `${third}-01`, report), Error, "dropped");
    assertEquals(problemLines(await resealDays(world.whole, `${third}-03`, report)), []);
    const { days } = await daysWithFiles({ kv, masterKeys, nowMs });
    assertEquals(days[0]?.day, `${third}-01`);
    assertEquals(await world.verified(), []);
  });

  test("a month goes only if all its days are sealed and have left the store", async () => {
    await using world = await open();
    const last = world.months.at(-1) ?? "";
    const later = keptFromOf(vietnamDayStartMs(`${last}-15`) + 31 * dayMs, 0);
    const unsealed = await dropMonths(world.parts, world.options(later));
    assert(!unsealed.ok && unsealed.problem.includes("is not sealed"), "its days are to come");
    world.world.advance(40 * dayMs);
    assertEquals(problemLines(await world.world.verify({ kv: world.whole })), []);
    const refused = await dropMonths(world.parts, world.options(later));
    assert(
      !refused.ok && refused.problem.includes("still in the store"),
      "the last month is there",
    );
    assertEquals(await world.verified(), []);
  });

  test("sums that are not those of the seals drop nothing", async () => {
    await using world = await open();
    const [, second = ""] = world.months;
    await world.test.raiseDaySums();
    const refused = await dropMonths(world.parts, world.options(second));
    assert(!refused.ok && refused.problem.includes("sealed were"), "the charges differ");
    assertEquals(await world.verified(), []);
  });

  test("kept balances that were changed are found, and nothing more is dropped", async () => {
    await using world = await open();
    const [, second = "", third = ""] = world.months;
    await dropMonths(world.parts, world.options(second));
    const { kv } = world.world;
    const page = await world.world.row(["kept_balances", `${second}-01`]);
    await kv.set(
      page.key,
      String(page.value).replace(/\d$/m, (digit) => digit === "1" ? "2" : "1"),
    );
    assert((await world.verified()).some((line) => line.includes("kept balances")), "they differ");
    const refused = await dropMonths(world.parts, world.options(third));
    assert(!refused.ok && refused.problem.includes("kept balances"), "nothing is dropped");
    await kv.set(page.key, page.value);
    assertEquals(await world.verified(), []);
    const head = await kv.get<{ text: string }>(keptBalancesHeadKey());
    await kv.set(head.key, {
      ...head.value,
      text: head.value?.text.replace(second, first(second)),
    });
    assert(
      (await world.verified()).some((line) => line.includes("changed after")),
      "the head, too",
    );
  });
}

/** The month before. */
function first(month: string): string {
  return vietnamDay(vietnamDayStartMs(`${month}-01`) - dayMs).slice(0, 7);
}
