import { assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import type { ProviderCost, Receipt } from "../../../../core/billing/usage/receipt.ts";
import {
  marginBasisPoints,
  marginMicroVnd,
  noMargin,
  readMargins,
  unknownCalls,
  unknownRoute,
} from "../../../../kv/money/costs/margins.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import { refundSumKey } from "../../../../kv/engine/schema/keys.ts";
import {
  newAccount,
  receiptOf,
  storeReceipts,
  testKeyId,
} from "../../../support/worlds/money_world.ts";

const accountId = newAccount();
const day = "2026-11-20";
const range = { fromDay: day, toDay: day };

function call(costMicroVnd: bigint, cost: bigint | "unknown" | undefined): Receipt {
  const providerCost: ProviderCost | undefined = cost === undefined
    ? undefined
    : cost === "unknown"
    ? { kind: "unknown" }
    : { kind: "known", card: "c", units: { request: 1 }, costMicroVnd: cost };
  return receiptOf(accountId, {
    requestId: newId("request", 0),
    costMicroVnd,
    outcome: "completed",
    attempts: [{ route: "sandbox/some-model", outcome: "ok", ms: 1 }],
    ...(providerCost !== undefined && { providerCost }),
  });
}

async function storeWith(receipts: readonly Receipt[]) {
  const kv = await Deno.openKv(":memory:");
  await storeReceipts(kv, receipts);
  await writeIndex(kv, groupReceipts(receipts), { bounded: (call) => call });
  return kv;
}

Deno.test("calls from before costs were configured are calls of unknown cost, by no route", async () => {
  using kv = await storeWith([call(100n, undefined), call(50n, 20n), call(30n, "unknown")]);
  const { total, by } = await readMargins(kv, range);
  assertEquals([total.calls, unknownCalls(total), total.revenueMicroVnd], [3, 2, 180n]);
  assertEquals([marginMicroVnd(total), marginBasisPoints(total)], [30n, 6_000]);
  const before = by.route.get(`some-model ${unknownRoute}`)!;
  assertEquals([before.calls, before.revenueMicroVnd, marginMicroVnd(before)], [
    1,
    100n,
    undefined,
  ]);
});

Deno.test("refunds lower the margin, which may be negative", async () => {
  using kv = await storeWith([call(50n, 20n)]);
  await kv.set(refundSumKey(accountId, day, testKeyId, "some-model"), { refundedMicroVnd: 40n });
  const { total, by } = await readMargins(kv, range);
  assertEquals([marginMicroVnd(total), marginBasisPoints(total)], [-10n, -10_000]);
  assertEquals(by.account.get(accountId)?.refundedMicroVnd, 40n);
});

Deno.test("only the days and the customer that are asked for count", async () => {
  using kv = await storeWith([call(50n, 20n)]);
  assertEquals(
    (await readMargins(kv, { fromDay: "2026-11-19", toDay: "2026-11-19" })).total,
    noMargin,
  );
  assertEquals((await readMargins(kv, range, { accountId: newAccount() })).total, noMargin);
  assertEquals((await readMargins(kv, range, { model: "some-model" })).total.calls, 1);
});

Deno.test("calls that are free and cost nothing have no margin in percent", () => {
  assertEquals(marginBasisPoints(noMargin), undefined);
  assertEquals(marginBasisPoints({ ...noMargin, calls: 1, knownCalls: 1 }), undefined);
});
