/**
 * Notices that only repeat another one. Their money is counted where the chain of duplicates ends, so a chain without
 * an end, or one that ends at another sum, would make received money vanish from the books.
 */
import type { ReceivingAccount } from "../../core/payments/receiving_account.ts";
import { type BankEventRow, getBankEvent } from "./bank_events.ts";
import { movementAccount } from "./bank_matching.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/**
 * Whether one notice may be marked as a repetition of another: the same sum came in on the same account, and the other
 * one stands for it itself. One that still waits to be matched might be joined to this one, so it must wait, too.
 */
export function mayBeDuplicateOf(
  row: BankEventRow,
  of: BankEventRow,
  receivingAccounts: readonly ReceivingAccount[],
): boolean {
  const accountOf = ({ event }: BankEventRow) => movementAccount(event, receivingAccounts).name;
  return row.event.direction === "in" && of.event.direction === "in" &&
    row.event.amountMicroVnd === of.event.amountMicroVnd && accountOf(row) === accountOf(of) &&
    of.state.kind !== "duplicate" && of.state.kind !== "received";
}

/** What is wrong with a chain of duplicates, in words for the operator. */
export type DuplicateFault =
  | "a duplicate of a notice that is not there"
  | "a duplicate of another amount or direction"
  | "duplicates in a circle: their money is nowhere";

/** Follows a notice to the one that stands for its money. `undefined` if all is well, or it is no duplicate at all. */
export async function duplicateFault(
  kv: KeyValueStore,
  row: BankEventRow,
): Promise<DuplicateFault | undefined> {
  const { direction, amountMicroVnd } = row.event;
  const seen = new Set<string>();
  for (let state = row.state; state.kind === "duplicate";) {
    const name = `${state.of.source}:${state.of.id}`;
    if (seen.has(name)) return "duplicates in a circle: their money is nowhere";
    seen.add(name);
    const next = (await getBankEvent(kv, state.of)).value;
    if (next === null) return "a duplicate of a notice that is not there";
    if (next.event.direction !== direction || next.event.amountMicroVnd !== amountMicroVnd) {
      return "a duplicate of another amount or direction";
    }
    state = next.state;
  }
  return undefined;
}
