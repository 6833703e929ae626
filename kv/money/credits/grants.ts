/**
 * Gives credit from a campaign: the line of the ledger, the pots of the account, the sums of the campaign
 * and the number of grants per account change in one commit, which checks the campaign as it was read. So
 * grants on several instances at once never exceed the budget.
 *
 * - Folder `kv/money/credits/`: credit that operators give: campaigns, grants, sign-ups, bonuses, vouchers, expiry.
 * - In: acts of operators, sign-ups, codes that customers type, the time.
 * - Out: lines of the ledger with the grants that they made or ended, figures of campaigns.
 * - Never: gives more than the budget of a campaign, or takes back more than is left of a grant.
 */
import {
  type Campaign,
  type CampaignRefusal,
  campaignRefusal,
  expiryOf,
} from "../../../core/trade/credits/campaign.ts";
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId, CampaignId, VoucherId } from "../../../core/lib/ids/ids.ts";
import type { MailKind } from "../../../core/people/mail/mail.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { type Account, isClosed, mailReaderOf } from "../../people/accounts/accounts.ts";
import { credit, type GivenKind, type LedgerEntry } from "../ledger/ledger.ts";
import {
  accountKey,
  campaignKey,
  grantBookKey,
  grantCountKey,
  grantsOfCampaignPrefix,
  ledgerOperationKey,
} from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Operator } from "../../people/audit/operator_audit.ts";
import { mayProfit } from "../../people/operators/beneficiaries.ts";
import { type Grant, grantBook, readPots } from "../balances/grant_book.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";

// Computes what became of the credit of a campaign, for operators.

/** The newest grants that are looked at: those of which something may be left cost a few reads each. */
const readGrants = 300;

/** Accounts whose pots are read at once. */
const accountsAtOnce = 16;

/** Figures of the newest grants. */
export interface CampaignFigures {
  /** Grants that the sums below are about. */
  readonly read: number;
  readonly givenMicroVnd: bigint;
  readonly spentMicroVnd: bigint;
  readonly expiredMicroVnd: bigint;
  readonly leftMicroVnd: bigint;
  /** The newest first. */
  readonly newest: readonly GrantFigures[];
}

/** Figures of one grant. */
export interface GrantFigures {
  readonly grant: Grant;
  readonly leftMicroVnd: bigint;
}

/** Reads the newest grants of a campaign, with what is left of each. */
export async function readCampaignFigures(
  kv: KeyValueStore,
  { id }: Pick<Campaign, "id">,
  totalOf: (accountId: AccountId) => Promise<bigint>,
): Promise<CampaignFigures> {
  const page = { limit: readGrants, batchSize: listBatchRows, reverse: true };
  const rows = kv.list<Grant>({ prefix: grantsOfCampaignPrefix(id) }, page);
  const grants = await Array.fromAsync(rows, ({ value }) => value);
  const open = new Set(
    grants.filter(({ closedAtMs }) => closedAtMs === undefined).map(({ accountId }) => accountId),
  );
  const left = new Map<string, bigint>();
  const accounts = [...open];
  for (let at = 0; at < accounts.length; at += accountsAtOnce) {
    const some = accounts.slice(at, at + accountsAtOnce);
    const pots = await Promise.all(some.map((accountId) => readPots(kv, accountId, totalOf)));
    for (const each of pots.flatMap((one) => one.grants)) left.set(each.grantId, each.leftMicroVnd);
  }
  const newest = grants.map((grant) => ({ grant, leftMicroVnd: left.get(grant.grantId) ?? 0n }));
  const sum = (amountOf: (one: GrantFigures) => bigint) =>
    newest.reduce((total, one) => total + amountOf(one), 0n);
  const givenMicroVnd = sum(({ grant }) => grant.amountMicroVnd);
  const expiredMicroVnd = sum(({ grant }) => grant.expiredMicroVnd);
  const leftMicroVnd = sum((one) => one.leftMicroVnd);
  const spentMicroVnd = givenMicroVnd - expiredMicroVnd - leftMicroVnd;
  return {
    read: grants.length,
    givenMicroVnd,
    spentMicroVnd,
    expiredMicroVnd,
    leftMicroVnd,
    newest,
  };
}

