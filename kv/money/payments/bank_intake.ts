/**
 * Takes all bank notices in: from webhooks, polled lists, statements and staff. A notice is stored
 * first and matched right after; if that fails, the sweep matches it.
 *
 * - Folder `kv/money/payments/`: top-ups: orders, the journal of bank notices, matching, review, checks.
 * - In: notices from every source, orders of customers, decisions of operators.
 * - Out: credits in the ledger, notices with their states, mails in the outbox.
 * - Never: credits a notice outside the commit that changes its state, or before it was stored.
 */
import type { BankNotice, BankSource } from "../../../core/trade/bank/bank_notice.ts";
import {
  type BankNoticeRef,
  type BankNoticeState,
  getBankNotice,
  journalBankNotice,
  type JournalResult,
  listUnmatched,
} from "./bank_notices.ts";
import { matchBankNotice, type MatchingSettings } from "./bank_matching.ts";
import type { Operator } from "../../people/audit/operator_audit.ts";
import { keepUnreadable } from "./unreadable_notices.ts";

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
