/**
 * Gives credit for a sign-up: once per account and per mailbox, and to a few sign-ups of one client network
 * per day. The row of the mailbox outlives the account, so deleting an account and signing up again gives
 * nothing.
 */
import type { Campaign } from "../../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import { mailboxOf } from "../../../core/people/accounts/mailbox.ts";
import { hashSecret } from "../../../core/people/accounts/secret_token.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { networkOf } from "../../../core/net/addresses/ip_address.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import { countWith } from "../../people/accounts/rate_limits.ts";
import { signupCreditKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listCampaigns } from "./campaigns.ts";
import { giveCredit } from "./grants.ts";

/** Sign-ups of a network and day that get credit, unless the campaign says otherwise. */
export const signupsPerNetworkDefault = 10;

const dayMs = 86_400_000;

/** Who signed up, from where. */
export interface SignUp {
  /** Its address is proven. */
  readonly account: Pick<Account, "id" | "email">;
  readonly clientAddress: string;
  readonly nowMs: number;
  readonly spendGranted: SpendGranted;
}

/** Credit that was given for a sign-up. */
export interface SignupCredit {
  readonly amountMicroVnd: bigint;
  /** Absent: it never expires. */
  readonly expiresAtMs?: number;
}

/** Whether a campaign may give something for a sign-up now. */
function isOpen({ kind, pausedAtMs, startsAtMs, endsAtMs = Infinity }: Campaign, nowMs: number) {
  return kind === "signup" && pausedAtMs === undefined && nowMs >= startsAtMs && nowMs < endsAtMs;
}

/**
 * Gives an account what the oldest open campaign gives for a sign-up. Call it after the address is proven;
 * calling it again gives nothing more, and returns the same.
 *
 * @returns `undefined` if nothing is given: there is no campaign, its budget is used up, or the mailbox or
 * the network has had its share
 * @throws if the store does not answer; calling again is safe
 */
export async function grantSignupCredit(
  kv: KeyValueStore,
  { account, clientAddress, nowMs, spendGranted }: SignUp,
): Promise<SignupCredit | undefined> {
  if (account.email === undefined) return undefined;
  const campaigns = (await listCampaigns(kv)).filter((campaign) => isOpen(campaign, nowMs));
  const mailbox = signupCreditKey(await hashSecret("mailbox", mailboxOf(account.email)));
  for (const campaign of campaigns.toReversed()) {
    const given = await giveCredit(kv, {
      campaignId: campaign.id,
      accountId: account.id,
      kind: "signup_credit",
      operationId: `signup:${account.id}`,
      nowMs,
      spendGranted,
      amountOf: ({ gift }) => gift.kind === "amount" ? gift.amountMicroVnd : 0n,
      prepare: () => onceFor(kv, { mailbox, campaign, clientAddress, nowMs }),
    });
    if (!given.ok) continue;
    const { amountMicroVnd, grant } = given.entry;
    return { amountMicroVnd, ...defined({ expiresAtMs: grant?.expiresAtMs }) };
  }
  return undefined;
}

/** Allows the credit once per mailbox, and to some sign-ups of a network and day. */
async function onceFor(
  kv: KeyValueStore,
  { mailbox, campaign, clientAddress, nowMs }: {
    readonly mailbox: Deno.KvKey;
    readonly campaign: Campaign;
    readonly clientAddress: string;
    readonly nowMs: number;
  },
): Promise<((op: AtomicWrite) => void) | "mailbox" | "network"> {
  const entry = await kv.get(mailbox);
  if (entry.value !== null) return "mailbox";
  const rule = {
    name: `signup_credit_${campaign.id}`,
    count: campaign.perNetworkPerDay ?? signupsPerNetworkDefault,
    windowMs: dayMs,
  };
  const count = await countWith(kv, rule, networkOf(clientAddress), nowMs);
  if (count === undefined) return "network";
  return (op) => {
    op.check(entry).set(entry.key, nowMs);
    count(op);
  };
}
