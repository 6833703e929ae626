/** Campaigns, accounts and what is left of their credit, on any store. */
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Campaign, CampaignTerms } from "../../../core/trade/credits/campaign.ts";
import { totalOf } from "../../../core/trade/credits/pots.ts";
import type { AccountId, CampaignId } from "../../../core/lib/ids/ids.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { makeCampaign } from "../../../kv/money/credits/campaigns.ts";
import { type Grant, type GrantBook, grantBook } from "../../../kv/money/balances/grant_book.ts";
import { giveCredit, type GiveRequest, type GiveResult } from "../../../kv/money/credits/grants.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import {
  campaignKey,
  grantBookKey,
  grantsOfCampaignPrefix,
} from "../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

export const creditStartMs = Date.parse("2026-11-20T14:00:00+07:00");

/** Makes a campaign: 20,000 VND for each of five accounts, for 30 days. */
export async function campaign(
  kv: KeyValueStore,
  some: Partial<CampaignTerms> = {},
): Promise<Campaign> {
  const terms: CampaignTerms = {
    kind: "voucher",
    name: "Welcome",
    gift: { kind: "amount", amountMicroVnd: fromVnd(20_000) },
    budgetMicroVnd: fromVnd(100_000),
    startsAtMs: creditStartMs,
    expiresAfterDays: 30,
    perAccount: 1,
    ...some,
  };
  return await makeCampaign(kv, terms, {
    operator: commandLine,
    nowMs: creditStartMs,
    limitMicroVnd: 0n,
  });
}

let accounts = 0;

export async function customer(kv: KeyValueStore): Promise<Account> {
  return await createAccount(kv, {
    nowMs: creditStartMs,
    email: `customer${accounts++}@example.com`,
  });
}

let causes = 0;

/** Gives an account what a campaign gives. */
export async function give(
  kv: KeyValueStore,
  campaignId: CampaignId,
  accountId: AccountId,
  some: Partial<GiveRequest> = {},
): Promise<GiveResult> {
  return await giveCredit(kv, {
    campaignId,
    accountId,
    kind: "voucher",
    operationId: `voucher:test-${causes++}:${accountId}`,
    nowMs: creditStartMs,
    spendGranted: "first",
    amountOf: ({ gift }) => gift.kind === "amount" ? gift.amountMicroVnd : 0n,
    ...some,
  });
}

/** The book of an account as it is stored. */
export async function bookOf(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<GrantBook | undefined> {
  return grantBook(await kv.get(grantBookKey(accountId)));
}

/** The grants of a campaign, oldest first. */
export async function grantsOf(kv: KeyValueStore, campaignId: CampaignId): Promise<Grant[]> {
  const rows = kv.list<Grant>({ prefix: grantsOfCampaignPrefix(campaignId) });
  return await Array.fromAsync(rows, ({ value }) => value);
}

/** A campaign as it is now. */
export async function campaignNow(kv: KeyValueStore, id: CampaignId): Promise<Campaign> {
  const { value } = await kv.get<Campaign>(campaignKey(id));
  if (value === null) throw new Error("the campaign is gone");
  return value;
}

/** What the pots of an account have together, as stored. */
export async function bookTotal(kv: KeyValueStore, accountId: AccountId): Promise<bigint> {
  const book = await bookOf(kv, accountId);
  return book === undefined ? 0n : totalOf(book);
}
