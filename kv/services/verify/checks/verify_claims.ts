/**
 * Checks that the rows of claims on providers equal the claims on receipts, for each day and route.
 */
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { claimCellOf, claimsPrefix } from "../../../engine/schema/keys.ts";
import { claimSum, ClaimSums } from "../../../money/ledger/provider_claims.ts";
import type { Problem } from "./verify_account.ts";
import { wholeKind } from "../../../engine/store/whole_kind.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** All rows of claims at one moment. */
export interface ClaimRows {
  readonly sums: ClaimSums;
  /** Equal for two readings if no row was added in between; rows never change. */
  readonly version: string;
  readonly problems: readonly Problem[];
}

/** Reads and sums all rows of claims. */
export async function readClaimRows(
  kv: KeyValueStore,
  slices: TimeSlices | undefined,
): Promise<ClaimRows> {
  const sums = new ClaimSums();
  const problems: Problem[] = [];
  let rows = 0;
  let latest = "";
  for await (const entry of wholeKind<unknown>(kv, { prefix: claimsPrefix() }, slices)) {
    rows++;
    if (entry.versionstamp > latest) latest = entry.versionstamp;
    try {
      sums.addSum(claimCellOf(entry.key), claimSum(entry));
    } catch (error) {
      const detail = `${entry.key.join(" ")}: ${error instanceof Error ? error.message : error}`;
      problems.push({ kind: "row", detail });
    }
  }
  return { sums, version: `${rows} ${latest}`, problems };
}

/**
 * Lists the differences.
 *
 * @param receipts the claims of all receipts, read between `before` and `after`
 * @returns nothing if claims were added meanwhile, since then nothing is certain
 */
export function claimDisagreements(
  before: ClaimRows,
  receipts: ClaimSums,
  after: ClaimRows,
): Problem[] {
  if (before.version !== after.version || after.problems.length > 0) return [...after.problems];
  const rows = textsOf(after.sums);
  const right = textsOf(receipts);
  return [...rows.symmetricDifference(right)].map((text) => ({
    kind: "claim" as const,
    detail: rows.has(text)
      ? `the rows of claims say ${text}, the receipts do not`
      : `the receipts say ${text}, the rows of claims do not`,
  }));
}

function textsOf(sums: ClaimSums): Set<string> {
  return new Set(
    sums.inOrder().map(({ day, route, calls, claimMicroVnd }) =>
      `${formatVnd(claimMicroVnd)} VND of ${calls} calls on ${day} for ${route}`
    ),
  );
}
