/**
 * Reads the whole store once and sums everything. On a live store what it finds wrong is only
 * suspected, since rows change meanwhile; `verify.ts` checks suspects again.
 */
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { decodeBatch } from "../../engine/store/batches.ts";
import {
  accountOfKey,
  allIndexPagesPrefix,
  batchesPrefix,
  daySumCellOf,
  daySumsPrefix,
  leasesPrefix,
  ledgerOperationsPrefix,
  ledgersPrefix,
  receiptsPrefix,
  refundSumsPrefix,
  walletsPrefix,
} from "../../engine/schema/keys.ts";
import type { LedgerEntry } from "../../money/ledger/ledger.ts";
import { leaseRow } from "../../money/balances/leases.ts";
import type { ClaimSums } from "../../money/ledger/provider_claims.ts";
import { pageIds } from "../../money/receipts/receipt_index.ts";
import { decodeReceiptPage, pageBucketOf } from "../../money/receipts/receipt_pages.ts";
import { refundSum } from "../../money/ledger/refunds.ts";
import {
  addReceipts,
  type DaySumCell,
  daySumCell,
  noUsage,
  sameUsage,
  type UsageSum,
  usageSum,
} from "../../money/receipts/day_sums.ts";
import type { DayDigests } from "./days/day_digests.ts";
import {
  type AccountCheckOptions,
  leaseLeftMicroVnd,
  ledgerFingerprint,
  type PendingCharge,
  type Problem,
  verifyAccount,
} from "./checks/verify_account.ts";
import {
  type AccountPrints,
  hash,
  IndexPrints,
  isIndexed,
  rereadRecent,
  type ScanOptions,
} from "./checks/verify_index.ts";
import { isRefund, refundCellId } from "./checks/verify_refunds.ts";
import { type ProvedSums, sumId } from "./checks/verify_sums.ts";
import { walletRow } from "../../money/balances/wallets.ts";
import { wholeKind } from "../../engine/store/read_ahead.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { InvariantError } from "../../../core/lib/base/assert.ts";

/** The sums of one account. */
export interface Tally {
  availableMicroVnd: bigint;
  leasedMicroVnd: bigint;
  ledgerMicroVnd: bigint;
  chargedMicroVnd: bigint;
  /**
   * Hashes of ledger lines less those of the rows of their operations, in any order; 0 if they
   * agree.
   */
  ledgerPrint: number;
}

/** One scan of the whole store, for the accounts of this pass. */
export class Scan {
  readonly tallies = new Map<AccountId, Tally>();
  readonly prints: IndexPrints;
  readonly suspects = new Set<AccountId>();
  readonly problems: Problem[] = [];
  receipts = 0;
  /** The highest version of the catalogue on a receipt. */
  latestCatalogVersion = 0;
  readonly #kv: KeyValueStore;
  readonly #isOurs: (accountId: AccountId) => boolean;
  readonly #slices: TimeSlices | undefined;
  readonly #claims: ClaimSums | undefined;
  readonly #digests: DayDigests | undefined;
  /** Sums of receipts by cell, until the row of the sum is read. */
  readonly #sums = new Map<string, { readonly cell: DaySumCell; readonly sum: UsageSum }>();
  /** Versions of the rows that equal the sum of their receipts. */
  readonly #proved = new Map<string, string>();
  readonly #charges = new Map<AccountId, PendingCharge[]>();
  /** Calls of batches, until they are found in the index. */
  readonly #tail = new Map<RequestId, AccountId>();
  readonly #indexedTail = new Set<RequestId>();
  /** Refund lines by call, until the receipt of the call is read. */
  readonly #refunds = new Map<RequestId, LedgerEntry>();
  /** Refunds by day sum, until the row of the sum is read. */
  readonly #refundSums = new Map<string, bigint>();
  /** The bucket of receipt pages that is being read, and its calls so far. */
  #bucket = "";
  readonly #bucketIds = new Set<RequestId>();

