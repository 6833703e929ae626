import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import type { ProviderCost, Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  addReceiptInPlace,
  addReceipts,
  addUsage,
  noUsage,
  type OwnSum,
  sameUsage,
} from "../../../../kv/money/receipts/day_sums.ts";
import {
  joinedCells,
  maxProviderParts,
  providerCellOf,
  type ProviderSums,
} from "../../../../kv/money/receipts/provider_sums.ts";
import { decodeReceipt, encodeReceipt } from "../../../../kv/money/receipts/receipt_codec.ts";
import { newAccount, receiptOf } from "../../../support/worlds/money_world.ts";

const accountId = newAccount();
const attempts = [{ route: "p/m", outcome: "ok", ms: 5 }];

function costing(providerCost: ProviderCost | undefined, some: Partial<Receipt> = {}): Receipt {
  return receiptOf(accountId, {
    attempts,
    ...(providerCost !== undefined && { providerCost }),
    ...some,
  });
}

const known = (costMicroVnd: bigint, units: Record<string, number>, card = "c"): ProviderCost => ({
  kind: "known",
  card,
  units,
  costMicroVnd,
});

Deno.test("a receipt keeps the cost of its call, and earlier receipts have none", () => {
  const costs: (ProviderCost | undefined)[] = [
    known(12n, { input: 5, "output.flex.long": 7 }),
    known(0n, {}),
    { kind: "unknown" },
    undefined,
  ];
  for (const cost of costs) {
    const receipt = costing(cost, { region: "vn" });
    const text = encodeReceipt(receipt);
    assertEquals(decodeReceipt(receipt.requestId, JSON.parse(text)), receipt);
    // Earlier releases read five elements of an attempt, and nothing else is where they do not expect it.
    assertEquals(JSON.parse(text).length, encodeParts(costing(undefined, { region: "vn" })));
  }
});

const encodeParts = (receipt: Receipt): number => JSON.parse(encodeReceipt(receipt)).length;

Deno.test("sums are equal however receipts are grouped and ordered, also beyond the bound", () => {
  const receipt = fc.record({
    route: fc.nat({ max: 60 }),
    card: fc.nat({ max: 3 }),
    bucket: fc.nat({ max: 8 }),
    count: fc.nat({ max: 1_000 }),
    isKnown: fc.boolean(),
    hour: fc.nat({ max: 23 }),
  });
  fc.assert(
    fc.property(
      fc.array(receipt, { maxLength: 700, size: "max" }),
      fc.nat({ max: 700 }),
      (parts, at) => {
        const receipts = parts.map(({ route, card, bucket, count, isKnown, hour }) =>
          costing(
            isKnown
              ? known(BigInt(count), { [`b${bucket}`]: count + 1 }, `card${card}`)
              : { kind: "unknown" },
            {
              requestId: newId("request", 0),
              route: `p/m${route}`,
              startedAtMs: Date.UTC(2026, 10, 20, hour),
            },
          )
        );
        const whole = addReceipts(noUsage, receipts);
        const cut = Math.min(at, receipts.length);
        const first = addReceipts(noUsage, receipts.slice(0, cut));
        const rest = addReceipts(noUsage, receipts.slice(cut).toReversed());
        assert(sameUsage(whole, addUsage(first, rest)));
        assert(sameUsage(whole, addUsage(rest, first)));
        assertEquals(
          costOf(whole.providers),
          receipts.reduce(
            (sum, { providerCost }) =>
              sum + (providerCost?.kind === "known" ? providerCost.costMicroVnd : 0n),
            0n,
          ),
        );
        assert(partsOf(whole.providers) <= maxProviderParts);
        const before = receipts.map(encodeReceipt);
        const own: OwnSum = { ...noUsage };
        for (const receipt of receipts) addReceiptInPlace(own, receipt);
        assert(sameUsage(own, whole));
        assertEquals(receipts.map(encodeReceipt), before);
      },
    ),
    { numRuns: 40 },
  );
});

const costOf = (sums: ProviderSums = {}) =>
  Object.values(sums).reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n);
const partsOf = (sums: ProviderSums = {}) =>
  Object.values(sums).reduce((sum, { units }) => sum + 1 + Object.keys(units).length, 0);

Deno.test("a sum with too many parts keeps its money and says that its parts are joined", () => {
  const receipts = Array.from(
    { length: maxProviderParts },
    (_, at) => costing(known(1n, { input: 1 }), { route: `p/m${at}` }),
  );
  const { providers = {} } = addReceipts(noUsage, receipts);
  assertEquals(Object.keys(providers).map(providerCellOf), [
    { isEarly: false, card: joinedCells, route: joinedCells },
  ]);
  assertEquals(costOf(providers), BigInt(maxProviderParts));
});

Deno.test("a Vietnamese day has the end of one UTC day and the begin of the next", () => {
  const early = costing({ kind: "unknown" }, { startedAtMs: Date.UTC(2026, 10, 19, 17) });
  const late = costing({ kind: "unknown" }, { startedAtMs: Date.UTC(2026, 10, 20, 16, 59) });
  assertEquals(vietnamDay(early.startedAtMs), "2026-11-20");
  assertEquals(vietnamDay(late.startedAtMs), "2026-11-20");
  const { providers = {} } = addReceipts(noUsage, [early, late]);
  assertEquals(Object.keys(providers).map((id) => providerCellOf(id).isEarly), [true, false]);
});

Deno.test("receipts without a cost leave no parts, so day sums of earlier releases stay right", () => {
  assertEquals(addReceipts(noUsage, [costing(undefined)]).providers, undefined);
});
