/**
 * What an account may owe. A draw may take a wallet below zero by that much, so that calls in flight, which hold more than
 * they will cost, do not stand in each other's way when little is left. It is money like any other from there on: in the
 * lease, held, charged, given back; so all instances together never lend more, and a wallet at rest owes what its calls
 * have cost beyond what it had, no more. What comes in pays it first.
 */
import type { Wallet } from "./wallets.ts";

export interface DebtRules {
  /** Accounts that have paid in at some time. */
  readonly toppedUpMicroVnd: bigint;
  /** All others. */
  readonly othersMicroVnd: bigint;
}

export const noDebt: DebtRules = { toppedUpMicroVnd: 0n, othersMicroVnd: 0n };

/** The most that a wallet may owe. */
export function debtLimitMicroVnd(wallet: Wallet, rules: DebtRules): bigint {
  return wallet.hasToppedUp === true ? rules.toppedUpMicroVnd : rules.othersMicroVnd;
}
