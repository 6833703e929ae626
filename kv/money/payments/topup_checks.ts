/**
 * Checks that bank, orders and ledger agree; runs every few hours and in `admin verify`. Reads
 * everything, changes nothing. On a live store a row may change between two reads, so only a
 * problem found twice in a row is real.
 */
import { creditOperationId } from "../../../core/trade/bank/bank_notice.ts";
import { duplicateFault } from "./bank_duplicates.ts";
import type { BankNoticeRow } from "./bank_notices.ts";
import {
  bankNoticeKey,
  bankNoticesPrefix,
  bankReviewKey,
  ledgerOperationKey,
  ledgersPrefix,
  topupOrdersPrefix,
  topupPaymentKey,
  topupPaymentsPrefix,
  unmatchedBankNoticeKey,
} from "../../engine/schema/keys.ts";
import type { LedgerEntry } from "../ledger/ledger.ts";
import type { TopupOrder, TopupPayment } from "./topups.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Invoice } from "../../../core/trade/invoices/invoice.ts";
import {
  type Account,
  mailAboutOf,
  mailReaderOf,
  wantsMail,
} from "../../people/accounts/accounts.ts";
import type { CreditedTransfer } from "./bank_matching.ts";
import { addWebhookEvent } from "../../people/webhooks/events.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { defined } from "../../../core/lib/base/defined.ts";

// Adds mails and webhooks about top-ups and invoices to the commits that they report.

/**
 * Mails the customer that money has arrived. The id is that of the transfer: one mail each, however
 * often the commit is repeated.
 */
export function mailCredited(
  operation: AtomicWrite,
  { account, event, order, atMs }: CreditedTransfer,
): void {
  const reader = mailReaderOf(account, "topup_credited");
  if (reader === undefined) return;
  const job = {
    kind: "topup_credited" as const,
    ...reader,
    amountMicroVnd: event.amountMicroVnd,
    ...(order !== undefined && { orderCode: order.code }),
  };
  addMail(operation, job, { nowMs: atMs, id: `topup:${event.source}:${event.id}` });
}

/**
 * Mails that an invoice is ready, to the address on it: often that of an accountant without
 * account.
 */
export function mailInvoiceSent(
  operation: AtomicWrite,
  invoice: Invoice,
  account: Account | undefined,
  nowMs: number,
): void {
  if (invoice.issued === undefined) return;
  const { email } = invoice.buyer;
  // Others whose address is on the invoice have made no choice.
  if (account?.email === email && !wantsMail(account, "invoice_issued")) return;
  const [code] = invoice.basis.kind === "orders" ? invoice.basis.codes : [];
  const job = {
    kind: "invoice_issued" as const,
    to: email,
    locale: account?.locale ?? "vi",
    invoiceId: invoice.id,
    invoiceNumber: invoice.issued.number,
    ...defined({ orderCode: code, about: account && mailAboutOf(account) }),
  };
  addMail(operation, job, { nowMs, id: `invoice:${invoice.id}` });
}

/** Reports an invoice that is ready to the webhooks of its account. */
export function reportInvoiceSent(
  operation: AtomicWrite,
  { id, accountId, issued, grossVnd }: Invoice,
  nowMs: number,
): void {
  if (issued === undefined) return;
  const { number, series, date } = issued;
  const data = { invoice_id: id, number, series, date, total_vnd: grossVnd.toString() };
  addWebhookEvent(operation, accountId, { type: "invoice.issued", data }, nowMs);
}

/** Mails the customer that a request needs a correction, which only they can make. */
export function mailInvoiceRejected(
  operation: AtomicWrite,
  invoice: Invoice,
  account: Account | undefined,
  nowMs: number,
): void {
  const reader = account && mailReaderOf(account, "invoice_rejected");
  if (reader === undefined) return;
  const job = {
    kind: "invoice_rejected" as const,
    ...reader,
    reason: invoice.rejectedReason ?? "",
  };
  addMail(operation, job, { nowMs, id: `invoice-rejected:${invoice.id}` });
}

/**
 * Milliseconds after which a notice without a final state is a fault that the operator must see.
 */
export const bankMatchLateMs = 5 * 60_000;

/** Money received by bank, by its fate. Notices of one movement count once. */
export interface TopupTotals {
  readonly movements: number;
  readonly receivedMicroVnd: bigint;
  readonly creditedMicroVnd: bigint;
  /**
   * Money that waits for a person, including refunds under way: owed to somebody, but in no wallet.
   */
  readonly suspenseMicroVnd: bigint;
  readonly refundedMicroVnd: bigint;
  /** Money that an operator set aside as no top-up. */
  readonly otherMicroVnd: bigint;
}

/** The result of the checks. */
export interface TopupCheck {
  readonly problems: readonly string[];
  readonly totals: TopupTotals;
}

