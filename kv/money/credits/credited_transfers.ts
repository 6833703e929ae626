/** Adds what follows a credited transfer to its commit: mail, webhook, and the note by which a bonus is decided. */
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { noteTopup } from "./topup_bonus.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";
import type { CreditedTransfer } from "../payments/bank_matching.ts";
import { addWebhookEvent } from "../../people/webhooks/events.ts";
import { mailCredited } from "../payments/topup_checks.ts";

/** Adds the rows that follow the credit of a transfer. */
export function followCredited(operation: AtomicWrite, credited: CreditedTransfer): void {
  mailCredited(operation, credited);
  const { account, event, order, atMs } = credited;
  const amount = { amount_vnd: formatVnd(event.amountMicroVnd) };
  const data = { ...amount, ...defined({ order_code: order?.code }) };
  addWebhookEvent(operation, account.id, { type: "topup.credited", data }, atMs);
  noteTopup(operation, credited);
}
