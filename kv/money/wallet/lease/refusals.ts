/** Builds refusals with their figures. */
import { freeMicroVnd, type Lease } from "./lease_book.ts";
import type { Refusal } from "./types.ts";

/** Facts about a wallet beyond its lease here. */
export interface KnownWallet {
  /** In leases of other instances. */
  readonly elsewhereMicroVnd: bigint;
  /** How far below zero the wallet may go. */
  readonly debtLimitMicroVnd: bigint;
}

/**
 * Builds the refusal of a call for which the money does not suffice, at all or only while other
 * calls have reserved it.
 */
export function refusal(
  neededMicroVnd: bigint,
  lease: Lease,
  { elsewhereMicroVnd, debtLimitMicroVnd }: KnownWallet,
): Refusal {
  const unreservedMicroVnd = freeMicroVnd(lease) + lease.walletMicroVnd;
  const reservedMicroVnd = lease.reservedMicroVnd + elsewhereMicroVnd;
  const worthMicroVnd = unreservedMicroVnd + reservedMicroVnd;
  const enough = worthMicroVnd + debtLimitMicroVnd >= neededMicroVnd;
  return {
    ok: false,
    reason: enough ? "on_hold" : "insufficient",
    neededMicroVnd,
    availableMicroVnd: unreservedMicroVnd > 0n ? unreservedMicroVnd : 0n,
    reservedMicroVnd,
    owedMicroVnd: worthMicroVnd < 0n ? -worthMicroVnd : 0n,
  };
}

/**
 * Builds the refusal of a call whose money other instances move at this moment: it waits like one whose money is
 * reserved, since what was read may have missed it.
 */
export function onItsWay(refused: Refusal): Refusal {
  const { reason, neededMicroVnd, availableMicroVnd } = refused;
  if (reason !== "insufficient") return refused;
  return { ...refused, reason: "on_hold", reservedMicroVnd: neededMicroVnd - availableMicroVnd };
}

/** Builds the refusal while the store does not answer and the balance is unknown. */
export function unavailable(neededMicroVnd: bigint): Refusal {
  return {
    ok: false,
    reason: "unavailable",
    neededMicroVnd,
    availableMicroVnd: 0n,
    reservedMicroVnd: 0n,
    owedMicroVnd: 0n,
  };
}
