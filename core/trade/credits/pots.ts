/**
 * Divides one wallet into pots by arithmetic alone: the money of the customer, and what was given under
 * conditions. The wallet itself stays one sum, so calls are admitted and settled without knowing of
 * pots. What calls cost since the last look is what the pots have more than the wallet; it is taken
 * from them in a fixed order.
 *
 * - Folder `core/trade/credits/`: credit that an operator gives: pots, campaigns, voucher codes.
 * - In: amounts, times, what an operator or a customer typed.
 * - Out: what is left of each pot, verdicts on campaigns, codes.
 * - Never: moves money; `kv/money/credits/` and `kv/money/ledger/` do.
 */
import { ascending } from "../../lib/base/ascending.ts";
import { invariant } from "../../lib/base/assert.ts";
import type { LedgerId } from "../../lib/ids/ids.ts";

/** Orders in which calls are paid: from what was given first, or from the customer's own first. */
export const spendingOrders = ["first", "last"] as const;

/** Place of given credit in the order of spending. */
export type SpendGranted = typeof spendingOrders[number];

/** A grant of which something may be left. */
export interface OpenGrant {
  /** The ledger line by which it was given. */
  readonly grantId: LedgerId;
  readonly amountMicroVnd: bigint;
  /** Neither spent nor expired. */
  readonly leftMicroVnd: bigint;
  readonly expiredMicroVnd: bigint;
  /** Absent: it never expires. */
  readonly expiresAtMs?: number;
}

/** The pots of one wallet. The customer's own is negative only if no grant has anything left. */
export interface Pots<Grant extends OpenGrant = OpenGrant> {
  readonly spendGranted: SpendGranted;
  /** Paid in, refunded or corrected: everything that was not given. Negative: the account owes it. */
  readonly ownMicroVnd: bigint;
  /** In the order in which they are spent: what expires first goes first. */
  readonly grants: readonly Grant[];
}

/** Sum of all pots. */
export function totalOf({ ownMicroVnd, grants }: Pots): bigint {
  return grants.reduce((sum, { leftMicroVnd }) => sum + leftMicroVnd, ownMicroVnd);
}

/** Rest of all grants. */
export function grantedOf({ grants }: Pots): bigint {
  return grants.reduce((sum, { leftMicroVnd }) => sum + leftMicroVnd, 0n);
}

/** Takes up to an amount from the grants in their order. Returns them, and what they did not have. */
function takeFromGrants<Grant extends OpenGrant>(
  grants: readonly Grant[],
  amountMicroVnd: bigint,
): { readonly grants: readonly Grant[]; readonly missingMicroVnd: bigint } {
  let missing = amountMicroVnd;
  const after = grants.map((grant) => {
    const taken = grant.leftMicroVnd < missing ? grant.leftMicroVnd : missing;
    missing -= taken;
    return taken === 0n ? grant : { ...grant, leftMicroVnd: grant.leftMicroVnd - taken };
  });
  return { grants: after, missingMicroVnd: missing };
}

/** Lets grants pay what the customer's own pot lacks: nothing is left of a grant while the account owes. */
function withoutOwing<Grant extends OpenGrant>(pots: Pots<Grant>): Pots<Grant> {
  if (pots.ownMicroVnd >= 0n) return pots;
  const { grants, missingMicroVnd } = takeFromGrants(pots.grants, -pots.ownMicroVnd);
  return { ...pots, grants, ownMicroVnd: -missingMicroVnd };
}

/**
 * Adds to the customer's own pot, or takes from it if the amount is negative. What the pot does not
 * have is taken from grants.
 */
export function moveOwn<Grant extends OpenGrant>(
  pots: Pots<Grant>,
  amountMicroVnd: bigint,
): Pots<Grant> {
  return withoutOwing({ ...pots, ownMicroVnd: pots.ownMicroVnd + amountMicroVnd });
}

/**
 * Spends an amount in the order of the pots.
 *
 * @example
 * ```ts
 * import { newId } from "../../lib/ids/ids.ts";
 * import { spend } from "./pots.ts";
 * const grantId = newId("ledger", 0);
 * const grant = { grantId, amountMicroVnd: 20n, leftMicroVnd: 20n, expiredMicroVnd: 0n };
 * const first = spend({ spendGranted: "first", ownMicroVnd: 50n, grants: [grant] }, 30n);
 * if (first.ownMicroVnd !== 40n || first.grants[0]?.leftMicroVnd !== 0n) throw new Error("order");
 * const last = spend({ spendGranted: "last", ownMicroVnd: 50n, grants: [grant] }, 30n);
 * if (last.ownMicroVnd !== 20n || last.grants[0]?.leftMicroVnd !== 20n) throw new Error("order");
 * ```
 */
export function spend<Grant extends OpenGrant>(
  pots: Pots<Grant>,
  amountMicroVnd: bigint,
): Pots<Grant> {
  invariant(amountMicroVnd >= 0n, "an amount to spend is not negative");
  if (pots.spendGranted === "last") return moveOwn(pots, -amountMicroVnd);
  const { grants, missingMicroVnd } = takeFromGrants(pots.grants, amountMicroVnd);
  return { ...pots, grants, ownMicroVnd: pots.ownMicroVnd - missingMicroVnd };
}

/**
 * Brings the pots up to what the wallet is worth: the difference was spent by calls. If the wallet is
 * worth more, an earlier release has credited it without looking after the pots, and the money is the
 * customer's own.
 */
export function bringForward<Grant extends OpenGrant>(
  pots: Pots<Grant>,
  worthMicroVnd: bigint,
): Pots<Grant> {
  const spentMicroVnd = totalOf(pots) - worthMicroVnd;
  return spentMicroVnd >= 0n ? spend(pots, spentMicroVnd) : moveOwn(pots, -spentMicroVnd);
}

/** Adds a grant. What the account owes is paid with it. */
export function addGrant<Grant extends OpenGrant>(
  pots: Pots<Grant>,
  grant: Grant,
): Pots<Grant> {
  const grants = [...pots.grants, grant].sort(bySpending);
  return withoutOwing({ ...pots, grants });
}

function bySpending(one: OpenGrant, other: OpenGrant): number {
  const [first, second] = [one, other].map(({ expiresAtMs }) => expiresAtMs ?? Infinity);
  if (first !== second) return (first ?? 0) < (second ?? 0) ? -1 : 1;
  return ascending(one.grantId, other.grantId);
}

/**
 * Computes how much of a grant can be taken back now: what would be left of it if running calls spent
 * all that is leased to them. It is never more than the wallet has free, and never the customer's own.
 */
export function reclaimable(pots: Pots, grantId: LedgerId, leasedMicroVnd: bigint): bigint {
  const left = spend(pots, leasedMicroVnd).grants.find((grant) => grant.grantId === grantId);
  return left?.leftMicroVnd ?? 0n;
}

/** Notes that a part of a grant was taken back; `undefined` if not that much is left of it. */
export function expire<Grant extends OpenGrant>(
  pots: Pots<Grant>,
  grantId: LedgerId,
  amountMicroVnd: bigint,
): Pots<Grant> | undefined {
  const grant = pots.grants.find((one) => one.grantId === grantId);
  if (grant === undefined || grant.leftMicroVnd < amountMicroVnd) return undefined;
  const expired = {
    ...grant,
    leftMicroVnd: grant.leftMicroVnd - amountMicroVnd,
    expiredMicroVnd: grant.expiredMicroVnd + amountMicroVnd,
  };
  return { ...pots, grants: pots.grants.map((one) => one === grant ? expired : one) };
}
