/**
 * The statement of a wallet: every line of the ledger, and what calls cost per day, so that the lines add up to the
 * balance. Days are Vietnam's.
 */
import type { AccountId, LedgerId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import { type LedgerEntry, listLedger } from "./ledger.ts";
import { vietnamDay } from "./rollups.ts";
import { readUsage } from "./usage.ts";

/** One line. `balanceMicroVnd` is the sum of everything up to and including it. */
export type StatementLine =
  | {
    readonly kind: "ledger";
    readonly day: string;
    readonly entry: LedgerEntry;
    readonly balanceMicroVnd: bigint;
  }
  /** The calls of a day; they stand after the day's other lines. */
  | {
    readonly kind: "usage";
    readonly day: string;
    readonly calls: number;
    readonly costMicroVnd: bigint;
    readonly balanceMicroVnd: bigint;
  };

/** A period of the statement, oldest line first. */
export interface Statement {
  readonly fromDay: string;
  readonly toDay: string;
  readonly openingMicroVnd: bigint;
  readonly lines: readonly StatementLine[];
  readonly closingMicroVnd: bigint;
  /** There is more in the period than is read at once: choose a shorter one. */
  readonly truncated: boolean;
}

/** A movement before it has a running balance. */
type Move =
  | { readonly kind: "ledger"; readonly day: string; readonly entry: LedgerEntry }
  | {
    readonly kind: "usage";
    readonly day: string;
    readonly calls: number;
    readonly costMicroVnd: bigint;
  };

async function readLedger(
  kv: Deno.Kv,
  accountId: AccountId,
): Promise<{ entries: LedgerEntry[]; truncated: boolean }> {
  const entries: LedgerEntry[] = [];
  let before: LedgerId | undefined;
  do {
    const page = await listLedger(kv, accountId, {
      limit: limits.moneyListRows,
      ...(before !== undefined && { before }),
    });
    entries.push(...page.entries);
    before = page.next;
  } while (before !== undefined && entries.length < limits.statementLines);
  return { entries: entries.reverse(), truncated: before !== undefined };
}

function amountOf(move: Move): bigint {
  return move.kind === "ledger" ? move.entry.amountMicroVnd : -move.costMicroVnd;
}

/**
 * Reads the statement of a period. Everything before it is added up into the opening balance, so the closing balance of
 * a period that ends today is the balance of the wallet.
 */
export async function readStatement(
  kv: Deno.Kv,
  accountId: AccountId,
  period: { readonly fromDay: string; readonly toDay: string },
): Promise<Statement> {
  const { entries, truncated } = await readLedger(kv, accountId);
  const usage = await readUsage(kv, accountId, { fromDay: "2000-01-01", toDay: period.toDay });
  const perDay = new Map<string, { calls: number; costMicroVnd: bigint }>();
  for (const row of usage) {
    const known = perDay.get(row.day) ?? { calls: 0, costMicroVnd: 0n };
    perDay.set(row.day, {
      calls: known.calls + row.usage.calls,
      costMicroVnd: known.costMicroVnd + row.usage.costMicroVnd,
    });
  }
  const moves: Move[] = [
    ...entries.map((entry): Move => ({ kind: "ledger", day: vietnamDay(entry.atMs), entry })),
    ...[...perDay].map(([day, sum]): Move => ({ kind: "usage", day, ...sum })),
  ].filter((move) => move.day <= period.toDay && amountOf(move) !== 0n);
  // The sort is stable: within a day ledger lines keep their order and stand before the calls.
  moves.sort((left, right) => left.day < right.day ? -1 : left.day > right.day ? 1 : 0);
  let balanceMicroVnd = 0n;
  let openingMicroVnd = 0n;
  const lines: StatementLine[] = [];
  for (const move of moves) {
    balanceMicroVnd += amountOf(move);
    if (move.day < period.fromDay) openingMicroVnd = balanceMicroVnd;
    else lines.push({ ...move, balanceMicroVnd });
  }
  return { ...period, openingMicroVnd, lines, closingMicroVnd: balanceMicroVnd, truncated };
}
