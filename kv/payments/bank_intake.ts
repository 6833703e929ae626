/**
 * The one door for bank notices, whatever told of them: webhook, list, statement, staff. Written down first; matched
 * right after, and again by the sweep if that failed.
 *
 * - Folder `kv/payments/`: top-ups: orders, the journal of bank notices, matching, review, checks.
 * - In: notices from every source, orders of customers, decisions of operators.
 * - Out: credits in the ledger, notices in their states, mails in the outbox.
 * - Never: credits a notice outside the commit that changes its state, or before it was written
 *   down.
 */
import type { BankEvent, BankSource } from "../../core/payments/bank_event.ts";
import {
  type BankEventRef,
  type BankEventState,
  getBankEvent,
  journalBankEvent,
  type JournalResult,
  listUnmatched,
} from "./bank_events.ts";
import { matchBankEvent, type MatchingSettings } from "./bank_matching.ts";
import type { Operator } from "../operators/operator_audit.ts";
import { keepUnreadable } from "./unreadable_notices.ts";

/** Notices matched in one sweep; more wait for the next, a minute later. */
const maxBankSweepRows = 500;

/** What a sweep did. */
export interface SweepResult {
  readonly matched: number;
  /** Still unmatched: the store failed. They stay for the next sweep. */
  readonly failed: number;
}

/** Where a notice that no provider sent comes from. */
export interface NoticeOrigin {
  readonly formerId?: string | undefined;
  readonly importedBy?: Operator;
}

/** The intake of one process. */
export interface BankIntake {
  /**
   * Writes a notice down and matches it.
   *
   * @param from.formerId an id under which older versions may have written down the same notice: it is known then
   * @param from.importedBy the operator whose file the notice is a row of
   * @returns as soon as it is safe to tell the provider "taken": matching that fails is left to the sweep
   * @throws whatever the store throws while the notice is being written down: answer with 5xx
   */
  take(event: BankEvent, raw: string, from?: NoticeOrigin): Promise<JournalResult>;
  /** Keeps a genuine notice that could not be read. Throws like {@linkcode BankIntake.take}. */
  keepUnreadable(source: BankSource, reason: string, raw: string): Promise<void>;
  /** Matches what is written down but has no end state: after a crash, or a store that was away. */
  sweep(): Promise<SweepResult>;
}

/** What the intake tells its operator. Never holds a memo, a name or an account number. */
export interface IntakeProblem {
  readonly what: "match_failed" | "contradiction" | "unreadable";
  readonly source: BankSource;
  readonly id: string;
  readonly error?: unknown;
}

/** Makes the intake. Its notices are matched one after the other: two of them rarely meet, and then only once. */
export function createBankIntake(
  settings: MatchingSettings & { readonly report: (problem: IntakeProblem) => void },
): BankIntake {
  const { kv, nowMs, report } = settings;
  let turn: Promise<unknown> = Promise.resolve();

  function match(ref: BankEventRef): Promise<BankEventState | undefined> {
    const mine = turn.then(() => matchBankEvent(settings, ref));
    turn = mine.catch(() => {});
    return mine;
  }

  async function matchOrReport(ref: BankEventRef): Promise<boolean> {
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
        (await getBankEvent(kv, { source, id: formerId })).value !== null;
      const ref = { source, id: isFormer ? formerId : event.id };
      const named = { ...event, id: ref.id };
      const result = await journalBankEvent(kv, named, raw, nowMs(), importedBy);
      if (result === "contradicts") report({ what: "contradiction", ...ref });
      // A known one too: its first delivery may have died before it was matched.
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
