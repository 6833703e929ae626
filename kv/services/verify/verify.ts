/**
 * Verifies the invariants of a whole store, and lists what violates them:
 *
 * 1. available + Σ leases = Σ credits − Σ debits − Σ charges, for every account and in all;
 * 2. nothing is negative except a wallet within the debt limit in its row;
 * 3. every receipt is in the index of its account, once, and day sums equal the sums of receipts;
 * 4. every line of the ledger is the one that its operation wrote, and no operation has a second
 *    one;
 * 5. refunds per day, key and model equal the refund lines of those calls, and none exceeds the
 *    cost of its call;
 * 6. every failed video task was refunded its cost, once, and every open one will be polled again;
 * 7. no call has two receipts;
 * 8. the sums of claims on providers, by day and route, equal those of the receipts;
 * 9. the versions of the catalogue form one chain with the head at its end, their contents are as
 *    they were written, and receipts name no version that does not exist;
 * 10. credit that was given is within its budgets, and what is left, spent and expired of each grant
 *    agrees with the ledger and the wallet (`verify_credits.ts`).
 *
 * May run beside a live service. One fast scan sums everything. Accounts that look wrong, or were
 * in use meanwhile, are then checked one by one; a reading counts only if nothing changed during
 * it, and is repeated after a pause. Receipts of days that the scan verified are not read again.
 * Accounts that keep changing are reported as `moving`: they are neither verified nor wrong. The
 * totals are those of the scan, and exact only if nothing changes.
 *
 * - Folder `kv/services/verify/`: verification of a whole store, its checkpoints, and its export.
 * - In: a store, also one in use.
 * - Out: a report with every problem, checkpoints of the days that are right, or records as JSON lines without
 *   secrets.
 * - Never: changes what it verifies; it writes checkpoints, and copies of ledger lines that an earlier release left
 *   out.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { daySumsPrefix, ledgersPrefix, walletsPrefix } from "../../engine/schema/keys.ts";
import { ClaimSums } from "../../money/ledger/provider_claims.ts";
import type { Problem } from "./checks/verify_account.ts";
import { allCopyProblems } from "./checks/verify_day_copies.ts";
import { catalogProblems } from "./checks/verify_catalog.ts";
import { claimDisagreements, readClaimRows } from "./checks/verify_claims.ts";
import { creditProblems } from "./checks/verify_credits.ts";
import type { DayDigests } from "./days/day_digests.ts";
import { isRefund } from "./checks/verify_refunds.ts";
import { hash, recentIdsStart } from "./checks/verify_index.ts";
import { Scan } from "./verify_scan.ts";
import { checkUntilRest } from "./verify_suspects.ts";
import { verifyVideos } from "../videos/verify.ts";
import { wholeKind } from "../../engine/store/whole_kind.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Accounts (or day sums) that verification keeps in memory per pass over the store. */
const verifyRowsPerPass = 200_000;

/** Most problems that a report lists; beyond it only their number. */
export const maxVerifyProblems = 1_000;

/** The result of a verification. */
export interface VerifyReport {
  /** Set if no problem was found. Accounts in `moving` are not verified by it. */
  readonly ok: boolean;
  readonly accounts: number;
  readonly receipts: number;
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  /** Debts of accounts with a negative balance; part of the two sums above. */
  readonly owedMicroVnd: bigint;
  /** Σ credits − Σ debits. */
  readonly ledgerMicroVnd: bigint;
  readonly chargedMicroVnd: bigint;
  /** At most `maxVerifyProblems` problems. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Accounts that kept changing. */
  readonly moving: readonly AccountId[];
}

/** Options of {@linkcode verifyStore}. */
export interface VerifyOptions {
  /** Accounts, day sums and refunds in memory at once; a larger store takes more passes. */
  readonly rowsPerPass?: number;
  /** Lets calls run in between, if the service runs on this thread. */
  readonly slices?: TimeSlices | undefined;
  /** Waits before accounts that were in use are read again. */
  readonly pause?: (durationMs: number) => Promise<void>;
  /** Collects the receipts of all accounts by day. */
  readonly digests?: DayDigests | undefined;
}

