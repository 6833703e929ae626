/**
 * Stress tests of top-ups: floods, crashes between any two steps, and random mixtures, each checked
 * against the sums.
 */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BankNotice } from "../../../../core/trade/bank/bank_notice.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { listUnmatched } from "../../../../kv/money/payments/bank_notices.ts";
import { checkTopups } from "../../../../kv/money/payments/topup_checks.ts";
import { getTopupOrder } from "../../../../kv/money/payments/topups.ts";
import { type Fault, faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import { notice, topupWorld } from "../../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

Deno.test("fifty deliveries of one notice at once credit once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const event = notice((await world.order(ann)).code);
  const results = await Promise.all(
    Array.from({ length: 50 }, () => world.intake.take(event, "{}")),
  );
  assertEquals(results.filter((result) => result === "new").length, 1);
  assertEquals(results.filter((result) => result === "known").length, 49);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});

Deno.test("fifty deliveries through ten processes credit once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const event = notice((await world.order(ann)).code);
  // Each intake has a queue of its own, like a process: only the store coordinates them.
  const processes = Array.from({ length: 10 }, () => world.intakeOver(kv));
  await Promise.all(
    Array.from({ length: 50 }, (_, at) => processes[at % 10]!.take(event, "{}")),
  );
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});

Deno.test("thirty different notices of one sum through ten processes are all credited", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const processes = Array.from({ length: 10 }, () => world.intakeOver(kv));
  const events = Array.from({ length: 30 }, () => notice(code));
  await Promise.all(events.map((event, at) => processes[at % 10]!.take(event, "{}")));
  while ((await listUnmatched(kv, 1)).length > 0) await world.intake.sweep();
  assertEquals(await world.balanceVnd(ann.id), 30 * 200_000);
  assertEquals((await getTopupOrder(kv, code)).value?.receivedMicroVnd, fromVnd(6_000_000));
  assertEquals(await world.findings(), []);
});

Deno.test("different sums for one order through ten processes all count", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const processes = Array.from({ length: 10 }, () => world.intakeOver(kv));
  // Unlike equal sums, these share no guard of movements: only the row of the order keeps its sum
  // right.
  const events = Array.from({ length: 10 }, (_, at) => notice(code, { amountVnd: 10_000 + at }));
  await Promise.all(events.map((event, at) => processes[at]!.take(event, "{}")));
  while ((await listUnmatched(kv, 1)).length > 0) await world.intake.sweep();
  assertEquals((await getTopupOrder(kv, code)).value?.receivedMicroVnd, fromVnd(100_045));
  assertEquals(await world.balanceVnd(ann.id), 100_045);
  assertEquals(await world.findings(), []);
});

Deno.test("an account that is deleted while its money arrives is not credited afterwards", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const event = notice((await world.order(ann)).code);
    let deleted = false;
    // The account is deleted at the last moment before the commit.
    const view = faultyKv(kv, () => "none");
    const racing = new Proxy(view, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (property !== "get" || typeof value !== "function") return value;
        return async (...args: Parameters<KeyValueStore["get"]>) => {
          const entry = await target.get(...args);
          if (args[0][0] === "account" && !deleted) {
            deleted = true;
            await forgetPerson(kv, ann.id, world.nowMs);
          }
          return entry;
        };
      },
    });
    await world.intakeOver(racing).take(event, "{}");
    const state = await world.state(event);
    assertEquals(state?.kind === "review" ? state.reason : state?.kind, "account_closed");
    assertEquals(await world.balanceVnd(ann.id), 0);
  }
});

Deno.test("webhook, list and statement at the same moment through three processes credit once", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const told: BankNotice[] = [
      notice(code, { reference: "R1" }),
      notice(code, { reference: "R1", source: "sepay-poll" }),
      notice(code, { reference: "R1", source: "csv", at: "20/11/2026" }),
    ];
    await Promise.all(told.map((event) => world.intakeOver(kv).take(event, "{}")));
    while ((await listUnmatched(kv, 1)).length > 0) await world.intake.sweep();
    assertEquals(await world.balanceVnd(ann.id), 200_000);
    assertEquals(await world.findings(), []);
  }
});

