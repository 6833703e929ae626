/**
 * Checks that each line of the ledger equals the row of its operation, and that each such row has
 * its line. Otherwise a cause could have moved money twice, or could do so again.
 */
import type { AccountId, LedgerId } from "../../../../core/lib/ids/ids.ts";
import { listBatchRows } from "../../../engine/store/whole_kind.ts";
import {
  ledgerOperationIdOf,
  ledgerOperationsPrefix,
  ledgerPrefix,
} from "../../../engine/schema/keys.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** Computes a text that is equal for a line and the row of its operation. */
export function ledgerFingerprint(entry: LedgerEntry): string {
  const { ledgerId, accountId, amountMicroVnd, kind, operationId } = entry;
  return [ledgerId, accountId, amountMicroVnd, kind, operationId].join(" ");
}

/**
 * Lists the differences between the lines of one account and their operations. Reads every
 * operation of the store, since these rows are found by their cause only; the lines of the account
 * bound the memory.
 */
export async function ledgerDisagreements(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<string[]> {
  const found: string[] = [];
  const lines = new Map<LedgerId, LedgerEntry>();
  const page = { batchSize: listBatchRows };
  for await (const { value } of kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) }, page)) {
    if (value.accountId === accountId) lines.set(value.ledgerId, value);
    else found.push(`the line ${value.ledgerId} names another account`);
  }
  for await (const row of kv.list<LedgerEntry>({ prefix: ledgerOperationsPrefix() }, page)) {
    const operation = row.value;
    const cause = ledgerOperationIdOf(row.key);
    if (operation.accountId !== accountId) continue;
    const line = lines.get(operation.ledgerId);
    lines.delete(operation.ledgerId);
    if (line === undefined) {
      found.push(`${cause} has moved money, but its line is missing`);
    } else if (
      ledgerFingerprint(line) !== ledgerFingerprint(operation) || cause !== line.operationId
    ) {
      found.push(`${cause} and its line ${line.ledgerId} disagree`);
    }
  }
  for (const { ledgerId, operationId } of lines.values()) {
    found.push(`the line ${ledgerId} is not the one that ${operationId} wrote`);
  }
  return found;
}
