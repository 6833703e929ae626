import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { expireCredit } from "../../../../kv/money/credits/credit_expiry.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { type Fault, faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import {
  bookOf,
  campaign,
  campaignNow,
  creditStartMs,
  customer,
  give,
  grantsOf,
} from "../../../support/worlds/credit_world.ts";
import { draftOf, ledgerLines, mustReserve, topUp } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const afterMs = creditStartMs + 30 * 86_400_000 + 1;

function engineOn(kv: KeyValueStore): Promise<WalletEngine> {
  const clock = new ManualTime(creditStartMs);
  return openWalletEngine(kv, { clock, timer: { start: () => () => {} } });
}

/** Lets a call cost some VND. */
async function call(wallet: WalletEngine, accountId: AccountId, vnd: number): Promise<void> {
  const reservation = await mustReserve(wallet, accountId, fromVnd(vnd));
  await wallet.settle(reservation, draftOf(fromVnd(vnd)));
}

async function available(kv: KeyValueStore, accountId: AccountId): Promise<bigint> {
  return (await readWallet(kv, accountId)).availableMicroVnd / 1_000_000n;
}

Deno.test("what is left of credit is taken back when it expires, and not before", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  await topUp(kv, ann.id, fromVnd(50_000));
  await give(kv, id, ann.id);
  const wallet = await engineOn(kv);
  await call(wallet, ann.id, 5_000);
  await wallet.close();
  assertEquals(await expireCredit(kv, afterMs - 1), { lines: 0, waiting: 0 });
  assertEquals(await expireCredit(kv, afterMs), { lines: 1, waiting: 0 });
  assertEquals(await expireCredit(kv, afterMs), { lines: 0, waiting: 0 });
  assertEquals(await available(kv, ann.id), 50_000n);
  const line = (await ledgerLines(kv, ann.id)).at(-1);
  assertEquals([line?.kind, line?.amountMicroVnd], ["credit_expiry", -fromVnd(15_000)]);
  const [grant] = await grantsOf(kv, id);
  assertEquals([grant?.closedAtMs, grant?.expiredMicroVnd], [afterMs, fromVnd(15_000)]);
  assertEquals(await bookOf(kv, ann.id), undefined);
  assertEquals((await campaignNow(kv, id)).expiredMicroVnd, fromVnd(15_000));
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("with own money spent first, credit is left until that is used up", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  await topUp(kv, ann.id, fromVnd(50_000));
  await give(kv, (await campaign(kv)).id, ann.id, { spendGranted: "last" });
  const wallet = await engineOn(kv);
  await call(wallet, ann.id, 5_000);
  await wallet.close();
  await expireCredit(kv, afterMs);
  assertEquals(await available(kv, ann.id), 45_000n);
});

Deno.test("credit that is spent is closed without a line", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  await give(kv, id, ann.id);
  const wallet = await engineOn(kv);
  await call(wallet, ann.id, 20_000);
  await wallet.close();
  assertEquals(await expireCredit(kv, afterMs), { lines: 0, waiting: 0 });
  const [grant] = await grantsOf(kv, id);
  assertEquals([grant?.closedAtMs, grant?.expiredMicroVnd], [afterMs, 0n]);
  assertEquals(await bookOf(kv, ann.id), undefined);
  assertEquals((await ledgerLines(kv, ann.id)).length, 1);
});

Deno.test("a call that runs while credit expires may still spend it; the rest follows", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  await give(kv, (await campaign(kv)).id, ann.id);
  const wallet = await engineOn(kv);
  const reservation = await mustReserve(wallet, ann.id, fromVnd(12_000));
  assertEquals(await expireCredit(kv, afterMs), { lines: 1, waiting: 0 });
  assertEquals(await available(kv, ann.id), 0n);
  // Nothing of the rest is free.
  assertEquals(await expireCredit(kv, afterMs), { lines: 0, waiting: 1 });
  await wallet.settle(reservation, draftOf(fromVnd(9_000)));
  await wallet.close();
  assertEquals(await available(kv, ann.id), 3_000n);
  assertEquals(await expireCredit(kv, afterMs), { lines: 1, waiting: 0 });
  assertEquals(await available(kv, ann.id), 0n);
  const ids = (await ledgerLines(kv, ann.id)).map(({ operationId }) => operationId);
  const [given, first, rest] = ids;
  assert(given?.startsWith("voucher:"));
  assertEquals(rest, `${first}:rest`);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("several instances that look for expired credit at once take it back once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const people = await Promise.all(Array.from({ length: 5 }, () => customer(kv)));
  for (const { id: accountId } of people) await give(kv, id, accountId);
  await Promise.all(Array.from({ length: 4 }, () => expireCredit(kv, afterMs)));
  for (const { id: accountId } of people) assertEquals(await available(kv, accountId), 0n);
  assertEquals((await campaignNow(kv, id)).expiredMicroVnd, fromVnd(100_000));
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("a process that dies at any call of an expiry loses and doubles nothing", async () => {
  for (const lastCall of ["before", "after"] as const) {
    for (let diesAt = 0; diesAt < 100; diesAt++) {
      using kv = await Deno.openKv(":memory:");
      const { id } = await campaign(kv);
      const ann = await customer(kv);
      await topUp(kv, ann.id, fromVnd(1_000));
      await give(kv, id, ann.id);
      let calls = 0;
      const dying = faultyKv(kv, (): Fault => {
        const at = calls++;
        return at < diesAt ? "none" : at === diesAt ? lastCall : "before";
      });
      await expireCredit(dying, afterMs).catch((error: Error) => {
        assert(
          error instanceof StoreFault || error.message.includes("does not answer"),
          error.message,
        );
      });
      await expireCredit(kv, afterMs);
      assertEquals(await available(kv, ann.id), 1_000n, `${lastCall} call ${diesAt}`);
      assertEquals((await campaignNow(kv, id)).expiredMicroVnd, fromVnd(20_000));
      assertEquals((await verifyStore(kv)).problems, []);
      if (calls <= diesAt) break;
      assert(diesAt < 99, "the path ends");
    }
  }
});

Deno.test("money that an earlier release has credited without the book is the customer's own", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  await give(kv, (await campaign(kv)).id, ann.id);
  const book = await kv.get(["grant_book", ann.id]);
  await topUp(kv, ann.id, fromVnd(7_000));
  await kv.set(book.key, book.value);
  await expireCredit(kv, afterMs);
  assertEquals(await available(kv, ann.id), 7_000n);
});
