/**
 * Sums the receipts and ledger lines of the days that are not sealed yet, by account and by day sum. Recent calls, which
 * may still change on a live store, are summed apart from older ones. Of days that are behind the reading only prints
 * are kept.
 */
import {
  type AccountId,
  type ApiKeyId,
  beforeIdsOf,
  idTimeMs,
  type RequestId,
} from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import {
  addReceiptInPlace,
  type DaySumCell,
  daySumCell,
  noUsage,
  type OwnSum,
  usageSum,
} from "../../../money/receipts/day_sums.ts";
import {
  daySumCellOf,
  daySumsOfDayKey,
  daySumsOfPrefix,
  newestOnReceiptPage,
  receiptsPrefix,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { type DaySum, type DaySums, sumId } from "../checks/verify_sums.ts";
import { SumPrints } from "./sum_prints.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

/** Tally of what happened to one account. */
export interface Tally {
  /** The number of the account, from 1 on. */
  readonly number: number;
  /** At the begin of the first day; known once balances are compared. */
  openingMicroVnd: bigint;
  ledgerMicroVnd: bigint;
  /** The part of the ledger in days that are over. */
  closedLedgerMicroVnd: bigint;
  chargedMicroVnd: bigint;
  /** The part of the charges in days that are over. */
  closedChargedMicroVnd: bigint;
  /** The part of the charges that does not change any more. */
  oldChargedMicroVnd: bigint;
  /** Sums of hashes of the ids of calls that do not change any more. */
  oldReceiptsPrint: number;
  oldIndexPrint: number;
  recentReceiptsPrint: number;
  recentIndexPrint: number;
}

/** A day sum as the receipts give it. */
export interface CellSums {
  /** Its name, which is a large part of what a cell takes in memory: others refer to it. */
  readonly id: string;
  readonly cell: DaySumCell;
  readonly old: OwnSum;
  recent: OwnSum | undefined;
  /** Whether it was compared with a row. */
  isCompared: boolean;
  /** Version of the row that it was compared with, if that was right. */
  version: string | undefined;
}

/** Bounds of the rows that belong to the verification, by times and ids. */
export interface ScanBounds {
  /** Begin of the first day that is not sealed, and that day; absent if nothing is sealed. */
  readonly start: { readonly atMs: number; readonly day: string } | undefined;
  /** Start of the ids of those days; empty if nothing is sealed. */
  readonly startId: string;
  /**
   * Receipts from this id on are read: an hour earlier, since an id and the time on a receipt are
   * two readings of a clock, so a call may have its id in one day and its day sum in the next.
   */
  readonly sumStartId: string;
  readonly closedEndMs: number;
  /** Ids of requests of days that are over are smaller. */
  readonly closedEndId: string;
  /** Larger ids may change during the reading. */
  readonly recentStart: string;
}

/** Most milliseconds between the two readings. */
export const sumSlackMs = hourMs;

/**
 * Age in milliseconds, from the newest call, up to which calls may change during verification: four
 * minutes of body, 15 of call, and a reserve for a busy store.
 */
const verifyRecentMs = 30 * 60_000;

/**
 * Returns a text behind which the ids of recent calls sort. Taken from the newest id in the store,
 * so it depends on no clock.
 */
export async function recentIdsStart(kv: KeyValueStore): Promise<string> {
  const last = kv.list({ prefix: receiptsPrefix() }, { reverse: true, limit: 1 });
  for await (const { key } of last) {
    const newestMs = idTimeMs("request", newestOnReceiptPage(key));
    return beforeIdsOf("request", Math.max(0, newestMs - verifyRecentMs));
  }
  return "";
}

/** The same bounds with all days that there are. */
export function withoutBeginning(bounds: ScanBounds): ScanBounds {
  return { ...bounds, start: undefined, startId: "", sumStartId: "" };
}

/** Computes the bounds from the begin of the first day that is not sealed and the end of the last that is over. */
export function scanBounds(
  { startMs, closedEndMs, recentStart }: {
    readonly startMs: number | undefined;
    readonly closedEndMs: number;
    readonly recentStart: string;
  },
): ScanBounds {
  const idAt = (atMs: number) => beforeIdsOf("request", atMs);
  return {
    start: startMs === undefined ? undefined : { atMs: startMs, day: vietnamDay(startMs) },
    startId: startMs === undefined ? "" : idAt(startMs),
    sumStartId: startMs === undefined ? "" : idAt(startMs - sumSlackMs),
    closedEndMs,
    closedEndId: idAt(closedEndMs),
    recentStart,
  };
}

/** Computes a fast 32-bit hash of a text (FNV-1a). */
export function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** Whether the calls of an account in index and batches are those of its receipts; of old calls and of recent ones. */
export function isIndexed(tally: Tally): { readonly old: boolean; readonly recent: boolean } {
  return {
    old: tally.oldReceiptsPrint === tally.oldIndexPrint,
    recent: tally.recentReceiptsPrint === tally.recentIndexPrint,
  };
}

/** Prints that take as much memory as a sum. */
const printsPerRow = 10;

/** The sums of a range of accounts. */
export class ScanSums {
  readonly tallies = new Map<AccountId, Tally>();
  /** Sums of days that are not closed, and those of recent calls. */
  readonly cells = new Map<string, CellSums>();
  /** Prints of the sums of days that are closed. */
  readonly prints = new SumPrints();
  #accounts = 0;
  readonly #texts = {
    accounts: new Map<AccountId, AccountId>(),
    keys: new Map<ApiKeyId, ApiKeyId>(),
    others: new Map<string, string>(),
  };
  /** Made once the sums are complete. */
  #byAccount: Map<AccountId, [string, CellSums][]> | undefined;

  get rows(): number {
    return this.tallies.size + this.cells.size + Math.ceil(this.prints.size / printsPerRow);
  }

  tally(accountId: AccountId): Tally {
    let tally = this.tallies.get(accountId);
    if (tally === undefined) {
      tally = {
        number: ++this.#accounts,
        openingMicroVnd: 0n,
        ledgerMicroVnd: 0n,
        closedLedgerMicroVnd: 0n,
        chargedMicroVnd: 0n,
        closedChargedMicroVnd: 0n,
        oldChargedMicroVnd: 0n,
        oldReceiptsPrint: 0,
        oldIndexPrint: 0,
        recentReceiptsPrint: 0,
        recentIndexPrint: 0,
      };
      this.tallies.set(accountId, tally);
    }
    return tally;
  }

  /** Adds the charge of a receipt to its account. */
  addCharge(receipt: Receipt, bounds: ScanBounds): void {
    const { accountId, requestId, costMicroVnd } = receipt;
    const tally = this.tally(accountId);
    tally.chargedMicroVnd += costMicroVnd;
    if (requestId < bounds.closedEndId) tally.closedChargedMicroVnd += costMicroVnd;
    if (requestId > bounds.recentStart) {
      tally.recentReceiptsPrint = (tally.recentReceiptsPrint + hash(requestId)) >>> 0;
    } else {
      tally.oldChargedMicroVnd += costMicroVnd;
      tally.oldReceiptsPrint = (tally.oldReceiptsPrint + hash(requestId)) >>> 0;
    }
  }

  addIndexed(accountId: AccountId, requestId: RequestId, bounds: ScanBounds): void {
    const tally = this.tally(accountId);
    if (requestId > bounds.recentStart) {
      tally.recentIndexPrint = (tally.recentIndexPrint + hash(requestId)) >>> 0;
    } else tally.oldIndexPrint = (tally.oldIndexPrint + hash(requestId)) >>> 0;
  }

  /** Adds a receipt to its day sum, unless the sum is of a sealed day. */
  addUsage(receipt: Receipt, bounds: ScanBounds): void {
    const cell = daySumCell(receipt);
    if (bounds.start !== undefined && cell.day < bounds.start.day) return;
    const id = sumId(cell);
    let sums = this.cells.get(id);
    if (sums === undefined) {
      sums = {
        id,
        cell: this.#withKnownTexts(cell),
        old: { ...noUsage },
        recent: undefined,
        isCompared: false,
        version: undefined,
      };
      this.cells.set(id, sums);
    }
    if (receipt.requestId > bounds.recentStart) {
      sums.recent ??= { ...noUsage };
      addReceiptInPlace(sums.recent, receipt);
    } else addReceiptInPlace(sums.old, receipt);
  }

  /** Closes the days before one, of which no call comes any more: their sums leave prints. */
  closeBefore(day: string): void {
    for (const [id, { cell, old, recent }] of this.cells) {
      if (cell.day >= day || recent !== undefined) continue;
      this.prints.add(id, this.tally(cell.accountId).number, old);
      this.cells.delete(id);
    }
  }

  /** Makes cells share the texts that they have in common: a store has a thousand times as many cells as accounts. */
  #withKnownTexts({ accountId, day, keyId, model }: DaySumCell): DaySumCell {
    const known = <Text extends string>(text: Text, texts: Map<Text, Text>): Text => {
      const same = texts.get(text);
      if (same === undefined) texts.set(text, text);
      return same ?? text;
    };
    return {
      accountId: known(accountId, this.#texts.accounts),
      day: known(day, this.#texts.others),
      keyId: known(keyId, this.#texts.keys),
      model: known(model, this.#texts.others),
    };
  }

  /** The day sums of an account by name; the first call for any account orders them all. */
  cellsOf(accountId: AccountId): readonly (readonly [string, CellSums])[] {
    this.#byAccount ??= Map.groupBy(this.cells, ([, { cell }]) => cell.accountId);
    return this.#byAccount.get(accountId) ?? [];
  }

  /** Forgets the accounts from the middle one on. Returns it: the next pass begins there. */
  forgetUpperHalf(): AccountId {
    const accounts = [...this.tallies.keys()].sort();
    const middle = accounts[Math.ceil(accounts.length / 2)] ?? accounts[0]!;
    const forgotten = new Set<number>();
    for (const [accountId, { number }] of this.tallies) {
      if (accountId < middle) continue;
      forgotten.add(number);
      this.tallies.delete(accountId);
    }
    this.prints.forget(forgotten);
    for (const [id, { cell }] of this.cells) {
      if (cell.accountId >= middle) this.cells.delete(id);
    }
    return middle;
  }
}

/** Reads the day sums of an account that are not of a sealed day. */
export async function openDaySums(
  kv: KeyValueStore,
  accountId: AccountId,
  { start }: Pick<ScanBounds, "start">,
): Promise<DaySums> {
  const prefix = daySumsOfPrefix(accountId);
  const selector = start === undefined
    ? { prefix }
    : { prefix, start: daySumsOfDayKey(accountId, start.day) };
  const sums = new Map<string, DaySum>();
  for await (const { key, value, versionstamp } of kv.list<unknown>(selector)) {
    const cell = daySumCellOf(key);
    sums.set(sumId(cell), { cell, sum: usageSum(value), versionstamp });
  }
  return sums;
}