async function countPasses(
  kv: KeyValueStore,
  rowsPerPass: number,
  slices: TimeSlices | undefined,
): Promise<number> {
  let rows = 0;
  for (const prefix of [walletsPrefix(), daySumsPrefix()]) {
    for await (const _ of wholeKind(kv, { prefix }, slices)) rows++;
  }
  for await (const { value } of wholeKind(kv, { prefix: ledgersPrefix() }, slices)) {
    if (isRefund(value)) rows++;
  }
  return Math.max(1, Math.ceil(rows / rowsPerPass));
}

/**
 * Verifies a store. Reads everything once per `rowsPerPass` accounts, which bounds the memory
 * independently of the number of receipts.
 *
 * @example
 * ```ts
 * import { verifyStore } from "./verify.ts";
 * using kv = await Deno.openKv(":memory:");
 * const report = await verifyStore(kv);
 * if (!report.ok) throw new Error("an empty store is right");
 * ```
 */
export async function verifyStore(
  kv: KeyValueStore,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const rowsPerPass = options.rowsPerPass ?? verifyRowsPerPass;
  const { slices, pause = sleep } = options;
  const recentStart = await recentIdsStart(kv);
  const passes = await countPasses(kv, rowsPerPass, slices);
  const totals = {
    accounts: 0,
    receipts: 0,
    available: 0n,
    leased: 0n,
    owed: 0n,
    ledger: 0n,
    charged: 0n,
  };
  const problems: Problem[] = [];
  const moving: AccountId[] = [];
  let problemCount = 0;
  let latestOnReceipts = 0;
  const report = (some: readonly Problem[]) => {
    problemCount += some.length;
    problems.push(...some.slice(0, maxVerifyProblems - problems.length));
  };
  const claimsBefore = await readClaimRows(kv, slices);
  const claims = new ClaimSums();
  for (let pass = 0; pass < passes; pass++) {
    const isOurs = (accountId: AccountId) => hash(accountId) % passes === pass;
    const digests = pass === 0 ? options.digests : undefined;
    const scan = new Scan(kv, isOurs, { recentStart, slices, claims, digests });
    await scan.run();
    totals.accounts += scan.tallies.size;
    totals.receipts += scan.receipts;
    latestOnReceipts = Math.max(latestOnReceipts, scan.latestCatalogVersion);
    for (const tally of scan.tallies.values()) {
      totals.available += tally.availableMicroVnd;
      totals.leased += tally.leasedMicroVnd;
      const worth = tally.availableMicroVnd + tally.leasedMicroVnd;
      if (worth < 0n) totals.owed -= worth;
      totals.ledger += tally.ledgerMicroVnd;
      totals.charged += tally.chargedMicroVnd;
    }
    // Rows without an account are reported by the first pass only.
    report(scan.problems.filter(({ accountId }) => accountId !== undefined || pass === 0));
    const unreadable = new Set(scan.problems.map(({ accountId }) => accountId));
    const suspects = [...scan.suspects].filter((accountId) => !unreadable.has(accountId));
    const seen = new Map(suspects.map((accountId) => [accountId, scan.prints.of(accountId)]));
    const second = await checkUntilRest(kv, seen, {
      pause,
      slices,
      recentStart,
      known: scan.provedSums,
      doubtfulLedgers: scan.doubtfulLedgers,
    });
    report(second.problems);
    moving.push(...second.moving.keys());
  }
  report(claimDisagreements(claimsBefore, claims, await readClaimRows(kv, slices)));
  report(await allCopyProblems(kv, slices));
  for await (const problem of verifyVideos(kv)) report([problem]);
  report(await catalogProblems(kv, { latestOnReceipts, isFull: true }));
  report(await creditProblems(kv, { fromMs: undefined, slices }));
  return {
    ok: problemCount === 0,
    accounts: totals.accounts,
    receipts: totals.receipts,
    availableMicroVnd: totals.available,
    leasedMicroVnd: totals.leased,
    owedMicroVnd: totals.owed,
    ledgerMicroVnd: totals.ledger,
    chargedMicroVnd: totals.charged,
    problems,
    problemCount,
    moving,
  };
}
