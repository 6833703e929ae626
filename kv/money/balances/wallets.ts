/**
 * Reads and changes wallet rows: what is free to be leased or debited. The money of running calls
 * is in leases (`leases.ts`), so an account has `available + Σ leases`; below 0 the account owes
 * it.
 *
 * A missing row is an empty wallet: creating an account writes nothing here.
 *
 * - Folder `kv/money/balances/`: the rows that hold money: wallets, leases of instances, grant books.
 * - In: rows of an account, and movements that callers commit.
 * - Out: balances, checks and writes for the commit of a movement, what is left of each grant.
 * - Never: sets a wallet whose version the commit does not check, or lets it owe more than its limit.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { walletKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** The stored value. */
export interface Wallet {
  /**
   * Negative while the account owes: its calls have reserved or cost more than it had, within its
   * debt limit (`kv/money/wallet/lease/transfer_plan.ts`). Incoming money, from a lease or from outside, pays that
   * first.
   */
  readonly availableMicroVnd: bigint;
  /** Set once the customer has topped up. Absent in rows of earlier versions. */
  readonly hasToppedUp?: true;
  /** Set if the balance is negative: the debt limit at the time the debt was made. */
  readonly mayOweMicroVnd?: bigint;
}

/** A wallet row as it was read, with the version that a check needs. */
export interface WalletRow extends Wallet {
  readonly accountId: AccountId;
  /** `null` while there is no row. */
  readonly versionstamp: string | null;
}

/**
 * Validates a wallet row.
 *
 * @throws {InvariantError} if it is no wallet row, or owes more than its limit
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
 * Adds to an atomic write: the wallet becomes `availableMicroVnd` if it is unchanged since it was
 * read.
 *
 * @param change.maxDebtMicroVnd what the account may owe afterwards; by default no more than it
 * owes already
 * @throws {InvariantError} if the wallet would owe more
 */
export function changeWallet(
  op: AtomicWrite,
  row: WalletRow,
  availableMicroVnd: bigint,
  change: { readonly maxDebtMicroVnd?: bigint; readonly isTopup?: boolean } = {},
): void {
  const mayOweMicroVnd = debtAfter(row, availableMicroVnd, change.maxDebtMicroVnd ?? 0n);
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

/** Returns the debt limit to store: a debt that shrinks keeps the limit under which it was made. */
function debtAfter(row: WalletRow, availableMicroVnd: bigint, maxDebtMicroVnd: bigint): bigint {
  const earlier = row.mayOweMicroVnd ?? 0n;
  const shrinks = availableMicroVnd >= row.availableMicroVnd;
  return shrinks && earlier > maxDebtMicroVnd ? earlier : maxDebtMicroVnd;
}
