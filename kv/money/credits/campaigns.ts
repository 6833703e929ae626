/**
 * Stores campaigns. Their terms do not change; operators make them, agree to those of others, pause and
 * resume them. Each act has its audit line in the same commit.
 */
import {
  type Campaign,
  type CampaignAuthor,
  type CampaignTerms,
  maxGiven,
} from "../../../core/trade/credits/campaign.ts";
import { formatVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CampaignId, newId } from "../../../core/lib/ids/ids.ts";
import {
  type Actor,
  addAuditLine,
  isPerson,
  type OperatorAct,
  operatorProgram,
} from "../../people/audit/operator_audit.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import { addApprovalMails } from "../../people/operators/approval_mails.ts";
import { authorizePromise } from "../../people/operators/operator_authority.ts";
import { isSamePerson } from "../../people/operators/beneficiaries.ts";
import { campaignKey, campaignsPrefix } from "../../engine/schema/keys.ts";
import { commitFresh, compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Campaigns that are looked at, the newest: sign-ups and top-ups read them all. */
const readCampaigns = 200;

/** Attempts of a check-and-set on a campaign by an operator, against the grants of customers. */
const actAttempts = 20;

/** Actor and time of an act. */
export interface CampaignAct {
  readonly operator: Actor;
  readonly nowMs: number;
}

/** Returns the author that an actor is. */
function authorOf(operator: Actor): CampaignAuthor {
  return "accountId" in operator
    ? { accountId: operator.accountId, email: operator.email }
    : { email: operator.email };
}

/**
 * Makes a campaign. If an operator promises more than one may, over all campaigns of 24 hours, it gives
 * nothing until a second operator has agreed. A program with the operator key may promise nothing by itself;
 * the command line has no limit.
 */
export async function makeCampaign(
  kv: KeyValueStore,
  terms: CampaignTerms,
  { operator, nowMs, limitMicroVnd, approvers = [] }: CampaignAct & {
    readonly limitMicroVnd: bigint;
    /** Operators who get a mail if it waits for one of them. */
    readonly approvers?: readonly Account[];
  },
): Promise<Campaign> {
  const promisedMicroVnd = maxGiven(terms);
  const id = newId("campaign", nowMs);
  const outcome = await compareAndSet<Campaign>(async () => {
    const attach = await promiseOf(kv, {
      operator,
      amountMicroVnd: promisedMicroVnd,
      nowMs,
      limitMicroVnd,
    });
    const campaign: Campaign = {
      ...terms,
      id,
      createdAtMs: nowMs,
      createdBy: authorOf(operator),
      ...(attach === undefined && { needsApproval: true }),
      givenMicroVnd: 0n,
      grants: 0,
      expiredMicroVnd: 0n,
    };
    const operation = kv.atomic()
      .check({ key: campaignKey(id), versionstamp: null })
      .set(campaignKey(id), campaign);
    attach?.(operation);
    if (attach === undefined) {
      addApprovalMails(operation, {
        id,
        requestedBy: operator,
        amountMicroVnd: promisedMicroVnd,
        reason: terms.name,
      }, { approvers, nowMs });
    }
    const detail = `${terms.kind} "${terms.name}", at most ${formatVnd(promisedMicroVnd)} VND` +
      (attach === undefined ? ", waits for a second operator" : "");
    addAuditLine(operation, operator, { act: "campaign_made", subject: id, detail, atMs: nowMs });
    return await commitFresh(kv, operation, campaignKey(id)) ? { done: campaign } : "again";
  }, { attempts: actAttempts });
  if (outcome === "conflict") throw new Error("The rows of an operator kept changing");
  return outcome.done;
}

/** Returns what the commit of a promise writes; `undefined` if an operator has to agree to it. */
async function promiseOf(
  kv: KeyValueStore,
  { operator, ...wanted }: CampaignAct & {
    readonly amountMicroVnd: bigint;
    readonly limitMicroVnd: bigint;
  },
): Promise<((operation: AtomicWrite) => void) | undefined> {
  if (isPerson(operator)) return await authorizePromise(kv, { ...wanted, operator });
  return operator.email === operatorProgram.email ? undefined : noRows;
}

function noRows(_operation: AtomicWrite): void {}

/**
 * The result of an act on a campaign. `missing`: there is none. `state`: it is in that state already.
 * `person`: an operator cannot agree to their own campaign. `limit`: it promises more than this operator may promise
 * alone, and nobody else stands behind it. `busy`: the row kept changing.
 */
export type CampaignActResult = "done" | "missing" | "state" | "person" | "limit" | "busy";

/**
 * Agrees to a campaign that another operator made. That of a program counts as a promise of whoever agrees to it: who
 * has the operator's key and an account would else promise any sum alone.
 */
export async function approveCampaign(
  kv: KeyValueStore,
  id: CampaignId,
  act: CampaignAct & { readonly limitMicroVnd: bigint },
): Promise<CampaignActResult> {
  return await change(kv, id, act, "campaign_approved", async (campaign) => {
    if (campaign.needsApproval !== true || campaign.approvedBy !== undefined) return "state";
    const { operator, nowMs, limitMicroVnd } = act;
    if (operator.email === operatorProgram.email) return "person";
    const approved = { ...campaign, approvedBy: authorOf(operator) };
    if (!isPerson(operator)) return { campaign: approved };
    if (isAuthor(campaign.createdBy, operator)) return "person";
    if (campaign.createdBy.email !== operatorProgram.email) return { campaign: approved };
    const amountMicroVnd = maxGiven(campaign);
    const attach = await authorizePromise(kv, { operator, amountMicroVnd, nowMs, limitMicroVnd });
    return attach === undefined ? "limit" : { campaign: approved, attach };
  });
}

/** Pauses a campaign, or resumes it. */
export async function pauseCampaign(
  kv: KeyValueStore,
  id: CampaignId,
  isPaused: boolean,
  act: CampaignAct,
): Promise<CampaignActResult> {
  const what = isPaused ? "campaign_paused" : "campaign_resumed";
  return await change(kv, id, act, what, (before) => {
    const { pausedAtMs, ...running } = before;
    if ((pausedAtMs !== undefined) === isPaused) return "state";
    return { campaign: isPaused ? { ...running, pausedAtMs: act.nowMs } : running };
  });
}

/** Whether the author of a campaign may be the same person as somebody with an account. */
function isAuthor(
  author: CampaignAuthor,
  account: { readonly accountId: string; readonly email?: string | undefined },
): boolean {
  const { accountId, email } = author;
  return accountId !== undefined && isSamePerson({ accountId, email }, account);
}

/** A campaign as an act leaves it, with what the commit checks and writes besides. */
interface ChangedCampaign {
  readonly campaign: Campaign;
  readonly attach?: (operation: AtomicWrite) => void;
}

type CampaignChange = ChangedCampaign | "state" | "person" | "limit";

async function change(
  kv: KeyValueStore,
  id: CampaignId,
  { operator, nowMs }: CampaignAct,
  act: OperatorAct,
  changedOf: (campaign: Campaign) => CampaignChange | Promise<CampaignChange>,
): Promise<CampaignActResult> {
  const outcome = await compareAndSet<CampaignActResult>(async () => {
    const entry = await kv.get<Campaign>(campaignKey(id));
    if (entry.value === null) return { done: "missing" };
    const changed = await changedOf(entry.value);
    if (typeof changed === "string") return { done: changed };
    const { campaign, attach } = changed;
    const operation = kv.atomic().check(entry).set(entry.key, campaign);
    addAuditLine(operation, operator, { act, subject: id, detail: campaign.name, atMs: nowMs });
    attach?.(operation);
    return (await operation.commit()).ok ? { done: "done" } : "again";
  }, { attempts: actAttempts });
  return outcome === "conflict" ? "busy" : outcome.done;
}

/** Reads a campaign; `undefined` if there is none. */
export async function getCampaign(
  kv: KeyValueStore,
  id: CampaignId,
): Promise<Campaign | undefined> {
  return (await kv.get<Campaign>(campaignKey(id))).value ?? undefined;
}

/** Lists the newest campaigns, newest first. */
export async function listCampaigns(kv: KeyValueStore): Promise<Campaign[]> {
  const rows = kv.list<Campaign>({ prefix: campaignsPrefix() }, {
    limit: readCampaigns,
    batchSize: readCampaigns,
    reverse: true,
  });
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}
