/**
 * Checks notices that repeat another one. Their money is counted at the end of the chain of
 * duplicates, so a chain without end, or with another sum at its end, would make received money
 * vanish from the books.
 */
import type { ReceivingAccount } from "../../../core/trade/bank/receiving_account.ts";
import { type BankNoticeRow, getBankNotice } from "./bank_notices.ts";
import { movementAccount } from "./bank_matching.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/**
 * Whether a notice may be marked as a repetition of another: the same sum arrived on the same
 * account, and the other notice stands for it. If the other one waits to be matched, it might be
 * joined to this one, so this one has to wait too.
 */
export function mayBeDuplicateOf(
  row: BankNoticeRow,
  of: BankNoticeRow,
  receivingAccounts: readonly ReceivingAccount[],
): boolean {
  const accountOf = ({ event }: BankNoticeRow) => movementAccount(event, receivingAccounts).name;
  return row.event.direction === "in" && of.event.direction === "in" &&
    row.event.amountMicroVnd === of.event.amountMicroVnd && accountOf(row) === accountOf(of) &&
    of.state.kind !== "duplicate" && of.state.kind !== "received";
}

/** A fault in a chain of duplicates, as a text for the operator. */
export type DuplicateFault =
  | "a duplicate of a notice that is not there"
  | "a duplicate of another amount or direction"
  | "duplicates in a circle: their money is nowhere";

/**
 * Follows a chain to the notice that stands for the money. `undefined` if the chain is sound, or
 * the notice is no duplicate.
 */
export async function duplicateFault(
  kv: KeyValueStore,
  row: BankNoticeRow,
): Promise<DuplicateFault | undefined> {
  const { direction, amountMicroVnd } = row.event;
  const seen = new Set<string>();
  for (let state = row.state; state.kind === "duplicate";) {
    const name = `${state.of.source}:${state.of.id}`;
    if (seen.has(name)) return "duplicates in a circle: their money is nowhere";
    seen.add(name);
    const next = (await getBankNotice(kv, state.of)).value;
    if (next === null) return "a duplicate of a notice that is not there";
    if (next.event.direction !== direction || next.event.amountMicroVnd !== amountMicroVnd) {
      return "a duplicate of another amount or direction";
    }
    state = next.state;
  }
  return undefined;
}
