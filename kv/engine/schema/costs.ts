/** Builds keys of what calls cost the operator. */
import type {
  AccountId,
  ApiKeyId,
  CampaignId,
  InvoiceId,
  LedgerId,
} from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";

// Builds keys of credit that operators give: campaigns and their grants, the pots of accounts, expiry,
// voucher codes, and what makes a grant happen once.

export function campaignsPrefix(): StoreKey {
  return ["campaign"];
}

export function campaignKey(campaignId: CampaignId): StoreKey {
  return ["campaign", campaignId];
}

// Grants: one row each, under their campaign.

export function grantsPrefix(): StoreKey {
  return ["grant"];
}

export function grantsOfCampaignPrefix(campaignId: CampaignId): StoreKey {
  return ["grant", campaignId];
}

export function grantKey(campaignId: CampaignId, grantId: LedgerId): StoreKey {
  return ["grant", campaignId, grantId];
}

export function grantCountsOfPrefix(campaignId: CampaignId): StoreKey {
  return ["grant_count", campaignId];
}

/** Key of the number of grants that a campaign has given to an account. */
export function grantCountKey(campaignId: CampaignId, accountId: AccountId): StoreKey {
  return ["grant_count", campaignId, accountId];
}

// The pots of accounts of which some grant has something left.

export function grantBooksPrefix(): StoreKey {
  return ["grant_book"];
}

export function grantBookKey(accountId: AccountId): StoreKey {
  return ["grant_book", accountId];
}

// Open grants that expire, in the order of that time.

export function grantExpiryKey(
  expiresAtMs: number,
  accountId: AccountId,
  grantId: LedgerId,
): StoreKey {
  return ["grant_expiry", expiresAtMs, accountId, grantId];
}

/** Selects the grants that expire before a moment. */
export function grantExpiryBefore(atMs: number): Deno.KvListSelector {
  return { prefix: ["grant_expiry"], end: ["grant_expiry", atMs] };
}

/** Selects the grants that expire until a moment, behind a key of this index. */
export function grantExpiryBetween(after: Deno.KvKey, untilMs: number): Deno.KvListSelector {
  return { start: [...after, ""], end: ["grant_expiry", untilMs] };
}

/** A key before those of all grants that expire from a moment on. */
export function grantExpiryFrom(atMs: number): StoreKey {
  return ["grant_expiry", atMs];
}

/** Returns when the grant of a key of this index expires. */
export function expiryOfKey(key: Deno.KvKey): number {
  return Number(key[1]);
}

/** Returns the account and the grant of a key of this index. */
export function expiringGrantOf(
  key: Deno.KvKey,
): { readonly accountId: AccountId; readonly grantId: LedgerId } {
  return { accountId: String(key[2]) as AccountId, grantId: String(key[3]) as LedgerId };
}

/** Key of the sign-up credit of a mailbox, by its hash. It outlives the account. */
export function signupCreditKey(mailboxHash: string): StoreKey {
  return ["signup_credit", mailboxHash];
}

// Voucher codes, under their hashes.

export function vouchersPrefix(): StoreKey {
  return ["voucher"];
}

export function voucherKey(codeHash: string): StoreKey {
  return ["voucher", codeHash];
}

// Top-ups whose bonus is not decided yet.

export function bonusDuePrefix(): StoreKey {
  return ["bonus_due"];
}

/** Key of a top-up, by the operation id of its credit. */
export function bonusDueKey(operationId: string): StoreKey {
  return ["bonus_due", operationId];
}

// Builds keys of invoices: requests, with indexes per account and per order, and attached files.

export function invoicesPrefix(): StoreKey {
  return ["invoice"];
}

export function invoiceKey(invoiceId: InvoiceId): StoreKey {
  return ["invoice", invoiceId];
}

/** Selects the requests before an id, or a bound that is no id. */
export function invoicesBefore(id: string): Deno.KvListSelector {
  return { prefix: ["invoice"], end: ["invoice", id] };
}

export function accountInvoicesPrefix(accountId: AccountId): StoreKey {
  return ["invoice_by_account", accountId];
}

export function accountInvoiceKey(accountId: AccountId, invoiceId: InvoiceId): StoreKey {
  return ["invoice_by_account", accountId, invoiceId];
}

/** Returns the invoice of a row in the list of an account. */
export function invoiceOf(key: Deno.KvKey): InvoiceId {
  return String(key[2]) as InvoiceId;
}

export function invoiceOfOrderKey(code: OrderCode): StoreKey {
  return ["invoice_of_order", code];
}

export function invoiceFilePrefix(invoiceId: InvoiceId, name: string): StoreKey {
  return ["invoice_file", invoiceId, name];
}

export function invoiceFileChunkKey(invoiceId: InvoiceId, name: string, part: number): StoreKey {
  return ["invoice_file", invoiceId, name, part];
}

export function invoiceProfileKey(accountId: AccountId): StoreKey {
  return ["invoice_profile", accountId];
}

export function invoiceSettingsKey(accountId: AccountId): StoreKey {
  return ["invoice_settings", accountId];
}

export function rateCardsPrefix(): StoreKey {
  return ["rate_card"];
}

export function rateCardKey(id: string): StoreKey {
  return ["rate_card", id];
}

// Copies of the day sums that have costs, by day: operators read a day of all accounts at once.

export function dayCopiesPrefix(): StoreKey {
  return ["usage_by_day"];
}

export function dayCopyKey(
  { day, accountId, keyId, model }: {
    readonly day: string;
    readonly accountId: AccountId;
    readonly keyId: ApiKeyId;
    readonly model: string;
  },
): StoreKey {
  return ["usage_by_day", day, accountId, keyId, model];
}

/** Selects the copies of some days, both included. */
export function dayCopiesRange(
  { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
): { readonly start: StoreKey; readonly end: StoreKey } {
  return { start: ["usage_by_day", fromDay], end: ["usage_by_day", `${toDay}~`] };
}

/** Returns what a copy is of. */
export function dayCopyOf(key: Deno.KvKey): {
  readonly day: string;
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
  readonly model: string;
} {
  const [, day, accountId, keyId, model] = key;
  return {
    day: String(day),
    accountId: String(accountId) as AccountId,
    keyId: String(keyId) as ApiKeyId,
    model: String(model),
  };
}
