/**
 * The texts that proofs are about: the leaf of a receipt, the leaf of a balance, and the day that is signed. Each begins
 * with its form; a later form gets another name, and old proofs stay as they are.
 */
import type { Receipt } from "../../billing/usage/receipt.ts";
import { formatVnd } from "../../billing/money/micro_vnd.ts";
import { billedInputTokens } from "../../billing/tokens/token_bounds.ts";
import type { AccountId } from "../../lib/ids/ids.ts";

/** Writes the leaf of a receipt: what it says of the call and its price, in a fixed order, as JSON without spaces. */
export function receiptLeaf(receipt: Receipt): string {
  const { usage } = receipt;
  return JSON.stringify([
    "gateway receipt v1",
    receipt.requestId,
    receipt.accountId,
    receipt.keyId,
    receipt.model,
    new Date(receipt.startedAtMs).toISOString(),
    receipt.status,
    receipt.outcome,
    usage === undefined ? null : billedInputTokens(usage),
    usage === undefined ? null : usage.output,
    receipt.units,
    formatVnd(receipt.costMicroVnd),
  ]);
}

/** Writes the leaf of what an account has at the end of a day. Accounts that have nothing have no leaf. */
export function balanceLeaf(accountId: AccountId, day: string, balanceMicroVnd: bigint): string {
  return JSON.stringify(["gateway balance v1", accountId, day, formatVnd(balanceMicroVnd)]);
}

/** A tree: how many leaves it has, and its root in hexadecimal digits. */
export interface TreeHead {
  readonly size: number;
  readonly root: string;
}

/** A day as it is signed. */
export interface DayStatement {
  /** The public address of the service: a root of one service is none of another. */
  readonly origin: string;
  /** A day of Vietnam, such as `2026-11-26`. */
  readonly day: string;
  readonly receipts: TreeHead;
  /** Balances of the accounts at its end; `null` for a day that was signed together with a later one. */
  readonly balances: TreeHead | null;
  /** SHA-256 of the statement before it in hexadecimal digits; `null` for the first. */
  readonly previous: string | null;
}

const form = "gateway day v1";
const headPattern = /^(\d{1,15}) ([0-9a-f]{64})$/;

function writtenHead(head: TreeHead | null): string {
  return head === null ? "none" : `${head.size} ${head.root}`;
}

function readHead(text: string | undefined): TreeHead | null | undefined {
  if (text === "none") return null;
  const [, size, root] = headPattern.exec(text ?? "") ?? [];
  return size === undefined || root === undefined ? undefined : { size: Number(size), root };
}

/** Writes the text that is signed: six lines, each with its end. */
export function writeStatement(
  { origin, day, receipts, balances, previous }: DayStatement,
): string {
  const lines = [
    form,
    origin,
    day,
    writtenHead(receipts),
    writtenHead(balances),
    previous ?? "none",
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/**
 * Reads a signed text; `undefined` if it is none.
 *
 * @example
 * ```ts
 * import { readStatement, writeStatement } from "./signed_day.ts";
 * const receipts = { size: 2, root: "a".repeat(64) };
 * const day = { origin: "https://gw.example", day: "2026-11-26", receipts, balances: null, previous: null };
 * if (readStatement(writeStatement(day))?.receipts.size !== 2) throw new Error("not read");
 * if (readStatement(writeStatement(day) + "x") !== undefined) throw new Error("accepted");
 * ```
 */
export function readStatement(text: string): DayStatement | undefined {
  const [first, origin, day, receiptsText, balancesText, previousText, rest, ...more] = text.split(
    "\n",
  );
  const [receipts, balances] = [readHead(receiptsText), readHead(balancesText)];
  const isWhole = first === form && rest === "" && more.length === 0;
  const isPrevious = previousText === "none" || /^[0-9a-f]{64}$/.test(previousText ?? "");
  if (
    !isWhole || origin === undefined || !/^\d{4}-\d\d-\d\d$/.test(day ?? "") || day === undefined ||
    receipts === undefined || receipts === null || balances === undefined || !isPrevious
  ) return undefined;
  const previous = previousText === "none" || previousText === undefined ? null : previousText;
  return { origin, day, receipts, balances, previous };
}

/** The origin of a service that was given no public address: a sandbox. */
export const unnamedOrigin = "http://localhost";
