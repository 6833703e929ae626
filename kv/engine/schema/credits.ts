/**
 * Builds keys of credit that operators give: campaigns and their grants, the pots of accounts, expiry,
 * voucher codes, and what makes a grant happen once.
 */
import type { AccountId, CampaignId, LedgerId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

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
