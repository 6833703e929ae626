/** Receipts say what was held of the wallet, and that it was charged or went back. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { holdLines } from "../../../../core/billing/charge_lines.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";

const attempts = [{ route: "one/m", outcome: "ok", ms: 5 }];
const amount = fc.bigInt({ min: 0n, max: 100n });

async function settledWith(
  { balance, held, extended, price, withheld }: {
    readonly balance: bigint;
    readonly held: bigint;
    readonly extended: bigint;
    readonly price: bigint;
    readonly withheld: boolean;
  },
) {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const options = { clock: time, timer: time, random: () => 0, reservationWaitMs: 0 };
  const wallet = await openWalletEngine(kv, options);
  const account = newAccount();
  await topUp(kv, account, balance);
  const reservation = await mustReserve(wallet, account, held);
  const got = extended === 0n ? undefined : await wallet.extend(reservation, extended, 0);
  const heldMicroVnd = held + (got?.outcome === "granted" ? got.amountMicroVnd : 0n);
  const draft = { ...draftOf(price), attempts };
  const free = { draft: { ...draft, outcome: "withheld", priceMicroVnd: 0n } } as const;
  await wallet.settle(reservation, draft, undefined, withheld ? () => free : undefined);
  await wallet.close();
  const receipt = await readReceipt(kv, draft.requestId);
  assert(receipt !== undefined, "a receipt");
  return { receipt, heldMicroVnd };
}

Deno.test("what was held, with what was added, is what was charged and returned", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        balance: fc.bigInt({ min: 100n, max: 250n }),
        held: amount,
        extended: amount,
        price: fc.bigInt({ min: 0n, max: 400n }),
        withheld: fc.boolean(),
      }),
      async (some) => {
        const { receipt, heldMicroVnd } = await settledWith(some);
        assertEquals(receipt.heldMicroVnd, heldMicroVnd);
        const lines = holdLines(receipt);
        assert(lines !== undefined, "it says what was held");
        const { addedMicroVnd, chargedMicroVnd, returnedMicroVnd } = lines;
        assertEquals(chargedMicroVnd, receipt.costMicroVnd);
        assertEquals(heldMicroVnd + addedMicroVnd, chargedMicroVnd + returnedMicroVnd);
        assert(addedMicroVnd === 0n || returnedMicroVnd === 0n, "one of them is nothing");
        // The charge is the price, up to what was held and what the wallet has beside it.
        const price = some.withheld ? 0n : some.price;
        const affordable = price < some.balance ? price : some.balance;
        assertEquals(chargedMicroVnd, affordable);
        assertEquals(receipt.shortfallMicroVnd, price - affordable);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("a call without an attempt says nothing of a hold, as receipts of earlier releases", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: time, random: () => 0 });
  const account = newAccount();
  await topUp(kv, account, 10n);
  const draft = { ...draftOf(0n), attempts: [] };
  await wallet.settle(await mustReserve(wallet, account, 5n), draft);
  await wallet.close();
  const receipt = await readReceipt(kv, draft.requestId);
  assert(receipt !== undefined, "a receipt");
  assertEquals(holdLines(receipt), undefined);
});
