/**
 * Reads what happened since the last sealed day, in the order of time: receipts, ledger lines, and for the accounts
 * that they touch index and day sums. Then it compares every wallet with its balance at the begin plus what happened.
 * It costs the rows of those days, and three rows per account. If nothing is sealed, all rows are read, each kind once.
 *
 * On a live store what it finds wrong about an account is only suspected (`second_look.ts`). What it finds wrong about
 * rows that never change is a problem.
 */
import { type AccountId, idTimeMs, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { ClaimSums } from "../../../money/ledger/provider_claims.ts";
import {
  accountOfKey,
  allIndexPagesPrefix,
  batchesPrefix,
  daySumCellOf,
  daySumsOfPrefix,
  daySumsPrefix,
  ledgerByTimeKey,
  ledgerKey,
  ledgerOperationsPrefix,
  ledgersPrefix,
  newestOnReceiptPage,
  receiptPageKey,
  receiptsPrefix,
  refundSumsPrefix,
  tagRefundsPrefix,
} from "../../../engine/schema/keys.ts";
import { isLedgerLine, type LedgerEntry, linesByTime } from "../../../money/ledger/ledger.ts";
import {
  addUsage,
  type DaySumCell,
  daySumCell,
  daySumCellKey,
  isArchivedSum,
  noUsage,
  sameUsage,
  storedSum,
  type UsageSum,
  usageSum,
} from "../../../money/receipts/day_sums.ts";
import { decodeReceiptPage, pageBucketOf } from "../../../money/receipts/receipt_pages.ts";
import { type Batch, decodeBatch } from "../../../engine/store/batches.ts";
import { refundSum } from "../../../money/ledger/refunds.ts";
import { endOfIndexBucket, indexBucketOf, pageIds } from "../../../money/receipts/receipt_index.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { inSlices, keysAtOnce, rowsOfKeys, wholeKind } from "../../../engine/store/read_ahead.ts";
import { type AccountHolding, readHoldingsInOrder } from "./account_holdings.ts";
import type { DayBalance, DayBalancePages } from "../days/day_balances.ts";
import { type DayDigests, lineAtMs } from "../days/day_digests.ts";
import { eachGroup, groupsOf, inParallel } from "../../../engine/store/in_parallel.ts";
import { indexedIds, IndexOfArchive } from "./account_index.ts";
import { type CellSums, isIndexed, type ScanBounds, ScanSums, sumSlackMs } from "./scan_sums.ts";
import { type ComparedSums, type ProvedSums, sameHours, sumId } from "../checks/verify_sums.ts";
import { type Problem, ProblemList } from "../checks/problems.ts";
import type { PendingCharge } from "../checks/verify_account.ts";
import {
  linesWithoutCopy,
  movementsPerRead,
  problemsOfCopies,
  problemsOfOperations,
} from "../checks/verify_ledger.ts";

/** Source of a scan, and where its findings go. */
export interface ScanOptions {
  readonly bounds: ScanBounds;
  /** The balances at the begin, in the order of the accounts. */
  readonly openings: () => AsyncIterable<DayBalance>;
  /** Only accounts from this one on. */
  readonly from: AccountId | undefined;
  /** Accounts and day sums in memory; with more of them the scan ends at an earlier account. */
  readonly rowsAtOnce: number;
  /** Collects the balances at the end of the last day that is over. */
  readonly closings: DayBalancePages;
  /** Set in the first pass only: these see the rows of all accounts. */
  readonly digests: DayDigests | undefined;
  readonly claims: ClaimSums | undefined;
  readonly slices: TimeSlices | undefined;
}

function accountIn({ key }: Deno.KvEntry<unknown>): AccountId {
  return accountOfKey(key);
}

/** Before every call. */
const firstDayOfAll = "1970-01-03";

function totalOf({ old, recent }: CellSums): UsageSum {
  return recent === undefined ? old : addUsage(old, recent);
}

/** Charge of a batch to an account, until it is in the lease row and the index. */
interface PendingPart extends PendingCharge {
  readonly accountId: AccountId;
  /** Its calls whose receipts were not read yet. */
  readonly unread: Set<RequestId>;
  receiptsMicroVnd: bigint;
}

/** One pass over the rows, for a range of accounts. */
export class Scan {
  readonly sums = new ScanSums();
  readonly suspects = new Set<AccountId>();
  /** Accounts with refunds, whose sums have to be compared. */
  readonly refunded = new Set<AccountId>();
  /** Accounts that made videos. */
  readonly filmed = new Set<AccountId>();
  /** Accounts of which an archive has sums by tag, if all rows are read. */
  readonly tagged = new Set<AccountId>();
  readonly problems = new ProblemList();
  /** Accounts with a problem. */
  readonly reported = new Set<AccountId>();
  /** The first day of a sum that has receipts but no row, by account. */
  readonly #unwritten = new Map<AccountId, string>();
  /** Rows of sums of no calls, and the versions of those that are right. */
  readonly #empty = new Map<string, string | undefined>();
  /** Facts of day sums, if all were read. */
  readonly proved: ProvedSums = {
    isProved: (id, versionstamp) => {
      const version = this.sums.cells.get(id)?.version ?? this.#empty.get(id);
      if (version !== undefined) return version === versionstamp;
      return this.sums.prints.get(id)?.isProved(versionstamp) === true;
    },
    unwrittenFrom: (accountId) => this.#unwritten.get(accountId),
  };
  /** Right sums of the store whose copy was not taken. */
  readonly #uncopied = new Map<string, DaySumCell>();
  readonly #unsure = new Map<string, DaySumCell>();
  /** Holdings of the accounts of this pass. */
  readonly holdings = {
    accounts: 0,
    availableMicroVnd: 0n,
    leasedMicroVnd: 0n,
    owedMicroVnd: 0n,
  };
  /** Receipts of all accounts, in the first pass. */
  receipts = 0;
  /** The highest version of the catalogue on a receipt. */
  latestCatalogVersion = 0;
  /** The first account that this pass has left out. */
  end: AccountId | undefined;
  readonly #kv: KeyValueStore;
  readonly #options: ScanOptions;
  readonly #charges = new Map<AccountId, PendingCharge[]>();
  /** Calls of batches, which may not be in the index yet. */
  readonly #tail = new Map<RequestId, PendingPart>();
  /** Receipts of such calls, until the index says whether the day sums have them. */
  readonly #tailReceipts = new Map<RequestId, Receipt>();
  readonly #indexedTail = new Set<RequestId>();
  #bucket = "";
  readonly #bucketIds = new Set<RequestId>();

  constructor(kv: KeyValueStore, options: ScanOptions) {
    this.#kv = kv;
    this.#options = options;
  }

  async run(): Promise<void> {
    await this.#readBatches();
    await this.#readReceipts();
    if (this.#options.from === undefined) this.#compareCharges();
    await this.#readLines();
    if (this.#isWhole) {
      await this.#readLedger();
      await this.#readOperations();
      await this.#readRefundSums();
    }
    await this.#compareBalances();
    await (this.#isWhole ? this.#readWholeIndex() : this.#readIndexOfTouched());
    this.#compareIndex();
    await (this.#isWhole ? this.#compareAllDaySums() : this.#compareTouchedDaySums());
  }

  /** Without a beginning every row is read, also where no receipt or line leads to it. */
  get #isWhole(): boolean {
    return this.#options.bounds.start === undefined;
  }

  /** Reads every row of a kind that is of our accounts; one that cannot be read is a problem. */
  async #eachOfOurs(
    prefix: Deno.KvKey,
    accountOf: (entry: Deno.KvEntry<unknown>) => AccountId,
    read: (accountId: AccountId, entry: Deno.KvEntry<unknown>) => void,
  ): Promise<void> {
    await this.#eachEntry(wholeKind(this.#kv, { prefix }, this.#options.slices), accountOf, read);
  }

  async #eachEntry<Entry extends Deno.KvEntry<unknown>>(
    entries: AsyncIterable<Entry>,
    accountOf: (entry: Entry) => AccountId,
    read: (accountId: AccountId, entry: Entry) => void,
  ): Promise<void> {
    for await (const entry of entries) {
      const accountId = accountOf(entry);
      if (!this.#isOurs(accountId)) continue;
      try {
        read(accountId, entry);
      } catch (error) {
        this.#reportRow(entry.key, error, accountId);
      }
    }
  }

  async #readBatches(): Promise<void> {
    for await (
      const entry of wholeKind<unknown>(this.#kv, { prefix: batchesPrefix() }, undefined)
    ) {
      try {
        this.#addBatch(decodeBatch(entry));
      } catch (error) {
        if (this.#options.from === undefined) this.#reportRow(entry.key, error);
      }
    }
  }

  #addBatch({ instanceId, commit, parts }: Batch): void {
    for (const { accountId, chargedMicroVnd, requestIds } of parts) {
      const charges = this.#charges.get(accountId) ?? [];
      const charge = { instanceId, commit, chargedMicroVnd };
      charges.push(charge);
      this.#charges.set(accountId, charges);
      const unread = new Set(requestIds);
      const part = { ...charge, accountId, unread, receiptsMicroVnd: 0n };
      for (const requestId of requestIds) this.#tail.set(requestId, part);
    }
  }

  /** Compares the charges of batches with the receipts that were written with them. */
  #compareCharges(): void {
    for (const part of new Set(this.#tail.values())) {
      const { accountId, instanceId, commit, chargedMicroVnd, receiptsMicroVnd, unread } = part;
      if (unread.size > 0 || chargedMicroVnd === receiptsMicroVnd) continue;
      const detail = `the commit ${commit} of ${instanceId} charges ${chargedMicroVnd} µVND, its ` +
        `receipts cost ${receiptsMicroVnd}`;
      this.#report({ accountId, kind: "balance", detail });
    }
  }

  /** The day sums as they were compared, if all were. */
  get compared(): ComparedSums {
    const { cells, prints } = this.sums;
    return {
      areHours: (id, total) => {
        const sums = cells.get(id);
        if (sums !== undefined) {
          return sums.version !== undefined && sameHours(totalOf(sums), total);
        }
        return total.missingCalls === 0 && prints.get(id)?.areHours(total) === true;
      },
      takeCopy: (id, copy) => {
        const sums = cells.get(id);
        if (sums === undefined) return prints.get(id)?.takeCopy(copy) === true;
        const isRight = sums.version !== undefined && sameUsage(totalOf(sums), copy);
        return isRight && this.#uncopied.delete(id);
      },
      withoutCopy: () => this.#withoutCopy(),
      unsure: this.#unsure,
      isOurs: (accountId) => this.#isOurs(accountId),
    };
  }

  async *#withoutCopy(): AsyncGenerator<DaySumCell> {
    yield* this.#uncopied.values();
    for (const accountId of this.#numbered(this.sums.prints.withoutCopy())) {
      const selector = { prefix: daySumsOfPrefix(accountId) };
      const ofStore = { isWithoutArchive: true };
      for await (const { key } of wholeKind(this.#kv, selector, this.#options.slices, ofStore)) {
        yield daySumCellOf(key);
      }
    }
  }

  *#numbered(numbers: ReadonlySet<number>): Generator<AccountId> {
    if (numbers.size === 0) return;
    for (const [accountId, { number }] of this.sums.tallies) {
      if (numbers.has(number)) yield accountId;
    }
  }

  #isOurs(accountId: AccountId): boolean {
    const { from } = this.#options;
    return (from === undefined || accountId >= from) &&
      (this.end === undefined || accountId < this.end);
  }

  #narrow(): void {
    if (this.sums.rows <= this.#options.rowsAtOnce || this.sums.tallies.size < 2) return;
    const end = this.sums.forgetUpperHalf();
    this.end = end;
    for (const accounts of [this.refunded, this.filmed]) {
      for (const accountId of accounts) if (accountId >= end) accounts.delete(accountId);
    }
    for (const [id, { accountId }] of this.#tailReceipts) {
      if (accountId >= end) this.#tailReceipts.delete(id);
    }
  }

  async #readReceipts(): Promise<void> {
    const { bounds: { startId, sumStartId }, slices, digests } = this.#options;
    const prefix = receiptsPrefix();
    const selector = sumStartId === "" ? { prefix } : { prefix, start: receiptPageKey(sumStartId) };
    let openDay = "";
    for await (const entry of wholeKind<unknown>(this.#kv, selector, slices)) {
      const newest = newestOnReceiptPage(entry.key);
      if (newest >= startId) digests?.addPage(entry);
      const day = this.#isWhole ? vietnamDay(idTimeMs("request", newest) - sumSlackMs) : "";
      if (day > openDay) this.sums.closeBefore(openDay = day);
      try {
        for (const receipt of decodeReceiptPage(entry)) this.#addReceipt(receipt);
      } catch (error) {
        if (this.#options.from === undefined) this.#reportRow(entry.key, error);
      }
      this.#narrow();
    }
  }

  #reportRow(key: Deno.KvKey, error: unknown, accountId?: AccountId): void {
    const detail = `${key.join(" ")}: ${error instanceof Error ? error.message : error}`;
    this.#report({ ...defined({ accountId }), kind: "row", detail });
  }

  #report(problem: Problem): void {
    this.problems.add(problem);
    if (problem.accountId !== undefined) this.reported.add(problem.accountId);
  }

  #reportAll(problems: readonly Problem[]): void {
    for (const problem of problems) this.#report(problem);
  }

  #addReceipt(receipt: Receipt): void {
    const { bounds, digests, claims } = this.#options;
    const { accountId, requestId, kind } = receipt;
    const isCounted = requestId >= bounds.startId;
    this.latestCatalogVersion = Math.max(this.latestCatalogVersion, receipt.catalogVersion ?? 0);
    if (isCounted && digests !== undefined) {
      digests.addReceipt(receipt);
      this.receipts++;
    }
    const { day } = daySumCell(receipt);
    if (bounds.start === undefined || day >= bounds.start.day) claims?.add(receipt);
    const pending = this.#tail.get(requestId);
    if (pending?.accountId === accountId && pending.unread.delete(requestId)) {
      pending.receiptsMicroVnd += receipt.costMicroVnd;
    }
    if (!this.#isOurs(accountId)) return;
    if (isCounted) {
      this.#checkOnce(receipt);
      this.sums.addCharge(receipt, bounds);
      if (kind === "video") this.filmed.add(accountId);
    }
    if (pending !== undefined) this.#tailReceipts.set(requestId, receipt);
    else this.sums.addUsage(receipt, bounds);
  }

  /** Checks that a call has one receipt: those with one id are on neighbouring pages. */
  #checkOnce({ requestId, accountId }: Receipt): void {
    const bucket = pageBucketOf(requestId);
    if (bucket !== this.#bucket) this.#bucketIds.clear();
    this.#bucket = bucket;
    if (this.#bucketIds.has(requestId)) {
      this.#report({ accountId, kind: "twice", detail: `${requestId} has two receipts` });
    }
    this.#bucketIds.add(requestId);
  }

  async #readLines(): Promise<void> {
    await eachGroup(this.#copies(), movementsPerRead, async (copies) => {
      this.#reportAll(await problemsOfCopies(this.#kv, copies));
    });
  }

  /** Adds the lines of our accounts, in the order of time, and hands their copies on. */
  async *#copies(): AsyncGenerator<LedgerEntry> {
    const { bounds: { start, closedEndMs }, digests, slices } = this.#options;
    for await (const { key, value } of linesByTime(this.#kv, start?.atMs, slices)) {
      if (!isLedgerLine(value)) {
        if (this.#options.from === undefined) this.#reportRow(key, "not a copy of a ledger line");
        continue;
      }
      digests?.addLine(value);
      const { accountId, ledgerId, amountMicroVnd, kind } = value;
      if (!this.#isOurs(accountId)) continue;
      if (ledgerByTimeKey(ledgerId).join() !== key.join()) {
        this.#reportRow(key, "a copy of another ledger line", accountId);
      }
      const tally = this.sums.tally(accountId);
      tally.ledgerMicroVnd += amountMicroVnd;
      if (lineAtMs(ledgerId) < closedEndMs) tally.closedLedgerMicroVnd += amountMicroVnd;
      if (kind === "refund") this.refunded.add(accountId);
      yield value;
      this.#narrow();
    }
  }

  /** Looks for lines without a copy, which are not among those that are read by time. */
  async #readLedger(): Promise<void> {
    await eachGroup(this.#lines(), keysAtOnce, async (lines) => {
      this.#reportAll(await linesWithoutCopy(this.#kv, lines));
    });
  }

  async *#lines(): AsyncGenerator<LedgerEntry> {
    const { slices } = this.#options;
    for await (const { key, value } of wholeKind(this.#kv, { prefix: ledgersPrefix() }, slices)) {
      const accountId = accountOfKey(key);
      if (!this.#isOurs(accountId)) continue;
      if (!isLedgerLine(value)) {
        this.#reportRow(key, "not a line of the ledger", accountId);
      } else if (ledgerKey(value.accountId, value.ledgerId).join() !== key.join()) {
        this.#report({ accountId, kind: "ledger", detail: `${key.join(" ")}: another line` });
      } else yield value;
    }
  }

  async #readOperations(): Promise<void> {
    await eachGroup(this.#operations(), keysAtOnce, async (operations) => {
      this.#reportAll(await problemsOfOperations(this.#kv, operations));
    });
  }

  async *#operations(): AsyncGenerator<Deno.KvEntry<LedgerEntry>> {
    const { slices } = this.#options;
    const prefix = ledgerOperationsPrefix();
    for await (const { key, value, versionstamp } of wholeKind(this.#kv, { prefix }, slices)) {
      if (!isLedgerLine(value)) {
        if (this.#options.from === undefined) {
          this.#reportRow(key, "not an operation of the ledger");
        }
      } else if (this.#isOurs(value.accountId)) yield { key, value, versionstamp };
    }
  }

  async #readRefundSums(): Promise<void> {
    for (const prefix of [refundSumsPrefix(), tagRefundsPrefix()]) {
      await this.#eachOfOurs(prefix, accountIn, (accountId, entry) => {
        refundSum(entry);
        this.refunded.add(accountId);
      });
    }
  }

  async #compareBalances(): Promise<void> {
    const { openings, closings } = this.#options;
    const touched = [...this.sums.tallies.keys()].sort();
    const holdings = readHoldingsInOrder(this.#kv, {
      openings: openings(),
      touched,
      charges: this.#charges,
      isOurs: (accountId) => this.#isOurs(accountId),
      slices: this.#options.slices,
    });
    for await (const holding of holdings) this.#compareBalance(holding, closings);
  }

  #compareBalance(holding: AccountHolding, closings: DayBalancePages): void {
    const { accountId, openingMicroVnd, availableMicroVnd, leasedMicroVnd, problem } = holding;
    const tally = this.sums.tallies.get(accountId);
    if (tally !== undefined) tally.openingMicroVnd = openingMicroVnd;
    closings.add({
      accountId,
      balanceMicroVnd: openingMicroVnd + (tally?.closedLedgerMicroVnd ?? 0n) -
        (tally?.closedChargedMicroVnd ?? 0n),
    });
    this.holdings.accounts++;
    if (problem !== undefined) {
      this.#report({ accountId, kind: "row", detail: problem });
      return;
    }
    const worth = availableMicroVnd + leasedMicroVnd;
    this.holdings.availableMicroVnd += availableMicroVnd;
    this.holdings.leasedMicroVnd += leasedMicroVnd;
    if (worth < 0n) this.holdings.owedMicroVnd -= worth;
    const moved = (tally?.ledgerMicroVnd ?? 0n) - (tally?.chargedMicroVnd ?? 0n);
    if (worth === openingMicroVnd + moved && !holding.isLeaseNegative) return;
    this.sums.tally(accountId).openingMicroVnd = openingMicroVnd;
    this.suspects.add(accountId);
  }

  async #readIndexOfTouched(): Promise<void> {
    await inParallel([...this.sums.tallies.keys()], async (accountId) => {
      const { ids, problems } = await indexedIds(this.#kv, accountId, this.#options.bounds.startId);
      this.#reportAll(problems);
      for (const requestId of ids) this.#addIndexed(accountId, requestId);
    });
  }

  async #readWholeIndex(): Promise<void> {
    // While a day is moved, store and archive name its calls, in the same bucket.
    let bucket = "";
    let ids: Set<RequestId> | undefined;
    const archive = new IndexOfArchive(this.#kv, this.#options.slices);
    const prefix = allIndexPagesPrefix();
    const pages = wholeKind<unknown>(this.#kv, { prefix }, this.#options.slices, archive.ofStore);
    const add = (accountId: AccountId, requestId: RequestId) => {
      if (this.#isOurs(accountId)) this.#addIndexed(accountId, requestId);
    };
    for await (const page of pages) {
      const accountId = accountIn(page);
      const next = accountId + indexBucketOf(page.key);
      if (next !== bucket) {
        ids = new Set();
        bucket = next;
        await archive.before(accountId, indexBucketOf(page.key), add);
        await archive.before(
          accountId,
          endOfIndexBucket(indexBucketOf(page.key)),
          (id, requestId) => {
            ids?.add(requestId);
            add(id, requestId);
          },
        );
      }
      if (!this.#isOurs(accountId)) continue;
      try {
        for (const requestId of pageIds(page)) {
          if (ids?.has(requestId) !== true) this.#addIndexed(accountId, requestId);
          ids?.add(requestId);
        }
      } catch (error) {
        this.#reportRow(page.key, error, accountId);
      }
    }
    await archive.rest(add);
  }

  #addIndexed(accountId: AccountId, requestId: RequestId): void {
    if (this.#tail.has(requestId)) this.#indexedTail.add(requestId);
    this.sums.addIndexed(accountId, requestId, this.#options.bounds);
  }

  #compareIndex(): void {
    const { bounds } = this.#options;
    const indexedTail = this.#indexedTail;
    for (const [requestId, { accountId }] of this.#tail) {
      if (requestId < bounds.startId || !this.#isOurs(accountId)) continue;
      if (!indexedTail.has(requestId)) this.sums.addIndexed(accountId, requestId, bounds);
    }
    for (const [requestId, receipt] of this.#tailReceipts) {
      if (indexedTail.has(requestId)) this.sums.addUsage(receipt, bounds);
    }
    for (const [accountId, tally] of this.sums.tallies) {
      const { old, recent } = isIndexed(tally);
      if (!old || !recent) this.suspects.add(accountId);
    }
  }

  /** Compares the sums of the store, then those of the archive, where one counts that the store has not. */
  async #compareAllDaySums(): Promise<void> {
    const { slices } = this.#options;
    const compare = (accountId: AccountId, entry: Deno.KvEntry<unknown>) =>
      this.#compareDaySum(accountId, entry);
    const selector = { prefix: daySumsPrefix() };
    const archived = this.#kv.archivedDaySums?.();
    const ofStore = { isWithoutArchive: archived !== undefined };
    await this.#eachEntry(wholeKind(this.#kv, selector, slices, ofStore), accountIn, compare);
    if (archived !== undefined) {
      await this.#eachEntry(inSlices(archived, slices), accountIn, (accountId, entry) => {
        if (entry.hasTags) this.tagged.add(accountId);
        compare(accountId, entry);
      });
    }
    for (const sums of this.sums.cells.values()) {
      if (sums.isCompared || sameUsage(noUsage, totalOf(sums))) continue;
      const { accountId, day } = sums.cell;
      const known = this.#unwritten.get(accountId);
      if (known === undefined || day < known) this.#unwritten.set(accountId, day);
      this.#suspect(accountId);
    }
    for (const accountId of this.#numbered(this.sums.prints.withoutRow())) {
      this.#unwritten.set(accountId, firstDayOfAll);
      this.#suspect(accountId);
    }
  }

  #compareDaySum(
    accountId: AccountId,
    { key, value, versionstamp }: Deno.KvEntry<unknown>,
  ): void {
    const cell = daySumCellOf(key);
    const name = sumId(cell);
    const sums = this.sums.cells.get(name);
    if (sums?.isCompared === true || this.#empty.has(name)) return;
    const isOfStore = !isArchivedSum({ versionstamp });
    const print = sums === undefined ? this.sums.prints.get(name) : undefined;
    if (print !== undefined) {
      if (print.isCompared) return;
      const sum = usageSum(value);
      const needsCopy = isOfStore && sum.providers !== undefined;
      if (print.compare(sum, { versionstamp, needsCopy })) return;
      if (isOfStore) this.#unsure.set(name, cell);
      return this.#suspect(accountId);
    }
    const id = sums?.id ?? name;
    if (sums === undefined) this.#empty.set(id, undefined);
    else sums.isCompared = true;
    if (isOfStore) this.#unsure.set(id, cell);
    const sum = storedSum(value);
    if (!sameUsage(sum, sums === undefined ? noUsage : totalOf(sums))) {
      return this.#suspect(accountId);
    }
    if (sums === undefined) return void this.#empty.set(id, versionstamp);
    sums.version = versionstamp;
    this.#unsure.delete(id);
    if (isOfStore && sum.providers !== undefined) this.#uncopied.set(id, cell);
  }

  #suspect(accountId: AccountId): void {
    this.sums.tally(accountId);
    this.suspects.add(accountId);
  }

  async #compareTouchedDaySums(): Promise<void> {
    // One group after the other: the rows of many would be in memory at once, and wait for each other past the deadline
    // that a statement has.
    for (const group of groupsOf([...this.sums.cells.values()], keysAtOnce)) {
      const keys = group.map(({ cell }) => daySumCellKey(cell));
      const rows = await rowsOfKeys(this.#kv, keys);
      group.forEach((sums, at) => {
        const { cell } = sums;
        const stored = rows[at];
        try {
          const sum = stored === undefined ? noUsage : usageSum(stored.value);
          if (sameUsage(sum, totalOf(sums))) return;
          this.suspects.add(cell.accountId);
        } catch (error) {
          this.#reportRow(keys[at]!, error, cell.accountId);
        }
      });
      await this.#options.slices?.rest();
    }
  }
}
