/** Checks one account exactly, from the first day that is scanned: a reading counts only if nothing changed during it. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import { indexedIds } from "./account_index.ts";
import { linesSince } from "./second_look.ts";
import { openDaySums, type ScanBounds, withoutBeginning } from "./scan_sums.ts";
import type { Problem } from "../checks/problems.ts";
import { balanceProblems, readHoldings } from "../checks/verify_account.ts";
import { problemsOfLines } from "../checks/verify_ledger.ts";
import {
  addReceipts,
  daySumCell,
  noUsage,
  sameUsage,
  type UsageSum,
} from "../../../money/receipts/day_sums.ts";
import {
  checkIndexedCalls,
  type DaySums,
  type IndexedCalls,
  KnownReceipts,
  type ProvedSums,
  sumId,
  sumReceipts,
  versionOf,
} from "../checks/verify_sums.ts";
import { indexedAmong } from "../../../money/receipts/receipt_index.ts";

/** Readings of an account in use before it is reported as changing. */
const attempts = 5;

/** Receipts in memory at once. */
const receiptsAtOnce = 1_000;

/** Facts of an account. */
export interface AccountOptions {
  readonly bounds: ScanBounds;
  readonly openingMicroVnd: bigint;
  /** Day sums that a scan of all rows has compared with their receipts, which are not read again. */
  readonly known: ProvedSums;
  readonly slices: TimeSlices | undefined;
}

const nothingProved: ProvedSums = { isProved: () => false, unwrittenFrom: () => undefined };

async function verifyAccount(
  kv: KeyValueStore,
  accountId: AccountId,
  options: AccountOptions,
): Promise<Problem[] | "moving"> {
  const { bounds, openingMicroVnd } = options;
  const receipts = new KnownReceipts();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = await readHoldings(kv, accountId);
    const stored = await openDaySums(kv, accountId, bounds);
    const lines = await linesSince(kv, accountId, bounds.start?.atMs);
    const lineProblems = await problemsOfLines(kv, accountId, lines);
    const calls = await (bounds.start === undefined ? sumAllCalls : sumRecentCalls)(kv, {
      ...options,
      accountId,
      stored,
      tail: before.tail,
      receipts,
    });
    const sums = await openDaySums(kv, accountId, bounds);
    const after = await readHoldings(kv, accountId);
    if (before.version !== after.version || versionOf(stored) !== versionOf(sums)) continue;
    const moved = lines.reduce((sum, line) => sum + line.amountMicroVnd, openingMicroVnd);
    const problems = [...calls.problems, ...lineProblems];
    problems.push(...balanceProblems(accountId, after, moved, calls.costMicroVnd));
    if (calls.missing > 0) {
      const detail = `${calls.missing} receipts are missing`;
      problems.push({ accountId, kind: "index", detail });
    }
    for (const id of calls.wrongSums) {
      problems.push({ accountId, kind: "rollup", detail: `the day sum ${id} is wrong` });
    }
    return await explained(kv, accountId, problems, options);
  }
  return "moving";
}

/** The calls of an account that are summed. */
interface CallsInput extends AccountOptions {
  readonly accountId: AccountId;
  readonly stored: DaySums;
  /** Calls of batches, which may not be in the index yet. */
  readonly tail: readonly RequestId[];
  readonly receipts: KnownReceipts;
}

interface SummedCalls extends IndexedCalls {
  /** Rows of the index that cannot be read. */
  readonly problems: readonly Problem[];
}

/** Sums all calls of an account: those of days that are proved by their day sums, others by their receipts. */
async function sumAllCalls(
  kv: KeyValueStore,
  { accountId, stored, tail, known, slices, receipts }: CallsInput,
): Promise<SummedCalls> {
  const indexed = await checkIndexedCalls(kv, accountId, { stored, known, slices, receipts });
  const inIndex = await indexedAmong(kv, accountId, tail);
  const unindexedIds = tail.filter((requestId) => !inIndex.has(requestId));
  const unindexed = await sumReceipts(kv, unindexedIds, { slices, receipts });
  return {
    costMicroVnd: indexed.costMicroVnd + unindexed.costMicroVnd,
    missing: indexed.missing + unindexed.missing,
    wrongSums: indexed.wrongSums,
    problems: [],
  };
}

/** Sums the receipts of an account since the start: those in the index, and those of batches. */
async function sumRecentCalls(
  kv: KeyValueStore,
  { accountId, stored, tail, bounds, slices, receipts }: CallsInput,
): Promise<SummedCalls> {
  const { ids: indexed, problems } = await indexedIds(kv, accountId, bounds.sumStartId);
  const inIndex = new Set(indexed);
  const unindexed = tail.filter((id) => !inIndex.has(id) && id >= bounds.startId);
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
  const wrongSums = [...new Set([...stored.keys(), ...sums.keys()])].filter((id) =>
    !sameUsage(stored.get(id)?.sum ?? noUsage, sums.get(id) ?? noUsage)
  );
  return { costMicroVnd, missing: indexed.length + unindexed.length - found, wrongSums, problems };
}

/** A balance that all rows of the account prove differs from a sealed one because rows of sealed days changed. */
async function explained(
  kv: KeyValueStore,
  accountId: AccountId,
  problems: Problem[],
  { bounds, slices }: AccountOptions,
): Promise<Problem[]> {
  const { start } = bounds;
  if (start === undefined || !problems.some(({ kind }) => kind === "balance")) return problems;
  const whole = await verifyAccount(kv, accountId, {
    bounds: withoutBeginning(bounds),
    openingMicroVnd: 0n,
    known: nothingProved,
    slices,
  });
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

/** Checks an account; a row that cannot be read is a problem. `moving`: it kept changing; repeat when it is quieter. */
export async function exactProblems(
  kv: KeyValueStore,
  accountId: AccountId,
  options: AccountOptions,
): Promise<Problem[] | "moving"> {
  try {
    return await verifyAccount(kv, accountId, options);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [{ accountId, kind: "row", detail: error.message }];
  }
}
