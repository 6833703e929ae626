/**
 * Reads the balance of an account as one instance sees it: wallet row, lease rows of all instances,
 * and its own memory.
 */
import type { AccountId, InstanceId } from "../../../core/lib/ids/ids.ts";
import { walletWriteAttempts } from "../balances/limits.ts";
import { readLeasesOf } from "../balances/leases.ts";
import { readWallet } from "../balances/wallets.ts";
import type { Lease } from "./lease/lease_book.ts";
import type { Balance } from "./lease/types.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** The view of the instance that asks. */
export interface BalanceView {
  readonly kv: KeyValueStore;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** Functions, since both change when the instance lease is lost. */
  readonly instanceId: () => InstanceId;
  readonly leaseOf: (accountId: AccountId) => Lease | undefined;
}

/**
 * Reads wallet, leases and memory until they are consistent, at most `walletWriteAttempts`
 * times: another instance may change the wallet meanwhile, and a transfer of this one may have
 * landed before its answer.
 */
export async function readBalance(view: BalanceView, accountId: AccountId): Promise<Balance> {
  const { kv, bounded } = view;
  for (let attempt = 1;; attempt++) {
    const before = await bounded(readWallet(kv, accountId));
    const rows = await bounded(readLeasesOf(kv, accountId));
    // The row of this instance lags behind its calls; its memory does not.
    const own = view.leaseOf(accountId);
    const ownId = view.instanceId();
    const ownRow = rows.find((row) => row.instanceId === ownId);
    const isToldOfOwn = ownRow?.remainingMicroVnd === own?.rowMicroVnd;
    const leasedMicroVnd = rows
      .filter((row) => row.instanceId !== ownId)
      .reduce((sum, row) => sum + row.remainingMicroVnd, own?.remainingMicroVnd ?? 0n);
    const reservedMicroVnd = own?.reservedMicroVnd ?? 0n;
    const { availableMicroVnd, versionstamp } = await bounded(readWallet(kv, accountId));
    // Every transfer changes the wallet row, so an unchanged row means that wallet and leases are
    // consistent.
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
