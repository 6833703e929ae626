import { assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { ledgerKey } from "../../../../kv/engine/schema/keys.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import {
  maxStatementLines,
  openingDay,
  readStatement,
} from "../../../../kv/money/ledger/statement.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import {
  draftOf,
  mustReserve,
  newAccount,
  readUsageTotal,
  topUp,
} from "../../../support/worlds/money_world.ts";

const everyMs = 30 * 60_000;

/** `count` lines of 1 µVND, one every half hour of Vietnam's year 2026. */
async function withLines(
  count: number,
  run: (
    read: (fromDay: string, toDay: string) => ReturnType<typeof readStatement>,
  ) => Promise<void>,
) {
  using kv = await Deno.openKv(":memory:");
  const accountId = newAccount();
  const startMs = Date.parse("2026-01-01T00:00:00+07:00");
  for (let at = 0; at < count;) {
    const operation = kv.atomic();
    for (const end = Math.min(count, at + 400); at < end; at++) {
      const atMs = startMs + at * everyMs;
      const entry: LedgerEntry = {
        ledgerId: newId("ledger", atMs),
        accountId,
        amountMicroVnd: 1n,
        kind: "refund",
        operationId: `refund:${at}`,
        reason: "",
        atMs,
      };
      operation.set(ledgerKey(accountId, entry.ledgerId), entry);
    }
    await operation.commit();
  }
  await run((fromDay, toDay) => readStatement(kv, accountId, { fromDay, toDay }));
}

Deno.test("a statement is right however many lines lie before its period", async () => {
  const count = maxStatementLines + 1_000;
  await withLines(count, async (read) => {
    const first = await read("2026-01-01", "2026-01-02");
    assertEquals(first.lines.length, 96);
    assertEquals([first.openingMicroVnd, first.closingMicroVnd], [0n, 96n]);
    const lastDay = await read("2027-03-12", "2027-03-31");
    assertEquals(lastDay.closingMicroVnd, BigInt(count));
    assertEquals(lastDay.openingMicroVnd, BigInt(count - lastDay.lines.length));
    assertEquals(lastDay.truncated, false);
  });
});

Deno.test("of too long a period the newest lines are shown, and the balances are right", async () => {
  const count = maxStatementLines + 1_000;
  await withLines(count, async (read) => {
    const all = await read("2026-01-01", "2027-12-31");
    assertEquals(all.truncated, true);
    assertEquals(all.lines.length, maxStatementLines);
    assertEquals([all.openingMicroVnd, all.closingMicroVnd], [1_000n, BigInt(count)]);
    assertEquals(all.lines[0]?.balanceMicroVnd, 1_001n);
    // It applies neither to the opening of the period nor to a day that is shown in part.
    assertEquals([all.opensAt, openingDay(all)], ["line", all.lines[0]?.day]);
  });
});

Deno.test("a call that runs into the new year, and its refund there, are on the right days of every sum", async () => {
  using kv = await Deno.openKv(":memory:");
  // Uses the real timer: the waits of the wallet engine are not tested here.
  let nowMs = Date.parse("2026-12-31T23:59:50+07:00");
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const accountId = newAccount();
  await topUp(kv, accountId, 1_000n);
  const call = async () => {
    const startedAtMs = nowMs;
    const draft = draftOf(100n, { requestId: newId("request", startedAtMs), startedAtMs });
    return { draft, reservation: await mustReserve(wallet, accountId, 100n) };
  };
  const [old, refunded] = [await call(), await call()];
  nowMs += 20_000;
  const young = await call();
  for (const { reservation, draft } of [young, old]) await wallet.settle(reservation, draft);
  const receipt = await wallet.settle(refunded.reservation, refunded.draft);
  const back = { reason: "failed", atMs: nowMs };
  assertEquals((await refundCall(kv, receipt, back)).status, "applied");
  const [lastDay, newYear] = ["2026-12-31", "2027-01-01"];
  const dayOf = async (day: string) => {
    const period = { fromDay: day, toDay: day };
    const { calls, costMicroVnd, refundedMicroVnd } = await readUsageTotal(kv, accountId, period);
    const { openingMicroVnd, closingMicroVnd } = await readStatement(kv, accountId, period);
    return { calls, costMicroVnd, refundedMicroVnd, openingMicroVnd, closingMicroVnd };
  };
  const check = async () => {
    // The statement shows a refund when it moved money; limits and usage of a key count it when its
    // call started.
    const { openingMicroVnd: _, closingMicroVnd: opening, ...last } = await dayOf(lastDay);
    assertEquals(last, { calls: 2, costMicroVnd: 200n, refundedMicroVnd: 100n });
    const first = await dayOf(newYear);
    assertEquals([first.calls, first.costMicroVnd, first.refundedMicroVnd], [1, 100n, 0n]);
    assertEquals([first.openingMicroVnd, first.closingMicroVnd], [opening, opening]);
    const all = await readStatement(kv, accountId, { fromDay: lastDay, toDay: newYear });
    assertEquals(all.closingMicroVnd, (await wallet.balance(accountId)).totalMicroVnd);
  };
  await check(); // from the receipts
  while ((await wallet.indexOnce()).waiting > 0);
  await check(); // from the day sums
  await wallet.close();
  assertEquals((await readWallet(kv, accountId)).availableMicroVnd, 800n);
  assertEquals((await verifyStore(kv)).problems, []);
});
