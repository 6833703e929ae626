import { assertEquals } from "@std/assert";
import { newId } from "../../core/ids.ts";
import { limits } from "../../core/limits.ts";
import { ledgerKey } from "../../kv/keys.ts";
import type { LedgerEntry } from "../../kv/ledger.ts";
import { readStatement } from "../../kv/statement.ts";
import { newAccount } from "../support/money_world.ts";

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
  const count = limits.statementLines + 1_000;
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
  const count = limits.statementLines + 1_000;
  await withLines(count, async (read) => {
    const all = await read("2026-01-01", "2027-12-31");
    assertEquals(all.truncated, true);
    assertEquals(all.lines.length, limits.statementLines);
    assertEquals([all.openingMicroVnd, all.closingMicroVnd], [1_000n, BigInt(count)]);
    assertEquals(all.lines[0]?.balanceMicroVnd, 1_001n);
  });
});
