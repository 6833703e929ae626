/** Why a call gets no money. */
import { freeMicroVnd, type Lease } from "./lease_book.ts";
import type { Refusal } from "./types.ts";

/**
 * There is not enough: at all, or only while other calls hold it.
 *
 * @param elsewhereMicroVnd what other instances hold
 */
export function refusal(neededMicroVnd: bigint, lease: Lease, elsewhereMicroVnd: bigint): Refusal {
  const availableMicroVnd = freeMicroVnd(lease) + lease.walletMicroVnd;
  const onHoldMicroVnd = lease.heldMicroVnd + elsewhereMicroVnd;
  const enough = availableMicroVnd + onHoldMicroVnd >= neededMicroVnd;
  return {
    ok: false,
    reason: enough ? "on_hold" : "insufficient",
    neededMicroVnd,
    availableMicroVnd,
    onHoldMicroVnd,
  };
}

/** The store does not answer, so nobody knows how much there is. */
export function unavailable(neededMicroVnd: bigint): Refusal {
  return {
    ok: false,
    reason: "unavailable",
    neededMicroVnd,
    availableMicroVnd: 0n,
    onHoldMicroVnd: 0n,
  };
}
