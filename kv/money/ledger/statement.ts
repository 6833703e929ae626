/**
 * Builds the statement of a wallet: every ledger line and the cost of calls per day, so that the
 * lines add up to the balance. Days are days in Vietnam.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { ledgerPrefix } from "../../engine/schema/keys.ts";
import type { LedgerEntry } from "./ledger.ts";
import { readUsage } from "./usage.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Most ledger lines of one period in a statement; older ones are only summed. Enough for a top-up
 * every four minutes of a quarter.
 */
export const maxStatementLines = 20_000;

/** One line. `balanceMicroVnd` is the sum of all lines up to and including it. */
export type StatementLine =
  | {
    readonly kind: "ledger";
    readonly day: string;
    readonly entry: LedgerEntry;
    readonly balanceMicroVnd: bigint;
  }
  /** The calls of a day, after the other lines of the day. */
  | {
    readonly kind: "usage";
    readonly day: string;
    readonly calls: number;
    readonly costMicroVnd: bigint;
    readonly balanceMicroVnd: bigint;
  };

/** Days as `YYYY-MM-DD`, both included. */
export interface Period {
  readonly fromDay: string;
  readonly toDay: string;
}

/** A period of the statement, oldest line first. */
export interface Statement extends Period {
  readonly openingMicroVnd: bigint;
  /**
   * Place of the opening balance: at the start of the first day, or just before the first line
   * shown, which may be in the middle of a later day.
   */
  readonly opensAt: "day" | "line";
  readonly lines: readonly StatementLine[];
  readonly closingMicroVnd: bigint;
  /**
   * Set if the period has more lines than are shown: the oldest are part of the opening balance.
   * Choose a shorter period.
   */
  readonly truncated: boolean;
}

/** A movement without running balance. */
export type Move =
  | { readonly kind: "ledger"; readonly day: string; readonly entry: LedgerEntry }
  | {
    readonly kind: "usage";
    readonly day: string;
    readonly calls: number;
    readonly costMicroVnd: bigint;
  };

/**
 * Reads the ledger up to the end of a period: the newest `maxStatementLines` lines of the period,
 * and the sum of all earlier ones. Memory is bounded however old the account is.
 */
export async function readLedgerOf(
  kv: KeyValueStore,
  accountId: AccountId,
  { fromDay, toDay }: Period,
): Promise<{ entries: LedgerEntry[]; earlierMicroVnd: bigint; truncated: boolean }> {
  let entries: LedgerEntry[] = [];
  let earlierMicroVnd = 0n;
  let truncated = false;
  const addEarlier = (some: readonly LedgerEntry[]) => {
    for (const { amountMicroVnd } of some) earlierMicroVnd += amountMicroVnd;
  };
  const rows = kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) }, {
    batchSize: listBatchRows,
  });
  for await (const { value } of rows) {
    const day = vietnamDay(value.atMs);
    if (day > toDay) continue;
    if (day < fromDay) addEarlier([value]);
    else entries.push(value);
    // Lets the list grow to twice the bound before it drops half: dropping line by line would copy
    // the list every time.
    if (entries.length === 2 * maxStatementLines) {
      addEarlier(entries.slice(0, maxStatementLines));
      entries = entries.slice(maxStatementLines);
      truncated = true;
    }
  }
  const surplus = Math.max(0, entries.length - maxStatementLines);
  addEarlier(entries.slice(0, surplus));
  return {
    entries: entries.slice(surplus),
    earlierMicroVnd,
    truncated: truncated || surplus > 0,
  };
}

/** Returns what a movement adds to the balance. */
export function changeOf(move: Move): bigint {
  return move.kind === "ledger" ? move.entry.amountMicroVnd : -move.costMicroVnd;
}

/** Reads the cost of calls, by day. */
async function readUsageMoves(
  kv: KeyValueStore,
  accountId: AccountId,
  toDay: string,
): Promise<Move[]> {
  const perDay = new Map<string, { calls: number; costMicroVnd: bigint }>();
  for (const row of await readUsage(kv, accountId, { fromDay: "2000-01-01", toDay })) {
    const known = perDay.get(row.day) ?? { calls: 0, costMicroVnd: 0n };
    perDay.set(row.day, {
      calls: known.calls + row.usage.calls,
      costMicroVnd: known.costMicroVnd + row.usage.costMicroVnd,
    });
  }
  return [...perDay].map(([day, sum]): Move => ({ kind: "usage", day, ...sum }));
}

/**
 * Reads the statement of a period. Everything before it is summed in the opening balance, so the
 * closing balance of a period that ends today is the balance of the wallet.
 */
export async function readStatement(
  kv: KeyValueStore,
  accountId: AccountId,
  period: Period,
): Promise<Statement> {
  const { entries, earlierMicroVnd, truncated } = await readLedgerOf(kv, accountId, period);
  const usage = await readUsageMoves(kv, accountId, period.toDay);
  const oldest = entries[0];
  const shownFrom = truncated && oldest ? vietnamDay(oldest.atMs) : period.fromDay;
  const openingMicroVnd = usage
    .filter(({ day }) => day < shownFrom)
    .reduce((sum, move) => sum + changeOf(move), earlierMicroVnd);
  const moves = [
    ...entries.map((entry): Move => ({ kind: "ledger", day: vietnamDay(entry.atMs), entry })),
    ...usage.filter(({ day }) => day >= shownFrom),
  ].filter((move) => changeOf(move) !== 0n);
  // The sort is stable: within a day ledger lines keep their order and precede the calls.
  moves.sort((left, right) => ascending(left.day, right.day));
  let balanceMicroVnd = openingMicroVnd;
  const lines = moves.map((move): StatementLine => {
    balanceMicroVnd += changeOf(move);
    return { ...move, balanceMicroVnd };
  });
  return {
    ...period,
    openingMicroVnd,
    opensAt: truncated ? "line" : "day",
    lines,
    closingMicroVnd: balanceMicroVnd,
    truncated,
  };
}

/** Reads before a statement is shown though a call moved the balance meanwhile. */
const matchAttempts = 3;

/**
 * Reads the statement of a period with the balance of the wallet. Ledger, usage and balance are read one after the
 * other; they are read again if a call came in between.
 *
 * @param today the day on which the period, if it ends then, closes with the balance
 */
export async function readMatchingStatement(
  kv: KeyValueStore,
  accountId: AccountId,
  period: Period,
  { today, balance }: {
    readonly today: string;
    readonly balance: (accountId: AccountId) => Promise<{ readonly totalMicroVnd: bigint }>;
  },
): Promise<{ readonly statement: Statement; readonly balanceMicroVnd: bigint }> {
  for (let attempt = 1;; attempt++) {
    const statement = await readStatement(kv, accountId, period);
    const { totalMicroVnd: balanceMicroVnd } = await balance(accountId);
    const matches = period.toDay < today || statement.closingMicroVnd === balanceMicroVnd;
    if (matches || attempt === matchAttempts) return { statement, balanceMicroVnd };
  }
}

/** Returns the last lines of a statement, with the balance just before them. */
export function lastLines(statement: Statement, count: number): Statement {
  const before = statement.lines.at(-count - 1);
  return before === undefined ? statement : {
    ...statement,
    lines: statement.lines.slice(-count),
    openingMicroVnd: before.balanceMicroVnd,
    opensAt: "line",
  };
}

/** Returns the day of the opening balance. */
export function openingDay({ opensAt, fromDay, lines }: Statement): string {
  return opensAt === "day" ? fromDay : lines[0]?.day ?? fromDay;
}
