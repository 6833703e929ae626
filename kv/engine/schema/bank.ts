/** Builds keys of bank notices and of the movements behind them. */
import type { BankSource } from "../../../core/trade/bank/bank_notice.ts";
import type { StoreKey } from "./store_key.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";

// Builds keys of top-up orders: by code, with an index per account and one of open orders (for near
// misses).

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

// Bank notices: the journal, unmatched ones, those that wait for staff, and unreadable ones.

export function bankNoticesPrefix(): StoreKey {
  return ["bank_event"];
}

export function bankNoticeKey(source: string, id: string): StoreKey {
  return ["bank_event", source, id];
}

export function bankNoticesByTimePrefix(): StoreKey {
  return ["bank_event_by_time"];
}

export function bankNoticeByTimeKey(receivedAtMs: number, source: string, id: string): StoreKey {
  return ["bank_event_by_time", receivedAtMs, source, id];
}

/** Selects notices that arrived at `sinceMs` or later, in order of arrival. */
export function bankNoticesSince(sinceMs: number): Deno.KvListSelector {
  return { prefix: bankNoticesByTimePrefix(), start: ["bank_event_by_time", sinceMs] };
}

export function unmatchedBankNoticesPrefix(): StoreKey {
  return ["bank_event_unmatched"];
}

export function unmatchedBankNoticeKey(source: string, id: string): StoreKey {
  return ["bank_event_unmatched", source, id];
}

export function bankReviewsPrefix(): StoreKey {
  return ["bank_review"];
}

export function bankReviewKey(receivedAtMs: number, source: string, id: string): StoreKey {
  return ["bank_review", receivedAtMs, source, id];
}

/**
 * Returns the notice that a key of the journal or of one of its lists names: the last part in all
 * of them.
 */
export function noticeOfKey(
  key: Deno.KvKey,
): { readonly source: BankSource; readonly id: string } {
  const [source, id] = key.slice(-2);
  return { source: source as BankSource, id: String(id) };
}

export function unreadableNoticesPrefix(): StoreKey {
  return ["bank_unreadable"];
}

export function unreadableNoticeKey(source: string, contentHash: string): StoreKey {
  return ["bank_unreadable", source, contentHash];
}

export function closedUnreadableNoticeKey(source: string, contentHash: string): StoreKey {
  return ["bank_unreadable_closed", source, contentHash];
}

// Bank movements behind notices, by account, direction, amount and time. The version of the guard
// changes with every movement of that amount, so that two simultaneous notices of one movement
// cannot both find nothing.

/** Selects movements of one amount between two times, both included. */
export function bankMovementsBetween(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
  times: { readonly fromMs: number; readonly toMs: number },
): Deno.KvListSelector {
  const prefix: StoreKey = ["bank_movement", account, direction, amountMicroVnd];
  return { start: [...prefix, times.fromMs], end: [...prefix, times.toMs + 1] };
}

export function bankMovementKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
  atMs: number,
  source: string,
  id: string,
): StoreKey {
  return ["bank_movement", account, direction, amountMicroVnd, atMs, source, id];
}

/**
 * Returns what distinguishes movements of one account, direction and amount: the time, and the
 * first notice of each.
 */
export function bankMovementIdOf(key: Deno.KvKey): string {
  return JSON.stringify(key.slice(4));
}

export function bankMovementGuardKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
): StoreKey {
  return ["bank_movement_guard", account, direction, amountMicroVnd];
}

export function bankReferenceKey(
  account: string,
  direction: "in" | "out",
  amountMicroVnd: bigint,
  reference: string,
): StoreKey {
  return ["bank_reference", account, direction, amountMicroVnd, reference];
}
