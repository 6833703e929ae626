/** What an account has, as one instance sees it: the wallet, the leases of all, and its own memory. */
import type { AccountId, InstanceId } from "../../core/lib/ids.ts";
import { walletWriteAttempts } from "./limits.ts";
import { readLeasesOf } from "./leases.ts";
import { readWallet } from "./wallets.ts";
import type { Lease } from "./lease_book.ts";
import type { Balance } from "./types.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Who asks. */
export interface BalanceView {
  readonly kv: KeyValueStore;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** At the moment of the call: both change when the instance lease was lost. */
  readonly instanceId: () => InstanceId;
  readonly leaseOf: (accountId: AccountId) => Lease | undefined;
}

/**
 * Reads until wallet, leases and memory are of one moment, within a bound: a transfer of another instance changes the
 * wallet meanwhile, and one of our own lands before we are told of it.
 */
export async function readBalance(view: BalanceView, accountId: AccountId): Promise<Balance> {
  const { kv, bounded } = view;
  for (let attempt = 1;; attempt++) {
    const before = await bounded(readWallet(kv, accountId));
    const rows = await bounded(readLeasesOf(kv, accountId));
    // Our own row lags behind the calls; the memory does not.
    const own = view.leaseOf(accountId);
    const ownId = view.instanceId();
    const ownRow = rows.find((row) => row.instanceId === ownId);
    const isToldOfOwn = ownRow?.remainingMicroVnd === own?.rowMicroVnd;
    const leasedMicroVnd = rows
      .filter((row) => row.instanceId !== ownId)
      .reduce((sum, row) => sum + row.remainingMicroVnd, own?.remainingMicroVnd ?? 0n);
    const reservedMicroVnd = own?.reservedMicroVnd ?? 0n;
    const { availableMicroVnd, versionstamp } = await bounded(readWallet(kv, accountId));
    // Every transfer changes the wallet row, so an unchanged row means that wallet and leases fit together.
    const isOneMoment = versionstamp === before.versionstamp && isToldOfOwn;
    if (!isOneMoment && attempt < walletWriteAttempts) continue;
    return {
      availableMicroVnd,
      leasedMicroVnd,
      reservedMicroVnd,
      totalMicroVnd: availableMicroVnd + leasedMicroVnd,
    };
  }
}
