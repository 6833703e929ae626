/**
 * Gives a bonus on a top-up. The commit that credits the top-up notes it; a step that may run anywhere, and
 * any number of times, gives the bonus and removes the note in one commit. The operation id of the bonus is
 * made of that of the top-up, so there is one for each.
 */
import { type Campaign, campaignRefusal, giftFor } from "../../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import { bonusDuePrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { BonusDue } from "./bonus_due.ts";
import { listCampaigns } from "./campaigns.ts";
import { giveCredit, type GiveRefusal } from "./grants.ts";

/** Most top-ups of one step; the rest waits for the next, some seconds later. */
const mostPerStep = 500;

/** What a step did. `waiting`: top-ups whose rows kept changing; the next step decides about them. */
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
  for await (const due of kv.list<BonusDue>({ prefix: bonusDuePrefix() }, { limit: mostPerStep })) {
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
