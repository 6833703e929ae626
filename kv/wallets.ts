/**
 * The wallet row: what is free to be leased or debited. The money of calls in flight lies in leases (`leases.ts`),
 * so a wallet's worth is `available + Σ leases`.
 *
 * A missing row is an empty wallet: creating an account writes nothing here.
 */
import { invariant } from "../core/assert.ts";
import type { AccountId } from "../core/ids.ts";
import { walletKey } from "./keys.ts";

/** The stored value. */
export interface Wallet {
  readonly availableMicroVnd: bigint;
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
 * @throws {InvariantError} if it is negative or not a wallet at all
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
  invariant(value.availableMicroVnd >= 0n, `wallet of ${accountId}: negative`);
  return {
    accountId,
    availableMicroVnd: value.availableMicroVnd,
    versionstamp: entry.versionstamp,
  };
}

/** Reads one wallet. */
export async function readWallet(kv: Deno.Kv, accountId: AccountId): Promise<WalletRow> {
  return walletRow(accountId, await kv.get(walletKey(accountId)));
}

/**
 * Puts "the wallet becomes `availableMicroVnd`, if it is still what was read" into an atomic.
 *
 * @throws {InvariantError} if the wallet would become negative
 */
export function changeWallet(
  op: Deno.AtomicOperation,
  row: WalletRow,
  availableMicroVnd: bigint,
): void {
  invariant(availableMicroVnd >= 0n, `wallet of ${row.accountId}: would become negative`);
  const key = walletKey(row.accountId);
  op.check({ key, versionstamp: row.versionstamp });
  op.set(key, { availableMicroVnd } satisfies Wallet);
}