Deno.test("notices of one movement without a code, at the same moment, are one item for staff", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const told: BankNotice[] = [
      notice("nap tien", { reference: "R1" }),
      notice("nap tien", { reference: "R1", source: "sepay-poll" }),
      notice("nap tien", { reference: "R1", source: "csv", at: "20/11/2026" }),
    ];
    // No order and no wallet is written here: only the guard of the movement keeps the three apart.
    await Promise.all(told.map((event) => world.intakeOver(kv).take(event, "{}")));
    while ((await listUnmatched(kv, 1)).length > 0) await world.intake.sweep();
    const { totals, problems } = await checkTopups(kv, world.nowMs);
    assertEquals(totals.suspenseMicroVnd, fromVnd(200_000));
    assertEquals(totals.movements, 1);
    assertEquals(problems, []);
  }
});

/** Repeats deliveries until they are acknowledged, as a provider does; then runs the sweep. */
async function deliverUntilTaken(
  world: ReturnType<typeof topupWorld>,
  faulty: KeyValueStore,
  event: BankNotice,
): Promise<void> {
  for (let attempt = 0; attempt < 8; attempt++) {
    try {
      await world.intakeOver(faulty).take(event, "{}");
      break;
    } catch (error) {
      assert(error instanceof StoreFault, String(error));
    }
  }
  while ((await listUnmatched(world.kv, 1)).length > 0) {
    // If the store fails while the list is read, the next sweep tries again.
    await world.intakeOver(faulty).sweep().catch((error) => assert(error instanceof StoreFault));
  }
}

Deno.test("a process that dies at any call is finished by the next one", async () => {
  for (const lastCall of ["before", "after"] as const) {
    for (let diesAt = 0; diesAt < 200; diesAt++) {
      using kv = await Deno.openKv(":memory:");
      const world = topupWorld(kv);
      const ann = await world.customer("ann");
      const event = notice((await world.order(ann)).code);
      let calls = 0;
      const dying = faultyKv(kv, (): Fault => {
        const at = calls++;
        return at < diesAt ? "none" : at === diesAt ? lastCall : "before";
      });
      const taken = await world.intakeOver(dying).take(event, "{}").then(() => true, () => false);
      // The provider repeats only what was not acknowledged; the new process sweeps first.
      const next = world.intakeOver(kv);
      await next.sweep();
      if (!taken) await next.take(event, "{}");
      assertEquals(await world.balanceVnd(ann.id), 200_000, `${lastCall} call ${diesAt}`);
      assertEquals(await world.findings(), [], `${lastCall} call ${diesAt}`);
      if (calls <= diesAt) break;
      assert(diesAt < 199, "the path ends");
    }
  }
});

Deno.test("a crash before or after any single call of the store loses and doubles nothing", async () => {
  for (const fault of ["before", "after"] as const) {
    for (let crashAt = 0; crashAt < 200; crashAt++) {
      using kv = await Deno.openKv(":memory:");
      const world = topupWorld(kv);
      const ann = await world.customer("ann");
      const { code } = await world.order(ann);
      let calls = 0;
      const faulty = faultyKv(kv, (): Fault => calls++ === crashAt ? fault : "none");
      await deliverUntilTaken(world, faulty, notice(code));
      assertEquals(await world.balanceVnd(ann.id), 200_000, `${fault} call ${crashAt}`);
      assertEquals(await world.findings(), [], `${fault} call ${crashAt}`);
      // Ends when no call was left to fail: the whole path was tested.
      if (calls <= crashAt) {
        assert(crashAt > 8, "the path has steps to fail at");
        break;
      }
      assert(crashAt < 199, "the path ends");
    }
  }
});

