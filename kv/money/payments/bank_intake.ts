/**
 * Takes all bank notices in: from webhooks, polled lists, statements and staff. A notice is stored
 * first and matched right after; if that fails, the sweep matches it.
 *
 * - Folder `kv/money/payments/`: top-ups: orders, the journal of bank notices, matching, review, checks.
 * - In: notices from every source, orders of customers, decisions of operators.
 * - Out: credits in the ledger, notices with their states, mails in the outbox.
 * - Never: credits a notice outside the commit that changes its state, or before it was stored.
 */
import {
  type BankNotice,
  type BankSource,
  creditOperationId,
} from "../../../core/trade/bank/bank_notice.ts";
import {
  type BankNoticeRef,
  type BankNoticeRow,
  type BankNoticeState,
  changeBankNotice,
  getBankNotice,
  journalBankNotice,
  type JournalResult,
  keepUnreadable,
  listUnmatched,
} from "./bank_notices.ts";
import { matchBankNotice, type MatchingSettings, movementAccount } from "./bank_matching.ts";
import {
  type Actor,
  addAuditLine,
  type Operator,
  type OperatorAct,
} from "../../people/audit/operator_audit.ts";
import type { ReceivingAccount } from "../../../core/trade/bank/receiving_account.ts";
import { mayBeDuplicateOf } from "./bank_duplicates.ts";
import { separateMovement } from "./bank_movements.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

// Carries out decisions of operators on notices that move no money (`bank_assignment.ts` credits
// notices). Each act writes its audit line in the same commit.

/** Decisions that move no money. */
export type Verdict =
  /** The notice reports the same movement as another one. */
  | { readonly kind: "duplicate"; readonly of: BankNoticeRef }
  /** The notice is no top-up. */
  | { readonly kind: "ignore"; readonly note: string }
  /** Staff returns the money by bank transfer. */
  | { readonly kind: "start_refund"; readonly note: string }
  | { readonly kind: "finish_refund"; readonly bankReference: string }
  /**
   * Returns the notice to the queue: the refund was not sent, or a decision (also an automatic one)
   * was wrong.
   */
  | { readonly kind: "return" };

const acts: Readonly<Record<Verdict["kind"], OperatorAct>> = {
  duplicate: "notice_marked_duplicate",
  ignore: "notice_ignored",
  start_refund: "notice_refund_started",
  finish_refund: "notice_refunded",
  return: "notice_returned",
};

/**
 * Whether a notice may be returned to the queue: its decision moved no money, and there is money to
 * decide about.
 */
export function mayReturn(state: BankNoticeState): boolean {
  return state.kind === "refund_pending" || state.kind === "duplicate" ||
    (state.kind === "ignored" && (state.reason === "operator" || state.reason === "own_transfer"));
}

/**
 * Returns the state that a verdict leads to; `undefined` if the current state does not allow it.
 */
function nextState(
  row: BankNoticeRow,
  verdict: Verdict,
  by: string,
  atMs: number,
): BankNoticeState | undefined {
  const { state } = row;
  switch (verdict.kind) {
    case "duplicate": {
      const { source, id } = verdict.of;
      return state.kind === "review"
        ? { kind: "duplicate", of: { source, id }, by, atMs }
        : undefined;
    }
    case "ignore":
      return state.kind === "review"
        ? { kind: "ignored", reason: "operator", by, note: verdict.note, atMs }
        : undefined;
    case "start_refund":
      return state.kind === "review"
        ? { kind: "refund_pending", by, note: verdict.note, atMs }
        : undefined;
    case "finish_refund":
      return state.kind === "refund_pending"
        ? { kind: "refunded", by, bankReference: verdict.bankReference, atMs }
        : undefined;
    case "return": {
      const about = state.kind === "duplicate" ? { about: state.of } : {};
      return mayReturn(state) ? { kind: "review", reason: "returned", ...about, atMs } : undefined;
    }
  }
}

/**
 * The result of a verdict. `state`: the state of the notice does not allow it. `not_same`: it
 * cannot be the movement of the named notice (see `mayBeDuplicateOf`). `busy`: the rows kept
 * changing; look again.
 */
export type VerdictResult =
  | { readonly ok: true; readonly state: BankNoticeState }
  | { readonly ok: false; readonly why: "missing" | "state" | "not_same" | "busy" };

/** The operator, the time, and the receiving accounts. */
export interface VerdictContext {
  readonly operator: Actor;
  readonly nowMs: number;
  readonly receivingAccounts: readonly ReceivingAccount[];
}

