/**
 * Reads lease rows: the part of a wallet that one running instance may spend without asking the
 * store.
 *
 * A settlement does not rewrite the rows of the leases that it charges. Its batch row
 * (`kv/engine/store/batches.ts`) says what it took from each lease, and the lease row says up to which
 * commit charges are subtracted. So a lease has `remaining − Σ charges of later batches` left.
 * Housekeeping updates the rows later, many charges at a time.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, InstanceId } from "../../../core/lib/ids/ids.ts";
import { leaseOf, leasesOfPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

// A bound of every write that moves money.

/**
 * Attempts of a check-and-set on a wallet. Credits and draws are rare, so losing this often means a fault.
 */
export const walletWriteAttempts = 16;

/** The stored value. */
export interface LeaseValue {
  readonly remainingMicroVnd: bigint;
  /** The row has the charges of batches up to and including this commit of the instance. */
  readonly asOfCommit: number;
}

/** A lease row as it was read. */
export interface LeaseRow extends LeaseValue {
  readonly accountId: AccountId;
  readonly instanceId: InstanceId;
  readonly versionstamp: string;
}

/**
 * Validates a lease row.
 *
 * @throws {InvariantError} if it is negative or not a lease at all
 */
export function leaseRow(entry: Deno.KvEntry<unknown>): LeaseRow {
  const { accountId, instanceId } = leaseOf(entry.key);
  const { value } = entry;
  invariant(
    typeof value === "object" && value !== null && "remainingMicroVnd" in value &&
      typeof value.remainingMicroVnd === "bigint" && "asOfCommit" in value &&
      typeof value.asOfCommit === "number",
    `lease of ${accountId}: not a lease`,
  );
  invariant(value.remainingMicroVnd >= 0n, `lease of ${accountId}: negative`);
  return {
    accountId,
    instanceId,
    remainingMicroVnd: value.remainingMicroVnd,
    asOfCommit: value.asOfCommit,
    versionstamp: entry.versionstamp,
  };
}

/** Reads the leases of all instances on one wallet. */
export async function readLeasesOf(kv: KeyValueStore, accountId: AccountId): Promise<LeaseRow[]> {
  const rows: LeaseRow[] = [];
  for await (const entry of kv.list<unknown>({ prefix: leasesOfPrefix(accountId) })) {
    rows.push(leaseRow(entry));
  }
  return rows;
}