/**
 * Attempts of a check-and-set on a campaign: everybody who is given something competes for its row. With
 * the pauses in between, some fifty at once all succeed.
 */
const giveAttempts = 60;

/** Most grants of an account of which something is left: their row has room for some two hundred. */
const maxOpenGrants = 100;

/** A grant to make. */
export interface GiveRequest {
  readonly campaignId: CampaignId;
  readonly accountId: AccountId;
  readonly kind: GivenKind;
  /** Names the cause: a grant is made once for it. */
  readonly operationId: string;
  readonly nowMs: number;
  readonly spendGranted: SpendGranted;
  readonly voucherId?: VoucherId;
  /** Computes the amount; 0 for none. */
  readonly amountOf: (campaign: Campaign) => bigint;
  /** The moment that has to be in the period of the campaign; by default `nowMs`. */
  readonly causedAtMs?: number;
  /**
   * Reads and decides what the caller has to check besides, anew for each attempt. Returns what the commit
   * writes and checks (at most three checks), or why nothing is given.
   */
  readonly prepare?: () => Promise<((op: AtomicWrite) => void) | OwnRefusal>;
}

/** Refusals that callers decide about. */
export type OwnRefusal = "unknown" | "used" | "mailbox" | "network";

/**
 * Why nothing was given, beside what is said of a campaign. `account`: it is gone or blocked. `author`: the
 * campaign is the operator's own. `limit`: the account has had its share. `too_many`: it has too many
 * grants of which something is left. `amount`: nothing is due. `busy`: the rows kept changing.
 */
export type GiveRefusal =
  | CampaignRefusal
  | OwnRefusal
  | "account"
  | "author"
  | "limit"
  | "too_many"
  | "amount"
  | "busy";

/** The result of a grant. */
export type GiveResult =
  /** `isRepeated`: it was made before, and nothing moved now. */
  | { readonly ok: true; readonly entry: LedgerEntry; readonly isRepeated: boolean }
  | { readonly ok: false; readonly why: GiveRefusal };

type Attempt = { readonly done: GiveResult } | "again";

/**
 * Gives credit, once per operation id.
 *
 * @throws if the store does not answer; calling again is safe
 */
export async function giveCredit(kv: KeyValueStore, request: GiveRequest): Promise<GiveResult> {
  const outcome = await compareAndSet(() => tryToGive(kv, request), { attempts: giveAttempts });
  const result = outcome === "conflict" ? { ok: false, why: "busy" } as const : outcome.done;
  if (result.ok) return result;
  // The same request, sent twice, may have been granted between two reads of this one.
  const { value: entry } = await kv.get<LedgerEntry>(ledgerOperationKey(request.operationId));
  return entry?.accountId === request.accountId ? { ok: true, entry, isRepeated: true } : result;
}

function refused(why: GiveRefusal): Attempt {
  return { done: { ok: false, why } };
}

