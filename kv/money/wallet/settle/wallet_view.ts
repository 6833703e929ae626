/** Reads wallets and the leases on them, bounded in time, for the transfers of one instance. */
import { invariant, InvariantError } from "../../../../core/lib/base/assert.ts";
import { walletKey } from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import type { Lease } from "../lease/lease_book.ts";
import { readLeasesOf } from "../../balances/leases.ts";
import { readWallet, type WalletRow, walletRow } from "../../balances/wallets.ts";

/** The store, and the bound on waiting for it. */
export interface StoreAccess {
  readonly kv: KeyValueStore;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
}

/** Reads the wallets of at most `keysPerRead` leases; `undefined` if the store does not answer. */
export async function readWallets(
  { kv, bounded }: StoreAccess,
  leases: readonly Lease[],
): Promise<WalletRow[] | undefined> {
  try {
    const keys = leases.map(({ accountId }) => walletKey(accountId));
    const rows = await bounded(kv.getMany<unknown[]>(keys));
    return leases.map(({ accountId }, at) => {
      const row = rows[at];
      invariant(row !== undefined, "getMany answers every key");
      return walletRow(accountId, row);
    });
  } catch (error) {
    if (error instanceof InvariantError) throw error;
    return undefined;
  }
}

/**
 * Reads what the leases of other instances hold. Decides only whether a call waits or is refused, so 0 if the store
 * does not answer.
 */
export async function leasedElsewhereMicroVnd(
  { kv, bounded }: StoreAccess,
  lease: Lease,
): Promise<bigint> {
  try {
    const rows = await bounded(readLeasesOf(kv, lease.accountId));
    const all = rows.reduce((sum, row) => sum + row.remainingMicroVnd, 0n);
    const others = all - (lease.rowMicroVnd ?? 0n);
    return others > 0n ? others : 0n;
  } catch {
    return 0n;
  }
}

/**
 * Decides whether money of a wallet moved while its figures were read, the last of them `elsewhereMicroVnd`. Every
 * transfer changes the wallet, so figures around which it is unchanged belong together.
 */
export async function hasMoved(
  access: StoreAccess,
  lease: Lease,
  elsewhereMicroVnd: bigint,
): Promise<boolean> {
  const { kv, bounded } = access;
  try {
    const before = await bounded(readWallet(kv, lease.accountId));
    const elsewhereNow = await leasedElsewhereMicroVnd(access, lease);
    const after = await bounded(readWallet(kv, lease.accountId));
    return before.versionstamp !== after.versionstamp ||
      after.availableMicroVnd !== lease.walletMicroVnd || elsewhereNow !== elsewhereMicroVnd;
  } catch (error) {
    if (error instanceof InvariantError) throw error;
    return false;
  }
}
