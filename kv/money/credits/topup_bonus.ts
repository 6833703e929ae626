/**
 * Gives a bonus on a top-up. The commit that credits the top-up notes it; a step that may run anywhere, and
 * any number of times, gives the bonus and removes the note in one commit. The operation id of the bonus is
 * made of that of the top-up, so there is one for each.
 */
import { type Campaign, campaignRefusal, giftFor } from "../../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import { bonusDueKey, bonusDuePrefix, signupCreditKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listCampaigns } from "./campaigns.ts";
import { giveCredit, type GiveRefusal } from "./grants.ts";
import { creditOperationId } from "../../../core/trade/bank/bank_notice.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { CreditedTransfer } from "../payments/bank_matching.ts";
import { mailboxOf } from "../../../core/people/accounts/email_address.ts";
import { hashSecret } from "../../../core/people/accounts/secret_token.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { networkOf } from "../../../core/net/addresses/ip_address.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import { countWith } from "../../people/accounts/rate_limits.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// Notes top-ups whose bonus is to be decided. The note is all that the commit of a top-up needs to write.

/** A top-up whose bonus is not decided yet. */
export interface BonusDue {
  readonly operationId: string;
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly creditedAtMs: number;
}

/** Notes a top-up in the commit that credits it. */
export function noteTopup(
  operation: AtomicWrite,
  { account, event, atMs }: CreditedTransfer,
): void {
  const operationId = creditOperationId(event);
  const due: BonusDue = {
    operationId,
    accountId: account.id,
    amountMicroVnd: event.amountMicroVnd,
    creditedAtMs: atMs,
  };
  operation.set(bonusDueKey(operationId), due);
}

// Gives credit for a sign-up: once per account and per mailbox, and to a few sign-ups of one client network
// per day. The row of the mailbox outlives the account, so deleting an account and signing up again gives
// nothing.

/** Sign-ups of a network and day that get credit, unless the campaign says otherwise. */
export const signupsPerNetworkDefault = 10;

/** Person who signed up, and from where. */
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

/** Most top-ups of one step; the rest waits for the next, some seconds later. */
const maxPerStep = 500;

/** Result of a step. `waiting`: top-ups whose rows kept changing; the next step decides about them. */
export interface BonusStep {
  readonly given: number;
  readonly waiting: number;
}

/** Decides about the bonus of all top-ups that wait for it, by the campaigns of the time of their credit. */
export async function giveDueBonuses(
  kv: KeyValueStore,
  now: { readonly nowMs: number; readonly spendGranted: SpendGranted },
): Promise<BonusStep> {
  const step = { given: 0, waiting: 0 };
  let campaigns: readonly Campaign[] | undefined;
  for await (const due of kv.list<BonusDue>({ prefix: bonusDuePrefix() }, { limit: maxPerStep })) {
    campaigns ??= (await listCampaigns(kv)).filter(({ kind }) => kind === "bonus");
    const outcome = await decide(kv, due, { ...now, campaigns });
    if (outcome === "given") step.given++;
    else if (outcome === "waiting") step.waiting++;
  }
  return step;
}

async function decide(
  kv: KeyValueStore,
  due: Deno.KvEntry<BonusDue>,
  { nowMs, spendGranted, campaigns }: {
    readonly nowMs: number;
    readonly spendGranted: SpendGranted;
    readonly campaigns: readonly Campaign[];
  },
): Promise<"given" | "waiting" | "none"> {
  const { accountId, amountMicroVnd, creditedAtMs, operationId } = due.value;
  for (const campaign of bestFirst(campaigns, due.value)) {
    const given = await giveCredit(kv, {
      campaignId: campaign.id,
      accountId,
      kind: "bonus",
      operationId: `bonus:${operationId}`,
      nowMs,
      causedAtMs: creditedAtMs,
      spendGranted,
      amountOf: (terms) => giftFor(terms, amountMicroVnd),
      prepare: () => Promise.resolve((op) => void op.check(due).delete(due.key)),
    });
    if (given.ok) {
      if (given.isRepeated) break;
      return "given";
    }
    if (given.why === "busy") return "waiting";
    if (!isOfCampaign(given.why)) break;
  }
  // Nothing more is due: another step has decided, or no campaign gives anything.
  await kv.atomic().check(due).delete(due.key).commit();
  return "none";
}

/** The campaigns that may give something for a top-up, the largest bonus first. */
function bestFirst(campaigns: readonly Campaign[], due: BonusDue): Campaign[] {
  const giftOf = (campaign: Campaign) => giftFor(campaign, due.amountMicroVnd);
  return campaigns
    .filter((campaign) =>
      giftOf(campaign) > 0n &&
      campaignRefusal(campaign, giftOf(campaign), due.creditedAtMs) === undefined
    )
    .sort((one, other) => giftOf(one) > giftOf(other) ? -1 : 1);
}

/** Whether a refusal is one of this campaign, so that another one may give something. */
function isOfCampaign(why: GiveRefusal): boolean {
  return why !== "account" && why !== "too_many" && why !== "used";
}