/** Carries out a decision that moves no money. */
export async function resolveBankNotice(
  kv: KeyValueStore,
  ref: BankNoticeRef,
  verdict: Verdict,
  context: VerdictContext,
): Promise<VerdictResult> {
  const { operator, nowMs, receivingAccounts } = context;
  const entry = await getBankNotice(kv, ref);
  if (entry.value === null) return { ok: false, why: "missing" };
  const of = verdict.kind === "duplicate" ? await getBankNotice(kv, verdict.of) : undefined;
  if (of !== undefined) {
    const isSelf = of.key.join() === entry.key.join();
    const fits = !isSelf && of.value !== null &&
      mayBeDuplicateOf(entry.value, of.value, receivingAccounts);
    if (!fits) return { ok: false, why: "not_same" };
  }
  const state = nextState(entry.value, verdict, operator.email, nowMs);
  if (state === undefined) return { ok: false, why: "state" };
  const separate = verdict.kind === "return"
    ? await separated(kv, entry.value, receivingAccounts)
    : undefined;
  const operation = kv.atomic();
  changeBankNotice(operation, entry, state);
  // If the other notice is decided in between, it might become a duplicate of this one.
  if (of !== undefined) operation.check(of);
  separate?.(operation);
  addAuditLine(operation, operator, {
    act: acts[verdict.kind],
    subject: creditOperationId(ref),
    detail: detailOf(verdict),
    atMs: nowMs,
  });
  return (await operation.commit()).ok ? { ok: true, state } : { ok: false, why: "busy" };
}

/**
 * Separates a notice that was automatically set aside or joined to a movement: it gets a movement
 * of its own.
 */
async function separated(
  kv: KeyValueStore,
  { event, state }: BankNoticeRow,
  receivingAccounts: readonly ReceivingAccount[],
): Promise<(operation: AtomicWrite) => void> {
  const joined = state.kind === "duplicate" ? (await getBankNotice(kv, state.of)).value : null;
  const { name } = movementAccount(event, receivingAccounts);
  return await separateMovement(kv, event, name, joined?.event);
}

function detailOf(verdict: Verdict): string {
  switch (verdict.kind) {
    case "duplicate":
      return creditOperationId(verdict.of);
    case "ignore":
    case "start_refund":
      return verdict.note;
    case "finish_refund":
      return verdict.bankReference;
    case "return":
      return "";
  }
}

/** Most notices matched in one sweep; the rest waits for the next, a minute later. */
const maxBankSweepRows = 500;

/** The result of a sweep. */
export interface SweepResult {
  readonly matched: number;
  /** Number of notices that the store failed to match; they wait for the next sweep. */
  readonly failed: number;
}

/** The origin of a notice that no provider sent. */
export interface NoticeOrigin {
  readonly formerId?: string | undefined;
  readonly importedBy?: Operator;
}

/** The intake of one process. */
export interface BankIntake {
  /**
   * Stores a notice and matches it.
   *
   * @param from.formerId an id under which an older version may have stored the same notice, which
   * is known then
   * @param from.importedBy the operator whose file the notice is a row of
   * @returns as soon as the notice is stored and the provider may be answered; if matching fails,
   * the sweep repeats it
   * @throws the error of the store while the notice is being stored: answer with 5xx
   */
  take(event: BankNotice, raw: string, from?: NoticeOrigin): Promise<JournalResult>;
  /** Stores a genuine notice that could not be read. Throws like {@linkcode BankIntake.take}. */
  keepUnreadable(source: BankSource, reason: string, raw: string): Promise<void>;
  /**
   * Matches stored notices without a final state: after a crash, or while the store did not answer.
   */
  sweep(): Promise<SweepResult>;
}

/** A problem that the intake reports to the operator. Contains no memo, name or account number. */
export interface IntakeProblem {
  readonly what: "match_failed" | "contradiction" | "unreadable";
  readonly source: BankSource;
  readonly id: string;
  readonly error?: unknown;
}

/**
 * Creates the intake. It matches notices one after the other, since parallel matching of related
 * notices would only conflict.
 */
export function createBankIntake(
  settings: MatchingSettings & { readonly report: (problem: IntakeProblem) => void },
): BankIntake {
  const { kv, nowMs, report } = settings;
  let turn: Promise<unknown> = Promise.resolve();

  function match(ref: BankNoticeRef): Promise<BankNoticeState | undefined> {
    const mine = turn.then(() => matchBankNotice(settings, ref));
    turn = mine.catch(() => {});
    return mine;
  }

  async function matchOrReport(ref: BankNoticeRef): Promise<boolean> {
    try {
      await match(ref);
      return true;
    } catch (error) {
      report({ what: "match_failed", ...ref, error });
      return false;
    }
  }

  return {
    async take(event, raw, { formerId, importedBy } = {}) {
      const { source } = event;
      const isFormer = formerId !== undefined &&
        (await getBankNotice(kv, { source, id: formerId })).value !== null;
      const ref = { source, id: isFormer ? formerId : event.id };
      const named = { ...event, id: ref.id };
      const result = await journalBankNotice(kv, named, raw, nowMs(), importedBy);
      if (result === "contradicts") report({ what: "contradiction", ...ref });
      // A known notice too: the process may have died after the first delivery, before matching.
      else await matchOrReport(ref);
      return result;
    },
    async keepUnreadable(source, reason, raw) {
      await keepUnreadable(kv, { source, reason, raw, receivedAtMs: nowMs() });
      report({ what: "unreadable", source, id: "" });
    },
    async sweep() {
      let matched = 0;
      let failed = 0;
      for (const { ref } of await listUnmatched(kv, maxBankSweepRows)) {
        if (await matchOrReport(ref)) matched++;
        else failed++;
      }
      return { matched, failed };
    },
  };
}
