/**
 * Keeps the audit log of operators. Each act writes its line in the same commit.
 *
 * - Folder `kv/people/audit/`: the audit log of operators.
 * - In: an act: who, what, why, and the money that it moved.
 * - Out: a line for the commit of the act, and lists of lines.
 * - Never: changes a line, or deletes one before its time (`kv/services/retention/`).
 */
import { type AccountId, type AuditId, beforeIdsOf, newId } from "../../../core/lib/ids/ids.ts";
import type { BankSource } from "../../../core/trade/bank/bank_notice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import {
  operatorAuditBefore,
  operatorAuditKey,
  operatorAuditPrefix,
} from "../../engine/schema/keys.ts";
import { takeFitting } from "../../engine/store/bounded_search.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/** Most characters of the subject of a line: what was acted on. */
const maxSubjectChars = 200;

/** Most characters of the detail of a line: a reason in a few sentences. */
const maxDetailChars = 2_000;

/** The acts that are logged. */
export const operatorActs = [
  "account_made",
  "account_blocked",
  "account_unblocked",
  "account_signed_out",
  "note_added",
  "api_key_made",
  "api_key_revoked",
  "wallet_adjusted",
  "adjustment_requested",
  "adjustment_refused",
  "notice_assigned",
  "assignment_requested",
  "notice_marked_duplicate",
  "notice_ignored",
  "notice_refund_started",
  "notice_refunded",
  "notice_returned",
  "unreadable_notice_closed",
  "statement_imported",
  "notices_polled",
  "invoice_exported",
  "invoice_issued",
  "invoice_sent",
  "invoice_rejected",
  "invoice_file_attached",
  "invoice_replaced",
  "campaign_made",
  "campaign_approved",
  "campaign_paused",
  "campaign_resumed",
  "vouchers_made",
  "announcement_published",
  "announcement_updated",
  "maintenance_changed",
  "letter_revived",
  "letter_forgotten",
  "days_resealed",
  "proof_key_made",
  "secrets_resealed",
  "receipts_dropped",
  "rows_dropped",
  "rate_limits_changed",
  "route_changed",
  "route_tested",
  "catalog_applied",
  "catalog_withdrawn",
  "catalog_file_declined",
  "provider_key_added",
  "provider_key_replaced",
  "provider_key_removed",
  "provider_key_resealed",
  "second_factor_enrolled",
  "second_factor_passed",
  "second_factor_failed",
  "second_factor_forgotten",
] as const;

/** An act that is logged. */
export type OperatorAct = typeof operatorActs[number];

/**
 * The money of an act: which wallet, under which order, by which evidence. Names and memos are
 * looked up for display, so the log has no personal data beyond ids.
 */
export interface MovedMoney {
  readonly accountId: AccountId;
  /** Positive for credits, negative for debits. */
  readonly amountMicroVnd: bigint;
  /**
   * Balance just before the act, including money that running servers have leased, and just after.
   */
  readonly balanceBeforeMicroVnd: bigint;
  readonly balanceAfterMicroVnd: bigint;
  readonly orderCode?: OrderCode;
  /** The bank notice that is the evidence; absent for a correction. */
  readonly notice?: { readonly source: BankSource; readonly id: string };
  /** E-mail address of the requesting operator, if a second one approved. */
  readonly requestedBy?: string;
}

/** One line of the log. Never changed. Contains no secret. */
export interface AuditLine {
  readonly id: AuditId;
  readonly atMs: number;
  /** Account of the operator; absent for the command line and the operator key. */
  readonly operatorId?: AccountId;
  /** The address at that time. */
  readonly operatorEmail: string;
  readonly act: OperatorAct;
  /** The object of the act: an account, a notice, an invoice, a route. */
  readonly subject: string;
  /** The reason the operator gave, or what changed. */
  readonly detail: string;
  /** Set for acts that move money or request it. Absent in lines of earlier versions. */
  readonly money?: MovedMoney;
}

