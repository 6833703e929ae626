/**
 * Operations on campaigns, which give credit to accounts.
 *
 * - Folder `routes/operator/operations/money/`: operations on what has to do with money.
 * - In: checked input, and who acts.
 * - Out: movements, requests for approval, campaigns and codes, invoices in new states, lists and sums for programs.
 * - Never: moves money without the authority of a person.
 */
import { findApprovers } from "../../../../kv/people/operators/approval_mails.ts";
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import { type CampaignId, parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Campaign,
  campaignKinds,
  type Gift,
} from "../../../../core/trade/credits/campaign.ts";
import {
  campaignFieldNames,
  type CampaignFields,
  campaignFields,
  noCampaignFields,
  readCampaign,
} from "../../../../core/trade/credits/campaign_form.ts";
import {
  approveCampaign,
  type CampaignActResult,
  listCampaigns,
  makeCampaign,
  pauseCampaign,
} from "../../../../kv/money/credits/campaigns.ts";
import {
  makeVouchers,
  maxCodesAtOnce,
  maxUsesOfCode,
} from "../../../../kv/money/credits/vouchers.ts";
import { deciderOf, operation, type Refused, refused, refusedAs } from "../contract/operation.ts";

const author = z.object({ accountId: z.string().optional(), email: z.string() });

const campaignRow = z.object({
  id: z.string(),
  kind: z.enum(campaignKinds),
  name: z.string(),
  gift: z.union([
    z.object({ kind: z.literal("amount"), amountVnd: z.string() }),
    z.object({ kind: z.literal("percent"), percent: z.number(), capVnd: z.string() }),
  ]),
  minTopupVnd: z.string().optional(),
  budgetVnd: z.string().optional(),
  maxGrants: z.int().optional(),
  expiresAfterDays: z.int().optional(),
  perAccount: z.int(),
  perNetworkPerDay: z.int().optional(),
  createdBy: author,
  needsApproval: z.literal(true).optional()
    .describe("It gives nothing until an operator agrees on the pages."),
  approvedBy: author.optional(),
  givenVnd: z.string(),
  grants: z.int(),
  expiredVnd: z.string(),
  createdAt: z.iso.datetime(),
  startsAt: z.iso.datetime(),
  endsAt: z.iso.datetime().nullable(),
  paused: z.boolean(),
});

const refusals: Readonly<Record<Exclude<CampaignActResult, "done" | "missing">, string>> = {
  state: "it is in that state already",
  person: "it needs somebody else",
  limit: "a program made it, and it promises more than one operator may promise alone; " +
    "deno task admin campaign approve has no limit",
  busy: "it kept changing; try again",
};

type Refusal = Exclude<CampaignActResult, "done">;

/** The refusal of an act on a campaign; `undefined` if it was done. */
function campaignRefusal(result: CampaignActResult): Refused<Refusal> | undefined {
  if (result === "done") return undefined;
  return result === "missing"
    ? refused("missing", "not_found", "There is no such campaign")
    : refusedAs(result, refusals);
}

/** Reads the id of a campaign. */
function campaignIdOf(
  text: string,
): { readonly ok: true; readonly id: CampaignId } | Refused<"missing"> {
  const id = parseId("campaign", text);
  return id === undefined
    ? refused("missing", "invalid_request", `Not a campaign: ${text}`, "campaign")
    : { ok: true, id };
}

function giftJson(gift: Gift) {
  return gift.kind === "amount"
    ? { kind: gift.kind, amountVnd: formatVnd(gift.amountMicroVnd) }
    : { kind: gift.kind, percent: gift.percent, capVnd: formatVnd(gift.capMicroVnd) };
}

function campaignJson(campaign: Campaign) {
  const { minTopupMicroVnd, budgetMicroVnd, givenMicroVnd, expiredMicroVnd, ...fields } = campaign;
  const { gift, createdAtMs, startsAtMs, endsAtMs, pausedAtMs, ...rest } = fields;
  const vnd = (microVnd: bigint | undefined) =>
    microVnd === undefined ? undefined : formatVnd(microVnd);
  return {
    ...rest,
    gift: giftJson(gift),
    ...defined({ minTopupVnd: vnd(minTopupMicroVnd), budgetVnd: vnd(budgetMicroVnd) }),
    givenVnd: formatVnd(givenMicroVnd),
    expiredVnd: formatVnd(expiredMicroVnd),
    createdAt: new Date(createdAtMs).toISOString(),
    startsAt: new Date(startsAtMs).toISOString(),
    endsAt: endsAtMs === undefined ? null : new Date(endsAtMs).toISOString(),
    paused: pausedAtMs !== undefined,
  };
}

