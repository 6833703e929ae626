/**
 * Reads what an account has at one moment, and compares it with what moved and was charged.
 *
 * - Folder `kv/services/verify/checks/`: each rule of the books once, for one account or one kind of row.
 * - In: rows of the store, and what they have to agree with.
 * - Out: problems, by account and kind.
 * - Never: decides which rows are looked at; the scan does that.
 */
import type { AccountId, InstanceId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { type LeaseRow, readLeasesOf } from "../../../money/balances/leases.ts";
import type { Problem } from "./problems.ts";
import { readableBatches } from "./readable_rows.ts";
import { readWallet } from "../../../money/balances/wallets.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** A charge of a batch to the lease of an account. */
export interface PendingCharge {
  readonly instanceId: InstanceId;
  readonly commit: number;
  readonly chargedMicroVnd: bigint;
}

/** Computes what is left of a lease from its row and the later batches of its instance. */
export function leaseLeftMicroVnd(lease: LeaseRow, charges: Iterable<PendingCharge>): bigint {
  let leftMicroVnd = lease.remainingMicroVnd;
  for (const { instanceId, commit, chargedMicroVnd } of charges) {
    if (instanceId === lease.instanceId && commit > lease.asOfCommit) {
      leftMicroVnd -= chargedMicroVnd;
    }
  }
  return leftMicroVnd;
}

/** Holdings of an account at one moment. */
export interface Holdings {
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  readonly negativeLease: boolean;
  readonly tail: readonly RequestId[];
  /** Equal for two readings if and only if nothing changed in between. */
  readonly version: string;
}

/** Reads what an account has. */
export async function readHoldings(kv: KeyValueStore, accountId: AccountId): Promise<Holdings> {
  const wallet = await readWallet(kv, accountId);
  const leases = await readLeasesOf(kv, accountId);
  const charges: PendingCharge[] = [];
  const tail: RequestId[] = [];
  for await (const { instanceId, commit, parts } of readableBatches(kv)) {
    for (const part of parts) {
      if (part.accountId !== accountId) continue;
      charges.push({ instanceId, commit, chargedMicroVnd: part.chargedMicroVnd });
      tail.push(...part.requestIds);
    }
  }
  const left = leases.map((lease) => leaseLeftMicroVnd(lease, charges));
  return {
    availableMicroVnd: wallet.availableMicroVnd,
    leasedMicroVnd: left.reduce((sum, leftMicroVnd) => sum + leftMicroVnd, 0n),
    negativeLease: left.some((leftMicroVnd) => leftMicroVnd < 0n),
    tail,
    version: [wallet.versionstamp, ...leases.map((lease) => lease.versionstamp), ...tail].join(),
  };
}

/** Compares what an account has with what moved and was charged. */
export function balanceProblems(
  accountId: AccountId,
  holdings: Holdings,
  movedMicroVnd: bigint,
  chargedMicroVnd: bigint,
): Problem[] {
  const problems: Problem[] = [];
  const worth = holdings.availableMicroVnd + holdings.leasedMicroVnd;
  if (holdings.negativeLease) {
    problems.push({ accountId, kind: "balance", detail: "more was charged than was leased" });
  }
  if (worth !== movedMicroVnd - chargedMicroVnd) {
    problems.push({
      accountId,
      kind: "balance",
      detail: `available ${holdings.availableMicroVnd} + leased ${holdings.leasedMicroVnd} is ` +
        `${worth - movedMicroVnd + chargedMicroVnd} µVND off from ledger ${movedMicroVnd} − ` +
        `charges ${chargedMicroVnd}`,
    });
  }
  return problems;
}
