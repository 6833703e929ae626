/**
 * Builds keys of top-up orders: by code, with an index per account and one of open orders (for near
 * misses).
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import type { StoreKey } from "./store_key.ts";

export function topupOrdersPrefix(): StoreKey {
  return ["topup_order"];
}

export function topupOrderKey(code: OrderCode): StoreKey {
  return ["topup_order", code];
}

export function accountTopupsPrefix(accountId: AccountId): StoreKey {
  return ["topup_by_account", accountId];
}

export function accountTopupKey(
  accountId: AccountId,
  createdAtMs: number,
  code: OrderCode,
): StoreKey {
  return ["topup_by_account", accountId, createdAtMs, code];
}

export function openTopupsPrefix(): StoreKey {
  return ["topup_open"];
}

export function openTopupKey(createdAtMs: number, code: OrderCode): StoreKey {
  return ["topup_open", createdAtMs, code];
}

export function topupPaymentsPrefix(code: OrderCode): StoreKey {
  return ["topup_payment", code];
}

export function topupPaymentKey(code: OrderCode, source: string, id: string): StoreKey {
  return ["topup_payment", code, source, id];
}

/** Key of the order that a form created. */
export function topupOfFormKey(accountId: AccountId, formId: string): StoreKey {
  return ["topup_of_form", accountId, formId];
}
