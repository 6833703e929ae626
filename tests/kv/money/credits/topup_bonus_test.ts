import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { CampaignTerms } from "../../../../core/trade/credits/campaign.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { pauseCampaign } from "../../../../kv/money/credits/campaigns.ts";
import { giveDueBonuses } from "../../../../kv/money/credits/topup_bonus.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { followCredited } from "../../../../kv/money/credits/credited_transfers.ts";
import { bonusDuePrefix } from "../../../../kv/engine/schema/keys.ts";
import { type Fault, faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import { campaign, campaignNow, creditStartMs } from "../../../support/worlds/credit_world.ts";
import { ledgerLines } from "../../../support/worlds/money_world.ts";
import { notice, topupWorld } from "../../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const now = { nowMs: creditStartMs + 60_000, spendGranted: "first" } as const;

function bonus(kv: KeyValueStore, some: Partial<CampaignTerms> = {}) {
  return campaign(kv, {
    kind: "bonus",
    name: "Tết",
    gift: { kind: "percent", percent: 10, capMicroVnd: fromVnd(50_000) },
    minTopupMicroVnd: fromVnd(100_000),
    budgetMicroVnd: fromVnd(1_000_000),
    perAccount: 100,
    ...some,
  });
}

function worldOn(kv: KeyValueStore) {
  return topupWorld(kv, { onCredited: followCredited });
}

async function duesOf(kv: KeyValueStore): Promise<number> {
  return (await Array.fromAsync(kv.list({ prefix: bonusDuePrefix() }))).length;
}

async function bonusLines(kv: KeyValueStore, accountId: AccountId): Promise<number[]> {
  const lines = await ledgerLines(kv, accountId);
  return lines.filter(({ kind }) => kind === "bonus")
    .map(({ amountMicroVnd }) => Number(amountMicroVnd / 1_000_000n));
}

Deno.test("a top-up gets its bonus once, however many instances decide about it at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = worldOn(kv);
  const { id } = await bonus(kv);
  const ann = await world.customer("ann");
  const event = notice((await world.order(ann)).code);
  await world.intake.take(event, "{}");
  const steps = await Promise.all(Array.from({ length: 6 }, () => giveDueBonuses(kv, now)));
  assertEquals(steps.reduce((sum, { given }) => sum + given, 0), 1);
  await world.intake.take(event, "{}");
  await giveDueBonuses(kv, now);
  assertEquals(await bonusLines(kv, ann.id), [20_000]);
  const line = (await ledgerLines(kv, ann.id)).at(-1);
  assertEquals(line?.operationId, `bonus:in:sepay:${event.id}`);
  assertEquals((await campaignNow(kv, id)).givenMicroVnd, fromVnd(20_000));
  assertEquals(await duesOf(kv), 0);
  assertEquals(await world.findings(), []);
});

Deno.test("the largest bonus of the time of the credit counts; smaller top-ups get none", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = worldOn(kv);
  await bonus(kv);
  const best = await bonus(kv, {
    gift: { kind: "amount", amountMicroVnd: fromVnd(30_000) },
    endsAtMs: creditStartMs + 1_000,
  });
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  for (const amountVnd of [99_999, 200_000]) {
    await world.intake.take(notice(code, { amountVnd }), "{}");
  }
  // Ended since, but not when the money arrived.
  await giveDueBonuses(kv, now);
  assertEquals(await bonusLines(kv, ann.id), [30_000]);
  await pauseCampaign(kv, best.id, true, { operator: commandLine, nowMs: now.nowMs });
  await world.intake.take(notice(code, { amountVnd: 250_000 }), "{}");
  await giveDueBonuses(kv, now);
  assertEquals(await bonusLines(kv, ann.id), [30_000, 25_000]);
  assertEquals(await duesOf(kv), 0);
});

Deno.test("when the budget of the best bonus is used up, the next best is given", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = worldOn(kv);
  await bonus(kv, { gift: { kind: "amount", amountMicroVnd: fromVnd(30_000) }, maxGrants: 1 });
  await bonus(kv);
  const { code } = await world.order(await world.customer("ann"));
  const bob = await world.customer("bob");
  const other = await world.order(bob);
  await world.intake.take(notice(code), "{}");
  await world.intake.take(notice(other.code), "{}");
  assertEquals(await giveDueBonuses(kv, now), { given: 2, waiting: 0 });
  assertEquals(await bonusLines(kv, bob.id), [20_000]);
});

Deno.test("without a campaign a top-up is decided about, too", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = worldOn(kv);
  const ann = await world.customer("ann");
  await world.intake.take(notice((await world.order(ann)).code), "{}");
  assertEquals(await duesOf(kv), 1);
  assertEquals(await giveDueBonuses(kv, now), { given: 0, waiting: 0 });
  assertEquals(await duesOf(kv), 0);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("a crash at any call of the credit or its bonus loses and doubles nothing", async () => {
  for (const fault of ["before", "after"] as const) {
    for (let crashAt = 0; crashAt < 100; crashAt++) {
      using kv = await Deno.openKv(":memory:");
      const world = worldOn(kv);
      const { id } = await bonus(kv);
      const ann = await world.customer("ann");
      const event = notice((await world.order(ann)).code);
      let calls = 0;
      const faulty = faultyKv(kv, (): Fault => calls++ === crashAt ? fault : "none");
      const expected = (error: Error) => {
        const isInjected = error instanceof StoreFault || error.cause instanceof StoreFault;
        assert(isInjected, error.message);
      };
      await world.intakeOver(faulty).take(event, "{}").catch(expected);
      await giveDueBonuses(faulty, now).catch(expected);
      await world.intake.take(event, "{}");
      await giveDueBonuses(kv, now);
      assertEquals(await bonusLines(kv, ann.id), [20_000], `${fault} call ${crashAt}`);
      assertEquals((await campaignNow(kv, id)).grants, 1);
      assertEquals(await world.findings(), [], `${fault} call ${crashAt}`);
      if (calls <= crashAt) break;
      assert(crashAt < 99, "the path ends");
    }
  }
});
