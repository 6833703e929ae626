/**
 * What operators did. Every act of an operator writes its line in the same commit as the act itself.
 *
 * - Folder `kv/operators/`: what operators do: audit log, authority, approvals, switches that all
 *   instances share.
 * - In: acts of operators, and what every instance polls.
 * - Out: rows of the log, decisions, the present switches.
 * - Never: commits an act of an operator without its audit line in the same commit.
 */
import { type AccountId, type AuditId, newId } from "../../core/lib/ids.ts";
import type { BankSource } from "../../core/payments/bank_event.ts";
import type { OrderCode } from "../../core/payments/order_code.ts";
import { operatorAuditKey, operatorAuditPrefix } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";
import { defined } from "../../core/lib/defined.ts";

/** Characters of the subject of a line in the operators' log: what was acted on. */
const maxSubjectChars = 200;

/** Characters of the detail of such a line: a few sentences on the reason. */
const maxDetailChars = 2_000;

/** The acts that are logged. */
export type OperatorAct =
  | "account_blocked"
  | "account_unblocked"
  | "wallet_adjusted"
  | "adjustment_requested"
  | "adjustment_refused"
  | "notice_assigned"
  | "assignment_requested"
  | "notice_marked_duplicate"
  | "notice_ignored"
  | "notice_refund_started"
  | "notice_refunded"
  | "notice_returned"
  | "unreadable_notice_closed"
  | "statement_imported"
  | "notices_polled"
  | "invoice_exported"
  | "invoice_issued"
  | "invoice_sent"
  | "invoice_rejected"
  | "invoice_file_attached"
  | "invoice_replaced"
  | "maintenance_changed"
  | "route_changed"
  | "second_factor_enrolled"
  | "second_factor_passed"
  | "second_factor_failed";

/**
 * The money of an act: whose wallet, under which order, by which evidence. Names and memos are looked up where it is
 * shown, so the log keeps no person's data beyond the ids.
 */
export interface MovedMoney {
  readonly accountId: AccountId;
  /** Positive is given, negative taken. */
  readonly amountMicroVnd: bigint;
  /** What the account had just before, with what running servers had leased, and just after. */
  readonly balanceBeforeMicroVnd: bigint;
  readonly balanceAfterMicroVnd: bigint;
  readonly orderCode?: OrderCode;
  /** The bank notice that shows the money; absent for a correction. */
  readonly notice?: { readonly source: BankSource; readonly id: string };
  /** The address of whoever asked, where a second operator approved. */
  readonly requestedBy?: string;
}

/** One line of the log. Never changed, never removed. Holds no secret. */
export interface AuditLine {
  readonly id: AuditId;
  readonly atMs: number;
  /** The operator's account; absent for the command line and the operator key. */
  readonly operatorId?: AccountId;
  /** As it was then. */
  readonly operatorEmail: string;
  readonly act: OperatorAct;
  /** What was acted on: an account, a notice, an invoice, a route. */
  readonly subject: string;
  /** The reason the operator gave, or what changed. */
  readonly detail: string;
  /** Of acts that move money, or ask to. Absent in lines of earlier versions. */
  readonly money?: MovedMoney;
}

/** Who acts. */
export interface Operator {
  readonly accountId: AccountId;
  readonly email: string;
}

/** Whoever owns the store's machine acts without an account. */
export const commandLine = { email: "command line" } as const;

/** A program that holds the operator's key (`GATEWAY_OPERATOR_KEY`). */
export const operatorProgram = { email: "operator key" } as const;

/** Who may carry out an act that needs no second person. */
export type Actor = Operator | typeof commandLine | typeof operatorProgram;

/** Adds a line to an atomic that carries the act. */
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

/** Writes a line on its own, for acts that change nothing in the store (an export, a failed second factor). */
export async function writeAuditLine(
  kv: KeyValueStore,
  operator: Operator,
  line: Pick<AuditLine, "act" | "subject" | "detail" | "atMs">,
): Promise<void> {
  const operation = kv.atomic();
  addAuditLine(operation, operator, line);
  await operation.commit();
}

/** The log, newest first. */
export async function listAuditLines(
  kv: KeyValueStore,
  options: { readonly count: number; readonly before?: AuditId },
): Promise<AuditLine[]> {
  const prefix = operatorAuditPrefix();
  const selector = options.before === undefined
    ? { prefix }
    : { prefix, end: operatorAuditKey(options.before) };
  const rows = kv.list<AuditLine>(selector, { limit: options.count, reverse: true });
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}
