/**
 * Checks one account exactly from the first day that is not sealed: a reading counts only if nothing changed during it.
 */
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import {
  addReceipts,
  daySumCell,
  noUsage,
  sameUsage,
  type UsageSum,
} from "../../../money/receipts/day_sums.ts";
import { ledgerByTimeKey, ledgerOperationKey } from "../../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import { indexedIds } from "./recent_index.ts";
import { linesSince } from "./recent_second_look.ts";
import { type RecentBounds, recentDaySums } from "./recent_sums.ts";
import {
  balanceProblems,
  type Holdings,
  type Problem,
  readHoldings,
  verifyAccount,
} from "../checks/verify_account.ts";
import { ledgerFingerprint } from "../checks/verify_ledger.ts";
import { KnownReceipts, sumId, versionOf } from "../checks/verify_sums.ts";

/** Readings of an account in use before it is reported as changing. */
const attempts = 5;

/** Receipts in memory at once. */
const receiptsAtOnce = 1_000;

/** What is known of an account. */
export interface RecentAccountOptions {
  readonly bounds: RecentBounds;
  readonly openingMicroVnd: bigint;
  readonly slices: TimeSlices | undefined;
}

/** Checks an account. `moving`: it kept changing; repeat when it is quieter. */
export async function verifyRecentAccount(
  kv: KeyValueStore,
  accountId: AccountId,
  options: RecentAccountOptions,
): Promise<Problem[] | "moving"> {
  const { bounds, openingMicroVnd, slices } = options;
  const receipts = new KnownReceipts();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = await readHoldings(kv, accountId);
    const stored = await recentDaySums(kv, accountId, bounds);
    const lines = await linesSince(kv, accountId, bounds.start?.atMs);
    const lineProblems = await problemsOfLines(kv, accountId, lines);
    const index = await indexedIds(kv, accountId, bounds.sumStartId);
    const calls = await sumCalls(kv, {
      holdings: before,
      indexed: index.ids,
      bounds,
      slices,
      receipts,
    });
    const sums = await recentDaySums(kv, accountId, bounds);
    const after = await readHoldings(kv, accountId);
    if (before.version !== after.version || versionOf(stored) !== versionOf(sums)) continue;
    const moved = lines.reduce((sum, line) => sum + line.amountMicroVnd, openingMicroVnd);
    const problems = [...index.problems, ...lineProblems];
    problems.push(...balanceProblems(accountId, after, moved, calls.costMicroVnd));
    if (calls.missing > 0) {
      const detail = `${calls.missing} receipts are missing`;
      problems.push({ accountId, kind: "index", detail });
    }
    for (const id of new Set([...stored.keys(), ...calls.sums.keys()])) {
      if (sameUsage(stored.get(id)?.sum ?? noUsage, calls.sums.get(id) ?? noUsage)) continue;
      problems.push({ accountId, kind: "rollup", detail: `the day sum ${id} is wrong` });
    }
    return await explained(kv, accountId, problems, options);
  }
  return "moving";
}

/** Sums the receipts of an account since the start: those in the index, and those of batches. */
async function sumCalls(
  kv: KeyValueStore,
  { holdings, indexed, bounds, slices, receipts }: {
    readonly holdings: Holdings;
    readonly indexed: readonly RequestId[];
    readonly bounds: RecentBounds;
    readonly slices: TimeSlices | undefined;
    readonly receipts: KnownReceipts;
  },
) {
  const inIndex = new Set(indexed);
  const unindexed = holdings.tail.filter((id) => !inIndex.has(id) && id >= bounds.startId);
  const sums = new Map<string, UsageSum>();
  let costMicroVnd = 0n;
  let found = 0;
  for (const ids of groupsOf([...indexed, ...unindexed], receiptsAtOnce)) {
    for (const receipt of await receipts.read(kv, ids)) {
      found++;
      if (receipt.requestId >= bounds.startId) costMicroVnd += receipt.costMicroVnd;
      const cell = daySumCell(receipt);
      const isCounted = bounds.start === undefined || cell.day >= bounds.start.day;
      if (!isCounted || !inIndex.has(receipt.requestId)) continue;
      const id = sumId(cell);
      sums.set(id, addReceipts(sums.get(id) ?? noUsage, [receipt]));
    }
    await slices?.rest();
  }
  return { sums, costMicroVnd, missing: indexed.length + unindexed.length - found };
}

/** Compares lines with their copies by time and the rows of their operations. */
async function problemsOfLines(
  kv: KeyValueStore,
  accountId: AccountId,
  lines: readonly LedgerEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const found = (detail: string) => problems.push({ accountId, kind: "ledger", detail });
  for (const group of groupsOf(lines, Math.floor(keysPerRead / 2))) {
    const keys = group.flatMap(({ ledgerId, operationId }) => [
      ledgerByTimeKey(ledgerId),
      ledgerOperationKey(operationId),
    ]);
    const rows = await kv.getMany<(LedgerEntry | null)[]>(keys);
    group.forEach((line, at) => {
      const [copy, operation] = [rows[2 * at]?.value, rows[2 * at + 1]?.value];
      const print = ledgerFingerprint(line);
      if (copy === null || copy === undefined) {
        found(
          `the line ${line.ledgerId} has no copy by time: an earlier release wrote it, and ` +
            "`admin verify --full` adds the copy, or it was added by hand",
        );
      }
      if (operation === null || operation === undefined || ledgerFingerprint(operation) !== print) {
        found(`the line ${line.ledgerId} is not the one that ${line.operationId} wrote`);
      }
    });
  }
  return problems;
}

/** A balance that all rows of the account prove differs from a sealed one because rows of sealed days changed. */
async function explained(
  kv: KeyValueStore,
  accountId: AccountId,
  problems: Problem[],
  { bounds: { start }, slices }: RecentAccountOptions,
): Promise<Problem[]> {
  if (start === undefined || !problems.some(({ kind }) => kind === "balance")) return problems;
  const known = { versions: new Map<string, string>(), unwritten: new Map() };
  const whole = await verifyAccount(kv, accountId, { known, slices });
  if (whole === "moving" || whole.some(({ kind }) => kind === "balance")) return problems;
  const detail =
    `all rows of the account prove its balance, but not its sealed balance before ${start.day}: ` +
    "rows of sealed days were changed, added or deleted (`admin verify --full` names the days)";
  return [...problems.filter(({ kind }) => kind !== "balance"), {
    accountId,
    kind: "seal",
    detail,
  }];
}
