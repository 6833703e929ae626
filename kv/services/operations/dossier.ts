/**
 * Collects what an operator should know before money moves: who gets it, from whom, by which evidence, what was decided
 * before, and what is unusual about it.
 *
 * The facts on which a decision rests have a mark. A decision names the mark that was shown with them; if a fact has
 * changed since, the commit that would move the money is not made.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import type { LedgerEntry } from "../../money/ledger/ledger.ts";
import { type BankNoticeRow, getBankNotice } from "../../money/payments/bank_notices.ts";
import { type BalanceOf, findTarget } from "../../money/payments/bank_assignment.ts";
import { listTopupOrders, orderStatus, type TopupOrder } from "../../money/payments/topups.ts";
import { accountKey, ledgerPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type ActFacts, markOf } from "../../people/operators/operator_authority.ts";
import { isSamePerson, mayProfit } from "../../people/operators/beneficiaries.ts";
import { type Approval, listApprovals, type PendingAct } from "./approvals.ts";
import {
  type AuditLine,
  listAuditLines,
  type MovedMoney,
  type Operator,
} from "../../people/audit/operator_audit.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Warnings about an unusual act. */
export type DossierWarning =
  /** The operator who looks has requested it. */
  | "same_operator"
  /** The account is one of the operator who looks, or of the one who asked. */
  | "own_account"
  | "young_account"
  | "blocked_account"
  /** Several times more than the account ever topped up at once. */
  | "unusual_sum"
  /** The order asks for another amount. */
  | "other_amount"
  /** The order is paid or cancelled already. */
  | "closed_order"
  /** Another notice may report the same movement. */
  | "possible_duplicate"
  /** The same sum was moved to or from this account within a day. */
  | "same_sum_moved"
  /** The evidence is a file that the requesting or the deciding operator imported. */
  | "own_import"
  /** More is taken than the account has. */
  | "below_zero";

/** Sums that the account topped up so far, by its latest orders. */
export interface EarlierTopups {
  readonly count: number;
  readonly sumMicroVnd: bigint;
  readonly largestMicroVnd: bigint;
  readonly lastAtMs: number | undefined;
}

/** Everything about one act, as it is now. */
export interface Dossier {
  readonly act: PendingAct;
  readonly money: MovedMoney;
  readonly account: Account;
  readonly order: TopupOrder | undefined;
  readonly notice: BankNoticeRow | undefined;
  readonly topups: EarlierTopups;
  /** The latest movements of the account, newest first. */
  readonly ledger: readonly LedgerEntry[];
  /** Decisions about the same account or notice, newest first. */
  readonly decisions: readonly AuditLine[];
  /** Requests about the same account or notice, newest first. */
  readonly requests: readonly Approval[];
  readonly warnings: readonly DossierWarning[];
  /** Identifies the facts that a decision rests on. */
  readonly mark: string;
}

/** Orders whose sums are added up, newest first. */
const ordersRead = 50;

/** Movements and decisions of a dossier. */
const linesShown = 5;

/** Lines of the audit log and requests that are searched for the same account or notice. */
const decisionsSearched = 500;

/** A sum is unusual above so many times the largest top-up before. */
const unusualTimes = 5n;

/** Context of a dossier. */
export interface DossierContext {
  /** The operator who looks. */
  readonly operator: Operator;
  readonly nowMs: number;
  readonly balanceOf: BalanceOf;
  /** The request that waits, if there is one. */
  readonly approval?: Approval | undefined;
}

/** The facts as they are read: whole rows. */
interface ReadFacts extends ActFacts {
  readonly order?: TopupOrder | undefined;
  readonly notice?: BankNoticeRow | undefined;
}

/** Reads the facts of an act; `undefined` if its target is gone. */
async function readFacts(kv: KeyValueStore, act: PendingAct): Promise<ReadFacts | undefined> {
  if (act.kind === "adjust") {
    const { value: account } = await kv.get<Account>(accountKey(act.accountId));
    return account === null ? undefined : { amountMicroVnd: act.amountMicroVnd, account };
  }
  const [target, notice] = await Promise.all([
    findTarget(kv, act.target),
    getBankNotice(kv, act.ref),
  ]);
  if (target === undefined || notice.value === null) return undefined;
  return {
    amountMicroVnd: notice.value.event.amountMicroVnd,
    account: target.account.value,
    order: target.order?.value,
    notice: notice.value,
  };
}

function moneyOfFacts(
  act: PendingAct,
  { amountMicroVnd, account, order }: ReadFacts,
  before: bigint,
): MovedMoney {
  return {
    accountId: account.id,
    amountMicroVnd,
    balanceBeforeMicroVnd: before,
    balanceAfterMicroVnd: before + amountMicroVnd,
    ...(act.kind === "assign" && { notice: { source: act.ref.source, id: act.ref.id } }),
    ...(order !== undefined && { orderCode: order.code }),
  };
}

