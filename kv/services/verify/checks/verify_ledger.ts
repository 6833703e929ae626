/**
 * Compares the three rows of a movement, of which none ever changes: the line of the account, its copy by time, and the
 * row of the operation. Otherwise a cause could have moved money twice, or could do so again.
 */
import type { AccountId, LedgerId } from "../../../../core/lib/ids/ids.ts";
import {
  ledgerByTimeKey,
  ledgerKey,
  ledgerOperationIdOf,
  ledgerOperationKey,
} from "../../../engine/schema/keys.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { keysAtOnce, rowsOfKeys, valuesOfKeys } from "../../../engine/store/read_ahead.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import type { Problem } from "./problems.ts";

/** Movements whose rows are read at once where each has two. */
export const movementsPerRead = Math.floor(keysAtOnce / 2);

/** Computes a text that is equal for the rows of one movement. */
function fingerprint(entry: LedgerEntry): string {
  const { ledgerId, accountId, amountMicroVnd, kind, operationId } = entry;
  return [ledgerId, accountId, amountMicroVnd, kind, operationId].join(" ");
}

function isOther(row: LedgerEntry | undefined, entry: LedgerEntry): boolean {
  return row === undefined || fingerprint(row) !== fingerprint(entry);
}

function wrong(accountId: AccountId, detail: string): Problem {
  return { accountId, kind: "ledger", detail };
}

function withoutLine(cause: string, ledgerId: LedgerId): string {
  return `${cause} has moved money, but its line ${ledgerId} is missing`;
}

function withoutCopy({ ledgerId }: LedgerEntry): string {
  return `the line ${ledgerId} has no copy by time: an earlier release wrote it, and ` +
    "`admin verify --full` adds the copy, or it was added by hand";
}

function ofAnother({ ledgerId }: LedgerEntry, cause: string): string {
  return `the line ${ledgerId} is not the one that ${cause} wrote`;
}

/** Compares at most `movementsPerRead` copies with their lines and operations. */
export async function problemsOfCopies(
  kv: KeyValueStore,
  copies: readonly LedgerEntry[],
): Promise<Problem[]> {
  const keys = copies.flatMap(({ accountId, ledgerId, operationId }) => [
    ledgerKey(accountId, ledgerId),
    ledgerOperationKey(operationId),
  ]);
  const rows = await valuesOfKeys<LedgerEntry>(kv, keys);
  return copies.flatMap((copy, at) => {
    const { accountId, ledgerId, operationId } = copy;
    const [line, operation] = [rows[2 * at], rows[2 * at + 1]];
    const details: string[] = [];
    if (line === undefined) details.push(withoutLine(operationId, ledgerId));
    else if (isOther(line, copy)) {
      details.push(`the line ${ledgerId} and its copy by time disagree`);
    }
    if (isOther(operation, copy)) details.push(ofAnother(copy, operationId));
    return details.map((detail) => wrong(accountId, detail));
  });
}

/** Looks for lines without a copy among at most `keysAtOnce`. */
export async function linesWithoutCopy(
  kv: KeyValueStore,
  lines: readonly LedgerEntry[],
): Promise<Problem[]> {
  const rows = await rowsOfKeys(kv, lines.map(({ ledgerId }) => ledgerByTimeKey(ledgerId)));
  return lines.filter((_, at) => rows[at] === undefined)
    .map((line) => wrong(line.accountId, withoutCopy(line)));
}

/** Looks for operations whose line is missing or another, among at most `keysAtOnce`: no line leads to them. */
export async function problemsOfOperations(
  kv: KeyValueStore,
  operations: readonly Deno.KvEntry<LedgerEntry>[],
): Promise<Problem[]> {
  const keys = operations.map(({ value }) => ledgerKey(value.accountId, value.ledgerId));
  const lines = await valuesOfKeys<LedgerEntry>(kv, keys);
  return operations.flatMap(({ key, value }, at) => {
    const { accountId, ledgerId } = value;
    const cause = ledgerOperationIdOf(key);
    const line = lines[at];
    if (line === undefined) {
      return [wrong(accountId, withoutLine(cause, ledgerId))];
    }
    const isRight = !isOther(line, value) && line.operationId === cause;
    return isRight ? [] : [wrong(accountId, ofAnother(value, cause))];
  });
}

/** Compares the lines of an account with their copies and operations. */
export async function problemsOfLines(
  kv: KeyValueStore,
  accountId: AccountId,
  lines: readonly LedgerEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const group of groupsOf(lines, movementsPerRead)) {
    const keys = group.flatMap(({ ledgerId, operationId }) => [
      ledgerByTimeKey(ledgerId),
      ledgerOperationKey(operationId),
    ]);
    const rows = await valuesOfKeys<LedgerEntry>(kv, keys);
    for (const [at, line] of group.entries()) {
      const [copy, operation] = [rows[2 * at], rows[2 * at + 1]];
      if (copy === undefined) problems.push(wrong(accountId, withoutCopy(line)));
      if (isOther(operation, line)) {
        problems.push(wrong(accountId, ofAnother(line, line.operationId)));
      }
    }
  }
  return problems;
}
