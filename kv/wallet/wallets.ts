/**
 * The wallet row: what is free to be leased or debited. The money of calls in flight lies in leases (`leases.ts`),
 * so a wallet's worth is `available + Σ leases`; below 0 it is what the account owes.
 *
 * A missing row is an empty wallet: creating an account writes nothing here.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId } from "../../core/lib/ids.ts";
import { walletKey } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** The stored value. */
export interface Wallet {
  /**
   * Negative while the account owes: its calls hold or have cost more than it had, within the debt that it is allowed
   * (`kv/wallet/debt.ts`). Whatever comes in, from a lease or from outside, pays that first.
   */
  readonly availableMicroVnd: bigint;
  /** The customer has paid in at some time. Absent in rows of earlier versions. */
  readonly hasToppedUp?: true;
  /** Where it is negative: the debt that the account was allowed when it was made. */
  readonly mayOweMicroVnd?: bigint;
}

/** A wallet as it was read, with what a check needs. */
export interface WalletRow extends Wallet {
  readonly accountId: AccountId;
  /** `null` while there is no row. */
  readonly versionstamp: string | null;
}

/**
 * Checks a wallet that was read.
 *
 * @throws {InvariantError} if it owes more than it may, or is not a wallet at all
 */
export function walletRow(
  accountId: AccountId,
  entry: { readonly value: unknown; readonly versionstamp: string | null },
): WalletRow {
  if (entry.versionstamp === null) return { accountId, availableMicroVnd: 0n, versionstamp: null };
  const { value } = entry;
  invariant(
    typeof value === "object" && value !== null && "availableMicroVnd" in value &&
      typeof value.availableMicroVnd === "bigint",
    `wallet of ${accountId}: not a wallet`,
  );
  const hasToppedUp = "hasToppedUp" in value && value.hasToppedUp === true;
  const mayOwe = "mayOweMicroVnd" in value && typeof value.mayOweMicroVnd === "bigint"
    ? value.mayOweMicroVnd
    : 0n;
  const { availableMicroVnd } = value;
  invariant(availableMicroVnd >= -mayOwe, `wallet of ${accountId}: owes more than it may`);
  return {
    accountId,
    availableMicroVnd,
    ...(hasToppedUp ? { hasToppedUp } : {}),
    ...(availableMicroVnd < 0n ? { mayOweMicroVnd: mayOwe } : {}),
    versionstamp: entry.versionstamp,
  };
}

/** Reads one wallet. */
export async function readWallet(kv: KeyValueStore, accountId: AccountId): Promise<WalletRow> {
  return walletRow(accountId, await kv.get(walletKey(accountId)));
}

/**
 * Puts "the wallet becomes `availableMicroVnd`, if it is still what was read" into an atomic.
 *
 * @param change.mostDebtMicroVnd what the account may owe after it: by default, no more than it owes already
 * @throws {InvariantError} if it would owe more
 */
export function changeWallet(
  op: AtomicWrite,
  row: WalletRow,
  availableMicroVnd: bigint,
  change: { readonly mostDebtMicroVnd?: bigint; readonly isTopup?: boolean } = {},
): void {
  const mayOweMicroVnd = debtAfter(row, availableMicroVnd, change.mostDebtMicroVnd ?? 0n);
  invariant(
    availableMicroVnd >= -mayOweMicroVnd,
    `wallet of ${row.accountId}: would owe more than it may`,
  );
  const key = walletKey(row.accountId);
  op.check({ key, versionstamp: row.versionstamp });
  const wallet: Wallet = {
    availableMicroVnd,
    ...(row.hasToppedUp === true || change.isTopup === true ? { hasToppedUp: true } : {}),
    ...(availableMicroVnd < 0n ? { mayOweMicroVnd } : {}),
  };
  op.set(key, wallet);
}

/** A debt that becomes smaller keeps the limit under which it was made. */
function debtAfter(row: WalletRow, availableMicroVnd: bigint, mostDebtMicroVnd: bigint): bigint {
  const earlier = row.mayOweMicroVnd ?? 0n;
  const shrinks = availableMicroVnd >= row.availableMicroVnd;
  return shrinks && earlier > mostDebtMicroVnd ? earlier : mostDebtMicroVnd;
}
