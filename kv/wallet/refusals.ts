/** Why a call gets no money. */
import { freeMicroVnd, type Lease } from "./lease_book.ts";
import type { Refusal } from "./types.ts";

/** What is known of a wallet beyond its lease here. */
export interface KnownWallet {
  /** What other instances hold. */
  readonly elsewhereMicroVnd: bigint;
  /** How far it may go below zero. */
  readonly debtLimitMicroVnd: bigint;
}

/** There is not enough: at all, or only while other calls hold it. */
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

/** The store does not answer, so nobody knows how much there is. */
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