  constructor(
    kv: KeyValueStore,
    isOurs: (accountId: AccountId) => boolean,
    { recentStart, slices, claims, digests }: ScanOptions,
  ) {
    this.#digests = digests;
    this.#kv = kv;
    this.#isOurs = isOurs;
    this.#slices = slices;
    this.#claims = claims;
    this.prints = new IndexPrints(recentStart);
  }

  tally(accountId: AccountId): Tally {
    let tally = this.tallies.get(accountId);
    if (!tally) {
      tally = {
        availableMicroVnd: 0n,
        leasedMicroVnd: 0n,
        ledgerMicroVnd: 0n,
        chargedMicroVnd: 0n,
        ledgerPrint: 0,
      };
      this.tallies.set(accountId, tally);
    }
    return tally;
  }

  /**
   * Reads every row under a prefix; a row that cannot be read is a problem, and the scan continues.
   */
  async #each(
    prefix: Deno.KvKey,
    accountOf: (key: Deno.KvKey) => AccountId | undefined,
    read: (entry: Deno.KvEntry<unknown>) => void,
  ): Promise<void> {
    for await (const entry of wholeKind<unknown>(this.#kv, { prefix }, this.#slices)) {
      const accountId = accountOf(entry.key);
      if (accountId !== undefined && !this.#isOurs(accountId)) continue;
      try {
        read(entry);
      } catch (error) {
        const detail = `${entry.key.join(" ")}: ${error instanceof Error ? error.message : error}`;
        this.problems.push({
          ...defined({ accountId }),
          kind: "row",
          detail,
        });
      }
    }
  }

  async run(): Promise<void> {
    const none = () => undefined;
    await this.#each(batchesPrefix(), none, (entry) => this.#addBatch(entry));
    await this.#each(leasesPrefix(), accountOfKey, (entry) => {
      const lease = leaseRow(entry);
      const left = leaseLeftMicroVnd(lease, this.#charges.get(lease.accountId) ?? []);
      if (left < 0n) this.suspects.add(lease.accountId);
      this.tally(lease.accountId).leasedMicroVnd += left;
    });
    await this.#each(walletsPrefix(), accountOfKey, (entry) => {
      const accountId = accountOfKey(entry.key);
      this.tally(accountId).availableMicroVnd = walletRow(accountId, entry).availableMicroVnd;
    });
    await this.#addLedger();
    await this.#each(allIndexPagesPrefix(), accountOfKey, (entry) => {
      const accountId = accountOfKey(entry.key);
      this.tally(accountId);
      for (const requestId of pageIds(entry)) {
        if (this.#tail.has(requestId)) this.#indexedTail.add(requestId);
        this.prints.add("index", accountId, requestId);
      }
    });
    await this.#each(receiptsPrefix(), none, (entry) => {
      this.#digests?.addPage(entry);
      for (const receipt of decodeReceiptPage(entry)) this.#addReceipt(receipt);
    });
    await this.#each(daySumsPrefix(), accountOfKey, ({ key, value, versionstamp }) => {
      const id = sumId(daySumCellOf(key));
      if (sameUsage(usageSum(value), this.#sums.get(id)?.sum ?? noUsage)) {
        this.#proved.set(id, versionstamp);
      } else this.suspects.add(accountOfKey(key));
      this.#sums.delete(id);
    });
    await this.#each(refundSumsPrefix(), accountOfKey, (entry) => {
      const cell = refundCellId(entry.key);
      if (refundSum(entry) !== this.#refundSums.get(cell)) {
        this.suspects.add(accountOfKey(entry.key));
      }
      this.#refundSums.delete(cell);
    });
    this.#conclude();
  }

  async #addLedger(): Promise<void> {
    await this.#each(ledgersPrefix(), accountOfKey, ({ key, value }) => {
      const line = value as LedgerEntry;
      const tally = this.tally(accountOfKey(key));
      tally.ledgerMicroVnd += line.amountMicroVnd;
      tally.ledgerPrint = (tally.ledgerPrint + hash(ledgerFingerprint(line))) >>> 0;
      if (!isRefund(line)) return;
      if (line.requestId === undefined || this.#refunds.has(line.requestId)) {
        this.suspects.add(line.accountId);
      } else this.#refunds.set(line.requestId, line);
    });
    await this.#each(ledgerOperationsPrefix(), () => undefined, ({ value }) => {
      const operation = value as LedgerEntry;
      if (!this.#isOurs(operation.accountId)) return;
      const tally = this.tally(operation.accountId);
      tally.ledgerPrint = (tally.ledgerPrint - hash(ledgerFingerprint(operation))) >>> 0;
    });
  }

  #addBatch(entry: Deno.KvEntry<unknown>): void {
    const { instanceId, commit, parts } = decodeBatch(entry);
    for (const { accountId, chargedMicroVnd, requestIds } of parts) {
      if (!this.#isOurs(accountId)) continue;
      const charge = { instanceId, commit, chargedMicroVnd };
      const known = this.#charges.get(accountId);
      if (known) known.push(charge);
      else this.#charges.set(accountId, [charge]);
      for (const requestId of requestIds) this.#tail.set(requestId, accountId);
    }
  }

  #addReceipt(receipt: Receipt): void {
    const { requestId } = receipt;
    this.#digests?.addReceipt(receipt);
    this.latestCatalogVersion = Math.max(this.latestCatalogVersion, receipt.catalogVersion ?? 0);
    if (!this.#isOurs(receipt.accountId)) return;
    this.#checkOnce(receipt);
    this.receipts++;
    this.#claims?.add(receipt);
    const tally = this.tally(receipt.accountId);
    tally.chargedMicroVnd += receipt.costMicroVnd;
    this.prints.add("receipts", receipt.accountId, requestId);
    this.#addRefundOf(receipt);
    if (this.#tail.has(requestId) && !this.#indexedTail.has(requestId)) return;
    const cell = daySumCell(receipt);
    const id = sumId(cell);
    const sum = addReceipts(this.#sums.get(id)?.sum ?? noUsage, [receipt]);
    this.#sums.set(id, { cell, sum });
  }

  #addRefundOf(receipt: Receipt): void {
    const line = this.#refunds.get(receipt.requestId);
    if (line?.accountId !== receipt.accountId) return;
    this.#refunds.delete(receipt.requestId);
    if (line.amountMicroVnd > receipt.costMicroVnd) this.suspects.add(receipt.accountId);
    const cell = sumId(daySumCell(receipt));
    this.#refundSums.set(cell, (this.#refundSums.get(cell) ?? 0n) + line.amountMicroVnd);
  }

  /**
   * Checks that a call has one receipt. Receipts with one id are in one bucket, and the pages of a
   * bucket are neighbours.
   */
  #checkOnce({ requestId, accountId }: Receipt): void {
    const bucket = pageBucketOf(requestId);
    if (bucket !== this.#bucket) this.#bucketIds.clear();
    this.#bucket = bucket;
    if (this.#bucketIds.has(requestId)) {
      this.problems.push({ accountId, kind: "twice", detail: `${requestId} has two receipts` });
    }
    this.#bucketIds.add(requestId);
  }

  /** Accounts whose ledger lines and operations differ. */
  get doubtfulLedgers(): Set<AccountId> {
    const doubtful = [...this.tallies].filter(([, { ledgerPrint }]) => ledgerPrint !== 0);
    return new Set(doubtful.map(([accountId]) => accountId));
  }

  /** What the scan found out about day sums. */
  get provedSums(): ProvedSums {
    const unwritten = new Map([...this.#sums].map(([id, { cell }]) => [id, cell]));
    return { versions: this.#proved, unwritten };
  }

  #conclude(): void {
    for (const [requestId, accountId] of this.#tail) {
      if (this.#indexedTail.has(requestId)) continue;
      this.tally(accountId);
      this.prints.add("index", accountId, requestId);
    }
    // Sums without a row.
    for (const { cell } of this.#sums.values()) this.suspects.add(cell.accountId);
    for (const id of this.#refundSums.keys()) this.suspects.add(id.split(" ")[1] as AccountId);
    for (const { accountId } of this.#refunds.values()) this.suspects.add(accountId);
    for (const [accountId, tally] of this.tallies) {
      const worth = tally.availableMicroVnd + tally.leasedMicroVnd;
      if (
        worth !== tally.ledgerMicroVnd - tally.chargedMicroVnd || tally.ledgerPrint !== 0 ||
        !isIndexed(this.prints.of(accountId))
      ) {
        this.suspects.add(accountId);
      }
    }
  }
}

// Checks accounts again that looked wrong, or were in use, during the scan.

/**
 * Milliseconds of the pauses before further readings of accounts in use, which may be idle by then.
 */
const verifyRestPausesMs = [200, 1_000, 3_000] as const;

/** Accounts with the hash sums of their receipts and index. */
export type Suspects = ReadonlyMap<AccountId, AccountPrints>;

export type SecondLookOptions = AccountCheckOptions & ScanOptions;

interface SecondLook {
  readonly problems: Problem[];
  /** Accounts that kept changing. */
  readonly moving: Suspects;
}

/**
 * Checks accounts one by one; a reading counts only if nothing changed during it. Receipts that
 * neither the index nor a batch names are found only by reading the receipts of all accounts, so
 * accounts that may have some share one such reading.
 */
async function checkSuspects(
  kv: KeyValueStore,
  suspects: Suspects,
  check: SecondLookOptions,
): Promise<SecondLook> {
  const problems: Problem[] = [];
  const moving = new Map<AccountId, AccountPrints>();
  const doubtful = new Map<AccountId, AccountPrints>();
  for (const [accountId, seen] of suspects) {
    const found = await exactProblems(kv, accountId, check);
    await check.slices?.rest();
    if (found === "moving") {
      moving.set(accountId, seen);
      continue;
    }
    problems.push(...found);
    if (!isIndexed(seen)) doubtful.set(accountId, seen);
  }
  if (doubtful.size === 0) return { problems, moving };
  const prints = await readPrintsAgain(kv, doubtful, check);
  for (const [accountId, seen] of doubtful) {
    const now = prints.of(accountId);
    if (isIndexed(now)) continue;
    const isMoving = now.recent.receipts !== seen.recent.receipts ||
      now.old.receipts !== seen.old.receipts;
    if (isMoving) moving.set(accountId, now);
    else problems.push({ accountId, kind: "index", detail: "receipts and index differ" });
  }
  return { problems, moving };
}

/** Reads the hash sums again, also for older calls if those disagree, which takes a full scan. */
async function readPrintsAgain(kv: KeyValueStore, doubtful: Suspects, check: SecondLookOptions) {
  if ([...doubtful.values()].every(({ old }) => old.receipts === old.index)) {
    return await rereadRecent(kv, doubtful, check);
  }
  const scan = new Scan(kv, (accountId) => doubtful.has(accountId), check);
  await scan.run();
  return scan.prints;
}

async function exactProblems(
  kv: KeyValueStore,
  accountId: AccountId,
  check: AccountCheckOptions,
): Promise<Problem[] | "moving"> {
  try {
    return await verifyAccount(kv, accountId, check);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [{ accountId, kind: "row", detail: error.message }];
  }
}

/** Checks accounts, and repeats the check of those in use a few times, with pauses. */
export async function checkUntilRest(
  kv: KeyValueStore,
  suspects: Suspects,
  { pause, ...check }: SecondLookOptions & {
    readonly pause: (durationMs: number) => Promise<void>;
  },
): Promise<SecondLook> {
  let { problems, moving } = await checkSuspects(kv, suspects, check);
  for (const durationMs of verifyRestPausesMs) {
    if (moving.size === 0) break;
    await pause(durationMs);
    const again = await checkSuspects(kv, moving, check);
    problems = [...problems, ...again.problems];
    moving = again.moving;
  }
  return { problems, moving };
}
