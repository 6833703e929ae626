/**
 * Computes how much money moves between a wallet and a lease. Pure: reads and writes nothing.
 *
 * Debt is bounded: a draw may take a wallet below zero by a limited amount, so that running calls, which reserve more
 * than they will cost, do not block each other when little is left. The borrowed money is treated like any other:
 * leased, reserved, charged, returned. So all instances together never lend more than the limit, and a wallet without
 * running calls owes only what its calls have cost beyond its balance. Incoming money pays the debt first.
 */
import type { Wallet } from "../../balances/wallets.ts";
import { fittingMicroVnd, type ReservationRange } from "../../../../core/billing/price.ts";
import { freeMicroVnd, isSmall, type Lease } from "./lease_book.ts";

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

/** Multiple of what is needed that a draw ahead takes. */
const drawAheadFactor = 4n;

/** Milliseconds since the last draw within which the next one takes twice as much as that did. */
const frequentDrawMs = 2_000;

/**
 * Why money of a lease goes back: no call has used it for a while, or its wallet is small and other instances need
 * what running calls do not.
 */
export type GiveBack = "idle" | "spare";

/** The amounts with which a call can begin, of which `amountMicroVnd` is the largest. */
export interface WaiterRange extends ReservationRange {
  /** Takes less than it is expected to need. */
  readonly takesRest: boolean;
}

/** The requests for money of one wallet. */
export interface TransferRequest {
  readonly lease: Lease;
  readonly waiters: readonly {
    readonly amountMicroVnd: bigint;
    /** Accepts less if the wallet has no more. */
    readonly partial: boolean;
    /** Set for a call that can begin with less than `amountMicroVnd`. */
    readonly range?: WaiterRange | undefined;
  }[];
  readonly giveBack: GiveBack | undefined;
  /** Amount that should be free beside the waiters' amounts; drawn only if the wallet has all of it. */
  readonly wantedMicroVnd: bigint;
}

/** Plan of one round for one wallet. */
export interface TransferPlan {
  /** From the wallet to the lease; negative when money goes back. */
  readonly drawMicroVnd: bigint;
  /** The amount for each waiter; `undefined` if the money does not suffice. */
  readonly grants: readonly (bigint | undefined)[];
}

/** The wallet as it was read. */
interface DrawableWallet {
  readonly availableMicroVnd: bigint;
  /** Amount by which the wallet may go below zero for what is needed. Nothing is drawn ahead of that. */
  readonly debtLimitMicroVnd: bigint;
  readonly nowMs: number;
}

/**
 * Computes how much to draw: exactly what the waiters need, if the wallet has it or may owe it, and
 * an advance that leaves three quarters of the rest to other instances.
 */
export function planTransfer(
  request: TransferRequest,
  { availableMicroVnd, debtLimitMicroVnd, nowMs }: DrawableWallet,
): TransferPlan {
  const { lease, waiters } = request;
  if (request.giveBack !== undefined && waiters.length === 0) {
    return {
      drawMicroVnd: -returnedMicroVnd(lease, request.giveBack, availableMicroVnd),
      grants: [],
    };
  }
  // A wallet below its debt limit (which may have been lowered) gives nothing, but takes nothing
  // from the lease either.
  let budget = freeMicroVnd(lease) + largest(availableMicroVnd + debtLimitMicroVnd, 0n);
  let granted = 0n;
  const grants = waiters.map(({ amountMicroVnd, partial, range }) => {
    const most = amountMicroVnd < budget ? amountMicroVnd : budget;
    const own = largest(budget - debtLimitMicroVnd, 0n);
    const isAlone = lease.reservedMicroVnd + granted === 0n;
    const free = { ownMicroVnd: own, budgetMicroVnd: budget, isAlone };
    const grant = range !== undefined
      ? fittingMicroVnd(range, free, range.takesRest)
      : most === amountMicroVnd || partial
      ? most
      : undefined;
    if (grant === undefined) return undefined;
    budget -= grant;
    granted += grant;
    return grant;
  });
  if (request.wantedMicroVnd <= budget) granted += request.wantedMicroVnd;
  const short = granted - freeMicroVnd(lease);
  const needed = short > 0n ? short : 0n;
  // If the wallet affords only a few more calls of this size, each instance takes just what it
  // needs.
  const quarter = (availableMicroVnd - needed) / 4n;
  const basis = largest(lease.typicalMicroVnd, needed);
  const isPoor = quarter < basis || isSmall(availableMicroVnd + lease.remainingMicroVnd, basis);
  if (grants.includes(undefined) || isPoor) return { drawMicroVnd: needed, grants };
  const ahead = aheadMicroVnd(lease, basis, nowMs);
  return { drawMicroVnd: needed + (ahead < quarter ? ahead : quarter), grants };
}

/** Computes what goes back to the wallet. */
function returnedMicroVnd(lease: Lease, giveBack: GiveBack, availableMicroVnd: bigint): bigint {
  const free = freeMicroVnd(lease);
  const { remainingMicroVnd, reservationMicroVnd, users } = lease;
  switch (giveBack) {
    case "idle":
      return users === 0 && free === remainingMicroVnd ? remainingMicroVnd : 0n;
    case "spare":
      return isSmall(availableMicroVnd + remainingMicroVnd, reservationMicroVnd) ? free : 0n;
  }
}

function largest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

/** Computes the advance of the next draw: more if draws follow each other closely. */
export function aheadMicroVnd(lease: Lease, basisMicroVnd: bigint, nowMs: number): bigint {
  const often = nowMs - lease.lastDrawAtMs < frequentDrawMs;
  const grown = often ? lease.aheadMicroVnd * 2n : lease.aheadMicroVnd;
  return largest(grown, basisMicroVnd * drawAheadFactor);
}