/** The operator who acts. */
export interface Operator {
  readonly accountId: AccountId;
  readonly email: string;
}

/** The operator on the command line, who owns the machine of the store and needs no account. */
export const commandLine = { email: "command line" } as const;

/** A program that authenticates with the operator key (`GATEWAY_OPERATOR_KEY`). */
export const operatorProgram = { email: "operator key" } as const;

/** Whoever has authority over money: an operator with an account, or the owner of the machine, whom no limit binds. */
export type Decider = Operator | typeof commandLine;

/** Everyone who may carry out an act that moves no money. */
export type Actor = Decider | typeof operatorProgram;

/** Whether somebody who acts is an operator with an account. */
export function isPerson(operator: Actor): operator is Operator {
  return "accountId" in operator;
}

/** Adds a line to the atomic write of the act. */
export function addAuditLine(
  operation: AtomicWrite,
  operator: Actor,
  line: Pick<AuditLine, "act" | "subject" | "detail" | "atMs" | "money">,
): void {
  const id = newId("audit", line.atMs);
  const row: AuditLine = {
    id,
    ...("accountId" in operator && { operatorId: operator.accountId }),
    operatorEmail: operator.email,
    atMs: line.atMs,
    act: line.act,
    subject: line.subject.slice(0, maxSubjectChars),
    detail: line.detail.slice(0, maxDetailChars),
    ...defined({ money: line.money }),
  };
  operation.set(operatorAuditKey(id), row);
}

/**
 * Writes a line by itself, for acts that change nothing in the store (an export, a failed second
 * factor).
 */
export async function writeAuditLine(
  kv: KeyValueStore,
  operator: Operator,
  line: Pick<AuditLine, "act" | "subject" | "detail" | "atMs">,
): Promise<void> {
  const operation = kv.atomic();
  addAuditLine(operation, operator, line);
  await operation.commit();
}

/** The lines to read. */
export interface AuditSearch {
  readonly count: number;
  /** Continues with the lines older than this one. */
  readonly before?: AuditId;
  readonly act?: OperatorAct;
  /** Subject of the act, whole. */
  readonly subject?: string;
  /** The address of whoever acted. */
  readonly operatorEmail?: string;
  /** From and until a moment. */
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** Further condition that a line has to fulfil. */
  readonly fits?: (line: AuditLine) => boolean;
}

/** Some lines, and where the search continues. */
export interface FoundAuditLines {
  readonly lines: readonly AuditLine[];
  /** The `before` that continues it; absent at the end. */
  readonly next: AuditId | undefined;
}

/** Searches the log, newest first. The reading is bounded: a page may be short and still have a next one. */
export async function findAuditLines(
  kv: KeyValueStore,
  { count, before, act, subject, operatorEmail, fromMs = 0, untilMs, fits }: AuditSearch,
): Promise<FoundAuditLines> {
  const ends = [before, untilMs === undefined ? undefined : beforeIdsOf("audit", untilMs)];
  const [end] = ends.filter((one) => one !== undefined).sort();
  const selector = end === undefined ? { prefix: operatorAuditPrefix() } : operatorAuditBefore(end);
  const read = kv.list<AuditLine>(selector, { reverse: true });
  const { rows, next } = await takeFitting(read, {
    count,
    fits: (line) =>
      line.atMs >= fromMs &&
      (act === undefined || line.act === act) &&
      (subject === undefined || line.subject === subject) &&
      (operatorEmail === undefined || line.operatorEmail === operatorEmail) &&
      fits?.(line) !== false,
  });
  return { lines: rows, next: next?.id };
}

/** Lists the log, newest first. */
export async function listAuditLines(
  kv: KeyValueStore,
  options: Pick<AuditSearch, "count" | "before">,
): Promise<readonly AuditLine[]> {
  return (await findAuditLines(kv, options)).lines;
}
