/**
 * Sums claims on providers: what they reported beyond what their customers paid, per day and route.
 * Each commit that settles such calls writes a row, so the rows always equal the receipts.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { claimCellOf, claimDaysRange, claimKey } from "../../engine/schema/keys.ts";
import type { DayRange } from "../receipts/day_sums.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A sum over calls. */
export interface ClaimSum {
  readonly calls: number;
  readonly claimMicroVnd: bigint;
}

/** The day and route of a sum. */
export interface ClaimCell {
  /** `YYYY-MM-DD`, Vietnam time, of the start of the call. */
  readonly day: string;
  /** The id of the route, which begins with its provider. */
  readonly route: string;
}

/** The claims of one day and route. */
export interface DayClaims extends ClaimCell, ClaimSum {}

/** Most rows read for a page or an answer: years of claims, if providers report truthfully. */
const maxRowsRead = 20_000;

/** Adds up the claims of receipts by day and route. */
export class ClaimSums {
  readonly #sums = new Map<string, DayClaims>();

  add({ claimMicroVnd, route, startedAtMs }: Receipt): void {
    if (claimMicroVnd === undefined || route === undefined) return;
    this.addSum({ day: vietnamDay(startedAtMs), route }, { calls: 1, claimMicroVnd });
  }

  addSum(cell: ClaimCell, { calls, claimMicroVnd }: ClaimSum): void {
    const id = `${cell.day} ${cell.route}`;
    const sum = this.#sums.get(id) ?? { ...cell, calls: 0, claimMicroVnd: 0n };
    this.#sums.set(id, {
      ...sum,
      calls: sum.calls + calls,
      claimMicroVnd: sum.claimMicroVnd + claimMicroVnd,
    });
  }

  /** Returns the sums, the latest day first, and within a day the largest claim first. */
  inOrder(): DayClaims[] {
    return [...this.#sums.values()].sort((one, other) =>
      one.day === other.day
        ? Number(other.claimMicroVnd - one.claimMicroVnd)
        : one.day < other.day
        ? 1
        : -1
    );
  }
}

/** Adds the claims of a commit to it. */
export function writeClaims(
  op: AtomicWrite,
  commit: { readonly instanceId: InstanceId; readonly commit: number },
  receipts: Iterable<Receipt>,
): void {
  const sums = new ClaimSums();
  for (const receipt of receipts) sums.add(receipt);
  for (const { day, route, calls, claimMicroVnd } of sums.inOrder()) {
    op.set(claimKey({ day, route }, commit), { calls, claimMicroVnd });
  }
}

/**
 * Decodes a row of claims.
 *
 * @throws {InvariantError} if the row is none of claims
 */
export function claimSum({ value }: Deno.KvEntry<unknown>): ClaimSum {
  invariant(
    typeof value === "object" && value !== null && "calls" in value && "claimMicroVnd" in value &&
      Number.isSafeInteger(value.calls) && typeof value.claimMicroVnd === "bigint" &&
      value.claimMicroVnd > 0n,
    "not a sum of claims",
  );
  return { calls: Number(value.calls), claimMicroVnd: value.claimMicroVnd };
}

/** Reads the claims of some days, by day and route. */
export async function readClaims(
  kv: KeyValueStore,
  range: DayRange,
): Promise<{ readonly claims: readonly DayClaims[]; readonly isPartial: boolean }> {
  const sums = new ClaimSums();
  let rows = 0;
  const page = { limit: maxRowsRead, batchSize: listBatchRows, reverse: true };
  for await (const entry of kv.list<unknown>(claimDaysRange(range), page)) {
    rows++;
    sums.addSum(claimCellOf(entry.key), claimSum(entry));
  }
  return { claims: sums.inOrder(), isPartial: rows >= maxRowsRead };
}

/** Returns the provider of a route, from its id. */
export function providerOfRoute(route: string): string {
  return route.split("/", 1)[0] ?? route;
}
