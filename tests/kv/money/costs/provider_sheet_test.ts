import { assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { formatCost, type RateCard, rateCard } from "../../../../core/billing/rate_card.ts";
import { providerCost } from "../../../../core/billing/provider_cost.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import {
  modelOfRoute,
  readProviderSheet,
  withoutDays,
} from "../../../../kv/money/costs/provider_sheet.ts";
import { groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { rateCardKey } from "../../../../kv/engine/schema/keys.ts";
import { newAccount, receiptOf, storeReceipts } from "../../../support/worlds/money_world.ts";

const currency = { code: "USD", vndPerUnit: 25_000 };
const cheap = rateCard({ currency, cost: { unit: "token", perMtok: "0.1" } });
const dear = rateCard({ currency, cost: { unit: "token", perMtok: "0.2" } });

function call(
  at: number,
  card: RateCard | undefined,
  input: number,
  route = "north/large",
): Receipt {
  const usage = { input, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
  return receiptOf(newAccount(), {
    requestId: newId("request", 0),
    startedAtMs: at,
    route,
    attempts: [{ route, outcome: "ok", ms: 1 }],
    providerCost: providerCost(card, { usage }),
  });
}

async function storeWith(receipts: readonly Receipt[]) {
  const kv = await Deno.openKv(":memory:");
  await storeReceipts(kv, receipts);
  for (const receipt of receipts) {
    await writeIndex(kv, groupReceipts([receipt]), { bounded: (call) => call });
  }
  for (const { id, terms } of [cheap, dear]) await kv.set(rateCardKey(id), terms);
  return kv;
}

const evening = Date.UTC(2026, 10, 20, 23, 59);
const night = Date.UTC(2026, 10, 21, 0, 1);

Deno.test("a sheet has UTC days, and a line for each model, bucket and rate", async () => {
  using kv = await storeWith([
    call(evening, cheap, 1_000_000),
    call(evening, cheap, 500_000),
    call(evening, dear, 300_000),
    call(night, dear, 100_000, "north/large#chat"),
    call(night, undefined, 5, "south/m"),
  ]);
  const first = await readProviderSheet(kv, { fromDay: "2026-11-20", toDay: "2026-11-20" });
  const inputs = first.lines.filter(({ bucket }) => bucket === "input")
    .map((
      { units, card, parts, costMicroVnd },
    ) => [card.id, units, formatCost(parts), costMicroVnd])
    .sort();
  assertEquals(
    inputs,
    [
      [cheap.id, 1_500_000, "0.15", 3_750_000_000n],
      [dear.id, 300_000, "0.06", 1_500_000_000n],
    ].sort(),
  );
  assertEquals(first.calls.map(({ provider, calls }) => [provider, calls]), [["north", 3]]);

  const both = await readProviderSheet(kv, { fromDay: "2026-11-20", toDay: "2026-11-21" });
  assertEquals(
    both.calls.map((
      { day, provider, calls, unknownCalls },
    ) => [day, provider, calls, unknownCalls]),
    [
      ["2026-11-20", "north", 3, 0],
      ["2026-11-21", "north", 1, 0],
      ["2026-11-21", "south", 1, 1],
    ],
  );
  const month = withoutDays(both.lines).find(({ bucket, card }) =>
    bucket === "input" && card.id === dear.id
  );
  assertEquals([month?.model, month?.units, formatCost(month?.parts ?? 0n)], [
    "large",
    400_000,
    "0.08",
  ]);
});

Deno.test("the name of a model may contain slashes, and a style is no part of it", () => {
  assertEquals(modelOfRoute("north/vendor/large#chat"), "vendor/large");
  assertEquals(modelOfRoute("north/large"), "large");
});
