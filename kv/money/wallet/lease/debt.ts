/**
 * Limits what an account may owe. A draw may take a wallet below zero by that much, so that running
 * calls, which reserve more than they will cost, do not block each other when little is left. The
 * borrowed money is treated like any other: leased, reserved, charged, returned. So all instances
 * together never lend more than the limit, and a wallet without running calls owes only what its
 * calls have cost beyond its balance. Incoming money pays the debt first.
 */
import type { Wallet } from "../../balances/wallets.ts";

/** Limits of debts, in µVND. */
export interface DebtRules {
  /** Limit for accounts that have topped up at some time. */
  readonly toppedUpMicroVnd: bigint;
  /** Limit for all other accounts. */
  readonly othersMicroVnd: bigint;
}

/** No account may owe anything. */
export const noDebt: DebtRules = { toppedUpMicroVnd: 0n, othersMicroVnd: 0n };

/** Returns the most that a wallet may owe. */
export function debtLimitMicroVnd(wallet: Wallet, rules: DebtRules): bigint {
  return wallet.hasToppedUp === true ? rules.toppedUpMicroVnd : rules.othersMicroVnd;
}