async function tryToGive(kv: KeyValueStore, request: GiveRequest): Promise<Attempt> {
  const { campaignId, accountId, nowMs, operationId } = request;
  const [earlier, campaign, account, count, book] = await kv.getMany<
    [LedgerEntry, Campaign, Account, number, unknown]
  >([
    ledgerOperationKey(operationId),
    campaignKey(campaignId),
    accountKey(accountId),
    grantCountKey(campaignId, accountId),
    grantBookKey(accountId),
  ]);
  if (earlier.value !== null) {
    return earlier.value.accountId === accountId
      ? { done: { ok: true, entry: earlier.value, isRepeated: true } }
      : refused("used");
  }
  const own = await request.prepare?.();
  if (typeof own === "string") return refused(own);
  const why = await refusalOf(kv, request, { campaign: campaign.value, account: account.value });
  if (why !== undefined) return refused(why);
  if (campaign.value === null) return refused("unknown");
  const given = count.value ?? 0;
  if (given >= campaign.value.perAccount) return refused("limit");
  if ((grantBook(book)?.grants.length ?? 0) >= maxOpenGrants) return refused("too_many");
  const amountMicroVnd = request.amountOf(campaign.value);
  const changed: Campaign = {
    ...campaign.value,
    givenMicroVnd: campaign.value.givenMicroVnd + amountMicroVnd,
    grants: campaign.value.grants + 1,
  };
  const result = await credit(kv, {
    ...movementOf(request, campaign.value, amountMicroVnd),
    atMs: nowMs,
    attach(op) {
      op.check(campaign, account, count).set(campaign.key, changed).set(count.key, given + 1);
      own?.(op);
      addGiftMail(op, request, { account: account.value, campaign: changed, amountMicroVnd });
    },
  });
  switch (result.status) {
    case "applied":
      return { done: { ok: true, entry: result.entry, isRepeated: false } };
    case "duplicate":
      return { done: { ok: true, entry: result.entry, isRepeated: true } };
    case "mismatch":
      return refused("used");
    case "insufficient":
    case "conflict":
      return "again";
  }
}

async function refusalOf(
  kv: KeyValueStore,
  { nowMs, causedAtMs = nowMs, amountOf }: GiveRequest,
  { campaign, account }: { readonly campaign: Campaign | null; readonly account: Account | null },
): Promise<GiveRefusal | undefined> {
  if (campaign === null) return "unknown";
  if (account === null || isClosed(account)) return "account";
  const amountMicroVnd = amountOf(campaign);
  if (amountMicroVnd <= 0n) return "amount";
  if (await isGiver(kv, campaign, account)) return "author";
  return campaignRefusal(campaign, amountMicroVnd, causedAtMs);
}

/** Whether one of the operators behind a campaign may profit from an account. */
async function isGiver(
  kv: KeyValueStore,
  { createdBy, approvedBy }: Campaign,
  account: Account,
): Promise<boolean> {
  const givers = [createdBy, approvedBy].flatMap((author): Operator[] => {
    const { accountId, email = "" } = author ?? {};
    return accountId === undefined ? [] : [{ accountId, email }];
  });
  // The command line, which is no operator, gives to everybody.
  return givers.length > 0 && await mayProfit(kv, givers, account);
}

/** The mails about kinds of gifts; a sign-up is greeted by a page. */
const giftMails = {
  bonus: "bonus_credited",
  voucher: "voucher_redeemed",
  signup_credit: undefined,
} as const satisfies Record<GivenKind, MailKind | undefined>;

/** Queues the mail about credit, in the commit that gives it. */
function addGiftMail(
  op: AtomicWrite,
  { kind, nowMs, operationId: id }: GiveRequest,
  { account, campaign, amountMicroVnd }: {
    readonly account: Account | null;
    readonly campaign: Campaign;
    readonly amountMicroVnd: bigint;
  },
): void {
  const mailKind = giftMails[kind];
  if (mailKind === undefined || account === null) return;
  const reader = mailReaderOf(account, mailKind);
  if (reader === undefined) return;
  const gift = { amountMicroVnd, campaign: campaign.name };
  const expiresAtMs = expiryOf(campaign, nowMs);
  addMail(op, { kind: mailKind, ...reader, ...gift, ...defined({ expiresAtMs }) }, { nowMs, id });
}

function movementOf(
  { accountId, kind, operationId, nowMs, spendGranted, voucherId }: GiveRequest,
  campaign: Campaign,
  amountMicroVnd: bigint,
) {
  const expiresAtMs = expiryOf(campaign, nowMs);
  return {
    accountId,
    amountMicroVnd,
    kind,
    operationId,
    reason: campaign.name,
    spendGranted,
    grant: { campaignId: campaign.id, ...defined({ expiresAtMs, voucherId }) },
  };
}