async function readTopups(kv: KeyValueStore, accountId: AccountId): Promise<EarlierTopups> {
  const orders = await listTopupOrders(kv, accountId, { count: ordersRead });
  const paid = orders.filter(({ receivedMicroVnd }) => receivedMicroVnd > 0n);
  return {
    count: paid.length,
    sumMicroVnd: paid.reduce((sum, { receivedMicroVnd }) => sum + receivedMicroVnd, 0n),
    largestMicroVnd: paid.reduce(
      (most, { receivedMicroVnd }) => receivedMicroVnd > most ? receivedMicroVnd : most,
      0n,
    ),
    lastAtMs: paid[0]?.paidAtMs,
  };
}

function subjectsOf(act: PendingAct, accountId: AccountId): ReadonlySet<string> {
  const notice = act.kind === "assign" ? [`${act.ref.source}:${act.ref.id}`] : [];
  return new Set([accountId, ...notice]);
}

function isAbout(act: PendingAct, subjects: ReadonlySet<string>): boolean {
  return act.kind === "adjust"
    ? subjects.has(act.accountId)
    : subjects.has(`${act.ref.source}:${act.ref.id}`) ||
      (act.target.kind === "account" && subjects.has(act.target.accountId));
}

/** Collects the dossier of an act; `undefined` if its account, order or notice is gone. */
export async function readDossier(
  kv: KeyValueStore,
  act: PendingAct,
  context: DossierContext,
): Promise<Dossier | undefined> {
  const facts = await readFacts(kv, act);
  if (facts === undefined) return undefined;
  const { account } = facts;
  const subjects = subjectsOf(act, account.id);
  const ledgerRows = kv.list<LedgerEntry>(
    { prefix: ledgerPrefix(account.id) },
    { limit: linesShown, reverse: true },
  );
  const [before, topups, ledger, lines, approvals] = await Promise.all([
    context.balanceOf(account.id),
    readTopups(kv, account.id),
    Array.fromAsync(ledgerRows),
    listAuditLines(kv, { count: decisionsSearched }),
    listApprovals(kv, decisionsSearched),
  ]);
  const dossier = {
    act,
    money: moneyOfFacts(act, facts, before),
    account,
    order: facts.order,
    notice: facts.notice,
    topups,
    ledger: ledger.map(({ value }) => value),
    decisions: lines.filter(({ subject, money }) =>
      subjects.has(subject) || (money !== undefined && subjects.has(money.accountId))
    ).slice(0, linesShown),
    requests: approvals.filter(({ id, act }) =>
      id !== context.approval?.id && isAbout(act, subjects)
    ).slice(0, linesShown),
    mark: markOf(facts),
  };
  return { ...dossier, warnings: await warningsOf(kv, dossier, context) };
}

type Unwarned = Omit<Dossier, "warnings">;

/** The tests of a dossier, in the order in which they are shown. */
const checks: readonly (readonly [
  DossierWarning,
  (dossier: Unwarned, context: DossierContext & { readonly isOwn: boolean }) => boolean,
])[] = [
  ["own_account", (_, { isOwn }) => isOwn],
  [
    "same_operator",
    (_, { operator, approval }) =>
      approval !== undefined && isSamePerson(operator, approval.requestedBy),
  ],
  [
    "possible_duplicate",
    ({ notice }) => notice?.state.kind === "review" && notice.state.about !== undefined,
  ],
  [
    "same_sum_moved",
    ({ ledger, money }, { nowMs }) =>
      ledger.some(({ amountMicroVnd, atMs }) =>
        amountMicroVnd === money.amountMicroVnd && nowMs - atMs < dayMs
      ),
  ],
  ["young_account", ({ account }, { nowMs }) => nowMs - account.createdAtMs < dayMs],
  ["blocked_account", ({ account }) => account.blockedAtMs !== undefined],
  [
    "unusual_sum",
    ({ money: { amountMicroVnd }, topups }) =>
      topups.count > 0 && amountMicroVnd > topups.largestMicroVnd * unusualTimes,
  ],
  [
    "other_amount",
    ({ order, money }) => order !== undefined && order.askedMicroVnd !== money.amountMicroVnd,
  ],
  [
    "closed_order",
    ({ order }, { nowMs }) => order !== undefined && orderStatus(order, nowMs) !== "pending",
  ],
  ["own_import", ({ notice }, { operator, approval }) =>
    notice?.importedBy !== undefined &&
    [operator, approval?.requestedBy].some((one) =>
      one !== undefined && notice.importedBy !== undefined && isSamePerson(one, notice.importedBy)
    )],
  ["below_zero", ({ money }) => money.amountMicroVnd < 0n && money.balanceAfterMicroVnd < 0n],
];

async function warningsOf(
  kv: KeyValueStore,
  dossier: Unwarned,
  context: DossierContext,
): Promise<DossierWarning[]> {
  const { operator, approval } = context;
  const deciders = approval === undefined ? [operator] : [operator, approval.requestedBy];
  const isOwn = await mayProfit(kv, deciders, dossier.account);
  return checks.filter(([, applies]) => applies(dossier, { ...context, isOwn }))
    .map(([warning]) => warning);
}
