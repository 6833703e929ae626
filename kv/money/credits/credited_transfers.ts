/** Adds what follows a credited transfer to its commit: the mail, and the note by which a bonus is decided. */
import { noteTopup } from "./topup_bonus.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";
import type { CreditedTransfer } from "../payments/bank_matching.ts";
import { mailCredited } from "../payments/topup_checks.ts";

/** Adds the rows that follow the credit of a transfer. */
export function followCredited(operation: AtomicWrite, credited: CreditedTransfer): void {
  mailCredited(operation, credited);
  noteTopup(operation, credited);
}
