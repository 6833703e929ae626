/** Archive of the receipts of sealed days in columns: what a database for them does. */
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { ArchivedCallsAsked, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { LedgerEntry } from "../ledger/ledger.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import type { ArchivedCall } from "./receipt_rows.ts";

/** Calls that arrived from one moment on and before another, the earliest first or the latest. */
export interface CallRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
  readonly reverse: boolean;
}

/** Place of a call in the index of its account: behind its id and before the next one, where no other row is. */
export function placeOf(requestId: string): string {
  return `${requestId}~`;
}

/** Calls of an account that are read: those of some time, from one place on and before another. */
export interface IndexReading extends CallRange {
  readonly fromPlace: string;
  readonly beforePlace: string;
  readonly onlyFailed: boolean;
}

/** Filter by what calls have in columns. An absent member fits every call. */
export type ColumnFilter = Omit<ArchivedCallsAsked, "from" | "before" | "limit">;

/** Milliseconds from one moment on and before another. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Calls that are read by their columns. */
export interface FilteredReading {
  readonly filter: ColumnFilter;
  /** The latest first; none overlaps another. */
  readonly ranges: readonly TimeRange[];
  /** Ids from this one on and before that one. */
  readonly from: string;
  readonly before: string;
  readonly limit: number;
}

/** The calls of an account on a day. */
export interface DayCalls {
  readonly day: string;
  readonly calls: number;
  /** Number of those of the key and the model, or those of them that failed, as it was asked. */
  readonly fitting: number;
}

/** Mark of an archived hour; it is there only with all its calls. */
export interface HourMark {
  readonly startMs: number;
  readonly pages: number;
  readonly receipts: number;
  readonly chargedMicroVnd: bigint;
  /** SHA-256 of its pages as the store had them, in hexadecimal digits, as in the seal of the day; empty for none. */
  readonly digest: string;
}

/** An hour to write. */
export interface HourToWrite {
  readonly startMs: number;
  /** The digest that its pages have to have; an hour that has it already is left as it is. */
  readonly digest: string;
  readonly calls: AsyncIterable<readonly ArchivedCall[]>;
  /** Asked when all calls were read; another digest than the one wanted leaves the archive as it was. */
  readonly mark: () => HourMark;
}

/** Charges to an account. */
export interface AccountCharges {
  readonly accountId: AccountId;
  readonly chargedMicroVnd: bigint;
}

/** The months of an archive, which leave it as a whole. */
export interface ArchivedMonth {
  /** A month of Vietnam, such as `2026-11`. */
  readonly month: string;
  readonly receipts: number;
  /** Bytes on disk. */
  readonly bytes: number;
}

/** Sums of some accounts on a day, as a text of `sum_pages.ts`. Pages of a day share no account. */
export interface SumPage {
  readonly day: string;
  readonly firstAccount: string;
  readonly lastAccount: string;
  readonly text: string;
}

/** Pages of sums that are read: those that have accounts and days of these ranges, whose ends are included. */
export interface SumReading {
  readonly fromAccount: string;
  readonly toAccount: string;
  readonly fromDay: string;
  readonly toDay: string;
  readonly limit: number;
}

/** The sums of some accounts on a day that are written. */
export interface SumsToWrite {
  readonly day: string;
  readonly fromAccount: string;
  readonly toAccount: string;
  /**
   * Returns the pages that replace the current ones; `undefined` keeps those. The archive's lock keeps other writers of
   * the day out meanwhile.
   */
  readonly merge: (pages: readonly SumPage[]) => Promise<readonly SumPage[] | undefined>;
}

/** An archive of receipts. Reads show what is committed; a call that rejects may be repeated. */
export interface ReceiptArchive {
  /** Reads calls in the order of their times; those of one bucket are not in the order of their pages. */
  callsBetween(range: CallRange): Promise<readonly ArchivedCall[]>;
  /** Reads the calls that fit, the latest first. More than the limit only where the last ones are of one millisecond. */
  callsThatFit(reading: FilteredReading): Promise<readonly ArchivedCall[]>;
  /** Counts calls of days that are finished, from one to another, the latest first; days without any are left out. */
  callsByDay(
    accountId: string,
    filter: Pick<ColumnFilter, "keyId" | "model" | "onlyFailed">,
    days: { readonly fromDay: string; readonly toDay: string },
  ): Promise<readonly DayCalls[]>;
  /** Returns when the call arrived before which a range has `count` later ones; `undefined` if it has fewer. */
  timeOfCall(range: TimeRange, count: number): Promise<number | undefined>;
  /** Reads the ids of an account's calls in their order. */
  idsOf(accountId: AccountId, range: IndexReading): Promise<readonly RequestId[]>;
  /** Reads which of some calls it has, all of one day. */
  idsAmong(
    calls: readonly CallsOfAccount[],
    onlyFailed: boolean,
  ): Promise<ReadonlySet<RequestId>>;
  /** Lists accounts with calls, in the order of their ids: those from `from` on, or in reverse those before it. */
  accounts(
    list: { readonly from: string; readonly limit: number; readonly reverse: boolean },
  ): Promise<readonly AccountId[]>;
  /** Lists the hours that are there, from one moment on and before another. */
  hoursBetween(fromMs: number, toMs: number): Promise<readonly HourMark[]>;
  /**
   * Writes the calls of an hour in place of those that it has, all or none. One writer at a time does so.
   *
   * @returns whether the calls of the digest are there now
   */
  writeHour(hour: HourToWrite): Promise<boolean>;
  /** Writes the sums of a day whose hours are all there, and its ledger lines, in place of what it has of them. */
  finishDay(day: string, lines: AsyncIterable<LedgerEntry>): Promise<void>;
  /** Brings what an earlier release has written for a day into the form of this one. Reads do not show a difference. */
  packDay(day: string): Promise<void>;
  /** Gives back room of a month all of whose days are finished, once; else does nothing. Reads and calls go on. */
  packMonth(month: string): Promise<void>;
  /** Lists the accounts with calls in a day that is finished, or only those with calls that failed. */
  accountsOfDay(day: string, onlyFailed: boolean): Promise<readonly AccountId[]>;
  /** Sums what was charged to each account in some days that are finished, both included, in the order of the accounts. */
  chargesOf(fromDay: string, toDay: string): Promise<readonly AccountCharges[]>;
  /** Reads pages of sums in the order of their days and accounts, the first ones up to the limit. */
  sumPages(reading: SumReading): Promise<readonly SumPage[]>;
  /** Replaces the pages that have some accounts of a day. */
  writeSums(sums: SumsToWrite): Promise<void>;
  /** Lists the months that are there, the earliest first. */
  months(): Promise<readonly ArchivedMonth[]>;
  /** Drops the calls of a month. Its sums and ledger lines stay. */
  dropMonth(month: string): Promise<void>;
  close(): Promise<void>;
}

/** A store and its archive, apart. */
export interface StoreParts {
  readonly living: KeyValueStore;
  readonly archive: ReceiptArchive;
}