/** Lists campaigns. */
export const newestCampaigns = operation({
  name: "campaigns.list",
  summary: "The newest 200 campaigns, with what they have given",
  effect: "reads",
  input: z.strictObject({}),
  output: z.object({ object: z.literal("list"), data: z.array(campaignRow) }),
  async run({ kv }) {
    const data = (await listCampaigns(kv)).map(campaignJson);
    return { ok: true, body: { object: "list" as const, data } };
  },
});

/** Makes a campaign. */
export const startCampaign = operation({
  name: "campaigns.make",
  summary: "Makes a campaign; one that a program makes waits for the agreement of an operator",
  effect: "acts",
  input: z.strictObject(recordOf(
    campaignFieldNames,
    (field) => z.string().optional().describe(campaignFields[field].form),
  )),
  output: campaignRow,
  async run({ kv, topup, hintMail, operators = [] }, typed, act) {
    const fields: CampaignFields = { ...noCampaignFields, ...defined(typed) };
    const read = readCampaign(fields, act.nowMs);
    if (!read.ok) {
      const { field } = read;
      const text = `${field}: must be ${campaignFields[field].form}`;
      return refused(field, "invalid_request", text, field);
    }
    // The limit binds persons alone: a program always needs one, and the owner of the store may write whatever row.
    const limitMicroVnd = topup.approvalAboveMicroVnd;
    const approvers = await findApprovers(kv, operators);
    const made = await makeCampaign(kv, read.terms, { ...act, limitMicroVnd, approvers });
    if (made.needsApproval === true) hintMail?.();
    return { ok: true, body: campaignJson(made) };
  },
});

/** Pauses a campaign, or resumes it. */
export const turnCampaign = operation({
  name: "campaigns.pause",
  summary: "Pauses a campaign (it gives nothing more), or resumes it",
  effect: "acts",
  input: z.strictObject({ campaign: z.string(), paused: z.boolean() }),
  output: z.object({ id: z.string(), paused: z.boolean() }),
  async run({ kv }, { campaign, paused }, act) {
    const named = campaignIdOf(campaign);
    if (!named.ok) return named;
    const { id } = named;
    return campaignRefusal(await pauseCampaign(kv, id, paused, act)) ??
      { ok: true, body: { id, paused } };
  },
});

/** Agrees to a campaign. */
export const agreeToCampaign = operation({
  name: "campaigns.approve",
  summary: "Agrees to a campaign that promises more than who made it may promise alone",
  effect: "acts",
  authority: "person",
  input: z.strictObject({ campaign: z.string() }),
  output: z.object({ id: z.string(), approve: z.literal("done") }),
  async run({ kv, topup }, { campaign }, act) {
    const named = campaignIdOf(campaign);
    if (!named.ok) return named;
    const { id } = named;
    const decision = {
      operator: deciderOf(act),
      nowMs: act.nowMs,
      limitMicroVnd: topup.approvalAboveMicroVnd,
    };
    return campaignRefusal(await approveCampaign(kv, id, decision)) ??
      { ok: true, body: { id, approve: "done" as const } };
  },
});

/** Makes voucher codes. */
export const makeCodes = operation({
  name: "campaigns.codes",
  summary: "Makes voucher codes of a campaign; this answer alone has them",
  effect: "acts",
  input: z.strictObject({
    campaign: z.string(),
    count: z.int().min(1).max(maxCodesAtOnce),
    uses: z.int().min(1).max(maxUsesOfCode).default(1).describe("Accounts that may use a code."),
  }),
  output: z.object({ campaignId: z.string(), codes: z.array(z.string()) }),
  async run({ kv }, { campaign, count, uses: maxUses }, act) {
    const named = campaignIdOf(campaign);
    if (!named.ok) return named;
    const campaignId = named.id;
    const made = await makeVouchers(kv, { campaignId, count, maxUses }, act);
    if (!made.ok) return refused("missing", "not_found", "There is no such campaign of vouchers");
    return { ok: true, body: { campaignId, codes: [...made.codes] } };
  },
});