Deno.test("a store that fails at random loses and doubles nothing", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const bob = await world.customer("bob");
    const orders = [await world.order(ann), await world.order(bob)];
    let state = seed;
    const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const faulty = faultyKv(kv, (): Fault => {
      const draw = random();
      return draw < 0.1 ? "before" : draw < 0.2 ? "after" : "none";
    });
    const told = orders.flatMap(({ code }, at) => [
      notice(code, { reference: `R${at}` }),
      notice(code, { reference: `R${at}`, source: "sepay-poll" }),
      notice(code, { reference: `R${at}`, source: "csv", at: "20/11/2026" }),
    ]);
    for (const event of told) await deliverUntilTaken(world, faulty, event);
    await world.intake.sweep();
    for (const event of told) await world.intake.take(event, "{}");
    assertEquals(await world.balanceVnd(ann.id), 200_000, `seed ${seed}`);
    assertEquals(await world.balanceVnd(bob.id), 200_000, `seed ${seed}`);
    assertEquals(await world.findings(), [], `seed ${seed}`);
  }
});

/** One movement of the model: which sources report it, and how often. */
const movement = fc.record({
  customer: fc.nat(2),
  amountVnd: fc.constantFrom(100_000, 200_000, 350_001),
  minute: fc.nat(50),
  memo: fc.constantFrom("code", "lower", "split", "none"),
  told: fc.uniqueArray(fc.constantFrom("sepay", "sepay-poll", "csv"), {
    minLength: 1,
    maxLength: 3,
  }),
  deliveries: fc.integer({ min: 1, max: 3 }),
});

Deno.test("any mixture of movements, sources, repetitions and orders ends in the same balances", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(movement, { minLength: 1, maxLength: 8 }),
      fc.infiniteStream(fc.nat(1_000_000)),
      async (movements, shuffle) => {
        using kv = await Deno.openKv(":memory:");
        const world = topupWorld(kv);
        const customers = await Promise.all([0, 1, 2].map((at) => world.customer(`c${at}`)));
        const orders = await Promise.all(customers.map((account) => world.order(account)));
        const expected = [0, 0, 0];
        const deliveries: { event: BankNotice; rank: number }[] = [];
        movements.forEach((one, at) => {
          const code = orders[one.customer]!.code;
          const memo = {
            code,
            lower: code.toLowerCase(),
            split: `${code.slice(0, 5)} ${code.slice(5)}`,
            none: "chuyen tien",
          }[one.memo];
          if (one.memo !== "none") expected[one.customer]! += one.amountVnd;
          for (const source of one.told) {
            const event = notice(memo, {
              source,
              amountVnd: one.amountVnd,
              reference: `M${at}`,
              at: source === "csv"
                ? "20/11/2026"
                : `2026-11-20 14:${String(one.minute).padStart(2, "0")}:0${at}`,
            });
            for (let time = 0; time < one.deliveries; time++) {
              deliveries.push({ event, rank: shuffle.next().value ?? 0 });
            }
          }
        });
        deliveries.sort((left, right) => left.rank - right.rank);
        for (const { event } of deliveries) await world.intake.take(event, "{}");
        const check = await checkTopups(kv, world.nowMs);
        assertEquals(check.problems, []);
        // A statement without a reference in common with a webhook may wait for a person, so
        // balances may lag. They may never exceed what was paid, and nothing may be missing from
        // the sums.
        for (const [at, account] of customers.entries()) {
          assert(await world.balanceVnd(account.id) <= expected[at]!, "never more than was paid");
        }
        const paid = movements.reduce((sum, one) => sum + BigInt(one.amountVnd), 0n) * 1_000_000n;
        assert(check.totals.receivedMicroVnd >= paid, "no movement was dropped");
        const onlyWebhooks = movements.every(({ told }) => !told.includes("csv"));
        if (onlyWebhooks) {
          assertEquals(check.totals.receivedMicroVnd, paid);
          for (const [at, account] of customers.entries()) {
            assertEquals(await world.balanceVnd(account.id), expected[at]!);
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});
