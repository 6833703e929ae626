/** Reads the offers of the moment, so that pages name only what would be given: credit for a sign-up, bonuses on top-ups. */
import {
  type Campaign,
  campaignRefusal,
  giftFor,
  largestGift,
} from "../../../core/trade/credits/campaign.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { grantCountKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listCampaigns } from "./campaigns.ts";

/** Credit that whoever signs up is given. */
export interface SignupOffer {
  readonly amountMicroVnd: bigint;
  /** Absent: the credit never expires. */
  readonly expiresAfterDays?: number | undefined;
}

/** The offers of a moment. */
export interface RunningOffers {
  readonly signup: SignupOffer | undefined;
  /** Campaigns with a bonus on a top-up. */
  readonly bonuses: readonly Campaign[];
  /** The moment, in milliseconds. */
  readonly atMs: number;
}

/**
 * Reads the offers of a moment.
 *
 * @param accountId leaves out bonuses of which this account has had its share
 */
export async function readRunningOffers(
  kv: KeyValueStore,
  { atMs, accountId }: { readonly atMs: number; readonly accountId?: AccountId },
): Promise<RunningOffers> {
  const open = (await listCampaigns(kv))
    .filter((one) => campaignRefusal(one, largestGift(one), atMs) === undefined);
  // As for a sign-up: the oldest gives.
  const signup = open.findLast(({ kind }) => kind === "signup");
  const bonuses = open.filter(({ kind }) => kind === "bonus");
  const had = accountId === undefined || bonuses.length === 0
    ? []
    : await kv.getMany<number[]>(bonuses.map(({ id }) => grantCountKey(id, accountId)));
  return {
    signup: signup && {
      amountMicroVnd: largestGift(signup),
      expiresAfterDays: signup.expiresAfterDays,
    },
    bonuses: bonuses.filter(({ perAccount }, at) => (had[at]?.value ?? 0) < perAccount),
    atMs,
  };
}

/** Computes the bonus on a top-up: the largest of all offers, 0 without one. */
export function bonusOn(
  { bonuses }: Pick<RunningOffers, "bonuses">,
  topupMicroVnd: bigint,
): bigint {
  return bonuses.map((campaign) => giftFor(campaign, topupMicroVnd))
    .reduce((most, one) => one > most ? one : most, 0n);
}
