/** Checks the versions of the catalogue: one chain, a head that names versions of it, and contents as they were written. */
import { readContents } from "../../catalog/contents.ts";
import { type CatalogVersion, keptVersions, readHead } from "../../catalog/versions.ts";
import type { CatalogHead, HeadVersion } from "../../../engine/control/catalog_head.ts";
import {
  catalogVersionsPrefix,
  claimCellOf,
  claimsPrefix,
  versionOfKey,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import type { Problem } from "./problems.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { claimSum, ClaimSums } from "../../../money/ledger/provider_claims.ts";
import { wholeKind } from "../../../engine/store/read_ahead.ts";

// Checks that the rows of claims on providers equal the claims on receipts, for each day and route.

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

/** Facts that the check is told. */
export interface CatalogCheck {
  /** The highest version on a receipt that was read; 0: none names one. */
  readonly latestOnReceipts: number;
  /** Whether the contents of all kept versions are read, or only those in force and scheduled. */
  readonly isFull: boolean;
}

function headProblems(head: CatalogHead, rows: ReadonlyMap<number, CatalogVersion>): string[] {
  const named: HeadVersion[] = head.scheduled === undefined ? [head] : [head, head.scheduled];
  return named.flatMap(({ version, digest }) => {
    const row = rows.get(version);
    if (row === undefined) return [`the head names version ${version}, which is not there`];
    return row.digest === digest ? [] : [`the head has another digest of version ${version}`];
  });
}

function chainProblems(rows: ReadonlyMap<number, CatalogVersion>, newest: number): string[] {
  const problems: string[] = [];
  for (let version = 1; version <= newest; version++) {
    const row = rows.get(version);
    if (row === undefined) problems.push(`version ${version} is missing`);
    else if (row.version !== version) {
      problems.push(`the row of version ${version} says ${row.version}`);
    } else if (row.parent === undefined ? version !== 1 : row.parent >= version) {
      problems.push(`version ${version} follows ${row.parent ?? "none"}`);
    }
  }
  return problems;
}

/** Lists what is wrong. Versions that are made meanwhile are not looked at. */
export async function catalogProblems(
  kv: KeyValueStore,
  { latestOnReceipts, isFull }: CatalogCheck,
): Promise<Problem[]> {
  const head = await readHead(kv);
  const newest = head?.newest ?? 0;
  const rows = new Map<number, CatalogVersion>();
  const entries = kv.list<CatalogVersion>({ prefix: catalogVersionsPrefix() });
  for await (const { key, value } of entries) rows.set(versionOfKey(key), value);
  const details = [
    ...(head === undefined ? [] : headProblems(head, rows)),
    ...chainProblems(rows, newest),
  ];
  if (latestOnReceipts > newest) {
    details.push(`a receipt names version ${latestOnReceipts}, the newest is ${newest}`);
  }
  const read = [...rows.values()].filter(({ version }) =>
    version <= newest &&
    (isFull
      ? version > newest - keptVersions
      : version === head?.version || version === head?.scheduled?.version)
  );
  for (const row of read) {
    if (await readContents(kv, row) === undefined) {
      details.push(`the contents of version ${row.version} are missing or damaged`);
    }
  }
  return details.map((detail) => ({ kind: "catalog", detail }));
}
