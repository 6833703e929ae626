/**
 * Proves a whole store right, or says where it is not:
 *
 * 1. available + Σ leases = Σ credits − Σ debits − Σ charges, for every account and in all;
 * 2. nothing is negative;
 * 3. every receipt is found through its account, once, and the day sums are the sums of the receipts;
 * 4. every video task that failed was refunded what it cost, once, and every open one will be asked for again;
 * 5. no call has two receipts.
 *
 * May run beside a live service. One fast scan adds everything up; accounts that look wrong, or were in use meanwhile,
 * are then checked one by one, where a reading counts only if nothing moved. Accounts that never stand still are
 * reported as `moving`: for them nothing is proved. The overall totals are those of the scan and exact at rest only.
 */
import { InvariantError } from "../core/assert.ts";
import type { AccountId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import { rollupsPrefix, walletsPrefix } from "./keys.ts";
import { type Problem, verifyAccount } from "./verify_account.ts";
import { hash, Scan, type Tally } from "./verify_scan.ts";
import { verifyVideos } from "./videos/verify.ts";

export type { Problem } from "./verify_account.ts";

export interface VerifyReport {
  /** No problem was found, and no account was moving. */
  readonly ok: boolean;
  readonly accounts: number;
  readonly receipts: number;
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  /** Σ credits − Σ debits. */
  readonly ledgerMicroVnd: bigint;
  readonly chargedMicroVnd: bigint;
  /** At most `limits.verifyProblems` of them. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Accounts that were in use all the time. */
  readonly moving: readonly AccountId[];
}

export interface VerifyOptions {
  /** Accounts, and day sums, kept in memory at once; more means more passes over the store. */
  readonly rowsPerPass?: number;
}

async function countPasses(kv: Deno.Kv, rowsPerPass: number): Promise<number> {
  let rows = 0;
  for (const prefix of [walletsPrefix(), rollupsPrefix()]) {
    for await (const _ of kv.list({ prefix }, { batchSize: 500 })) rows++;
  }
  return Math.max(1, Math.ceil(rows / rowsPerPass));
}

/**
 * Verifies the store. Reads everything once per `rowsPerPass` accounts; memory is bounded by that, not by the number
 * of receipts.
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
  kv: Deno.Kv,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const rowsPerPass = options.rowsPerPass ?? limits.verifyRowsPerPass;
  const passes = await countPasses(kv, rowsPerPass);
  const totals = { accounts: 0, receipts: 0, available: 0n, leased: 0n, ledger: 0n, charged: 0n };
  const problems: Problem[] = [];
  const moving: AccountId[] = [];
  let problemCount = 0;
  const report = (some: readonly Problem[]) => {
    problemCount += some.length;
    problems.push(...some.slice(0, limits.verifyProblems - problems.length));
  };
  for (let pass = 0; pass < passes; pass++) {
    const scan = new Scan(kv, (accountId) => hash(accountId) % passes === pass);
    await scan.run();
    totals.accounts += scan.tallies.size;
    totals.receipts += scan.receipts;
    for (const tally of scan.tallies.values()) {
      totals.available += tally.availableMicroVnd;
      totals.leased += tally.leasedMicroVnd;
      totals.ledger += tally.ledgerMicroVnd;
      totals.charged += tally.chargedMicroVnd;
    }
    // Rows of no account at all are reported by the first pass only.
    report(scan.problems.filter(({ accountId }) => accountId !== undefined || pass === 0));
    const unreadable = new Set(scan.problems.map(({ accountId }) => accountId));
    for (const accountId of scan.suspects) {
      if (unreadable.has(accountId)) continue;
      const found = await suspectProblems(kv, accountId, scan.tally(accountId));
      if (found === "moving") moving.push(accountId);
      else report(found);
    }
  }
  for await (const problem of verifyVideos(kv)) report([problem]);
  return {
    ok: problemCount === 0 && moving.length === 0,
    accounts: totals.accounts,
    receipts: totals.receipts,
    availableMicroVnd: totals.available,
    leasedMicroVnd: totals.leased,
    ledgerMicroVnd: totals.ledger,
    chargedMicroVnd: totals.charged,
    problems,
    problemCount,
    moving,
  };
}

/** The second look at an account. Receipts that no index row and no batch names are seen by a scan alone. */
async function suspectProblems(
  kv: Deno.Kv,
  accountId: AccountId,
  tally: Tally,
): Promise<Problem[] | "moving"> {
  let found: Problem[] | "moving";
  try {
    found = await verifyAccount(kv, accountId);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [{ accountId, kind: "row", detail: error.message }];
  }
  if (found === "moving") return found;
  const reread = new Scan(kv, (other) => other === accountId);
  await reread.run();
  const now = reread.tally(accountId);
  if (now.receiptsPrint === now.indexPrint) return found;
  if (now.receiptsPrint !== tally.receiptsPrint) return "moving";
  return [...found, { accountId, kind: "index", detail: "receipts and index differ" }];
}