/** Checks everything. Problems name ids only, never memos or persons. */
export async function checkTopups(kv: KeyValueStore, nowMs: number): Promise<TopupCheck> {
  const problems: string[] = [];
  const totals = await checkEvents(kv, nowMs, problems);
  await checkLedger(kv, problems);
  await checkOrders(kv, problems);
  const placed = totals.creditedMicroVnd + totals.suspenseMicroVnd + totals.refundedMicroVnd +
    totals.otherMicroVnd;
  if (placed !== totals.receivedMicroVnd) problems.push("received money is not all accounted for");
  return { problems, totals };
}

type Bucket = "credited" | "suspense" | "refunded" | "other";

/** Returns the sum that a notice counts in; `undefined` if it stands for no money of its own. */
function bucketOf(row: BankNoticeRow): Bucket | undefined {
  switch (row.state.kind) {
    case "credited":
      return "credited";
    case "received":
    case "review":
    case "refund_pending":
      return row.event.direction === "in" ? "suspense" : undefined;
    case "refunded":
      return "refunded";
    case "ignored":
      return row.state.reason === "operator" ? "other" : undefined;
    case "duplicate":
      return undefined;
  }
}

async function checkEvents(
  kv: KeyValueStore,
  nowMs: number,
  problems: string[],
): Promise<TopupTotals> {
  const sums: Record<Bucket, bigint> = { credited: 0n, suspense: 0n, refunded: 0n, other: 0n };
  let movements = 0;
  for await (const { value: row } of kv.list<BankNoticeRow>({ prefix: bankNoticesPrefix() })) {
    const bucket = bucketOf(row);
    if (bucket !== undefined) {
      sums[bucket] += row.event.amountMicroVnd;
      movements++;
    }
    await checkEvent(kv, row, nowMs, problems);
  }
  return {
    movements,
    receivedMicroVnd: sums.credited + sums.suspense + sums.refunded + sums.other,
    creditedMicroVnd: sums.credited,
    suspenseMicroVnd: sums.suspense,
    refundedMicroVnd: sums.refunded,
    otherMicroVnd: sums.other,
  };
}

async function checkEvent(
  kv: KeyValueStore,
  row: BankNoticeRow,
  nowMs: number,
  problems: string[],
): Promise<void> {
  const { event, state, receivedAtMs } = row;
  const operationId = creditOperationId(event);
  const [line, unmatched, review] = await kv.getMany<[LedgerEntry, number, null]>([
    ledgerOperationKey(operationId),
    unmatchedBankNoticeKey(event.source, event.id),
    bankReviewKey(receivedAtMs, event.source, event.id),
  ]);
  const say = (what: string) => problems.push(`${operationId}: ${what}`);
  if (state.kind === "credited") {
    if (line.value === null) say("credited, but not in the ledger");
    else if (
      line.value.amountMicroVnd !== event.amountMicroVnd || line.value.accountId !== state.accountId
    ) say("the ledger has another amount or account");
    if (state.orderCode !== undefined) {
      const key = topupPaymentKey(state.orderCode, event.source, event.id);
      if ((await kv.get(key)).value === null) say("the order does not know of it");
    }
  } else if (line.value !== null) say(`in the ledger, but ${state.kind}`);
  if ((unmatched.versionstamp !== null) !== (state.kind === "received")) {
    say("the list of unmatched notices is wrong");
  }
  const waits = state.kind === "review" || state.kind === "refund_pending";
  if ((review.versionstamp !== null) !== waits) say("the review queue is wrong");
  const fault = await duplicateFault(kv, row);
  if (fault !== undefined) say(fault);
  if (state.kind === "received" && nowMs - receivedAtMs > bankMatchLateMs) {
    say("not matched in time");
  }
}

async function checkLedger(kv: KeyValueStore, problems: string[]): Promise<void> {
  for await (const { value: line } of kv.list<LedgerEntry>({ prefix: ledgersPrefix() })) {
    const match = /^in:([a-z-]+):(.+)$/.exec(line.operationId);
    if (match === null) continue;
    const [, source, id] = match;
    const event = await kv.get<BankNoticeRow>(bankNoticeKey(source!, id!));
    if (event.value?.state.kind !== "credited") {
      problems.push(`${line.operationId}: in the ledger without a credited notice`);
    }
  }
}

async function checkOrders(kv: KeyValueStore, problems: string[]): Promise<void> {
  for await (const { value: order } of kv.list<TopupOrder>({ prefix: topupOrdersPrefix() })) {
    let sum = 0n;
    const payments = kv.list<TopupPayment>({ prefix: topupPaymentsPrefix(order.code) });
    for await (const { value } of payments) sum += value.amountMicroVnd;
    if (sum !== order.receivedMicroVnd) problems.push(`${order.code}: payments do not add up`);
    if ((order.state === "paid") !== (order.receivedMicroVnd > 0n)) {
      problems.push(`${order.code}: state and money disagree`);
    }
  }
}
