/**
 * Decides whether an operator may move money: never of an organisation of their own, and alone only up
 * to a sum per operator, account and direction within 24 hours. The commit that moves the money
 * checks and rewrites the row with that sum, so two simultaneous acts cannot both pass under a
 * limit that allows only one.
 *
 * - Folder `kv/people/operators/`: what operators may do, and acts that move no money: switches, announcements.
 * - In: an operator, an act, what that operator has moved alone within a day.
 * - Out: verdicts on acts, switches, announcements, each with its audit line.
 * - Never: moves money, or lets two acts at once pass under a limit that allows only one.
 */
import { mailboxOf } from "../../../core/people/accounts/email_address.ts";
import type { Account } from "../accounts/accounts.ts";
import { operatorMovedKey, operatorPromisedKey } from "../../engine/schema/keys.ts";
import { mayProfit } from "./beneficiaries.ts";
import { type Decider, isPerson, type MovedMoney, type Operator } from "../audit/operator_audit.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { hashBase62 } from "../../../core/lib/hash/short_hash.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// The facts on which a decision about money rests, and the mark by which a decision names what it has seen.

/** Facts of an order that a decision sees. */
export interface OrderFacts {
  readonly code: string;
  readonly accountId: string;
  readonly state: string;
  readonly askedMicroVnd: bigint;
  readonly receivedMicroVnd: bigint;
}

/** Facts of a bank notice that a decision sees. */
export interface NoticeFacts {
  readonly event: {
    readonly amountMicroVnd: bigint;
    readonly direction: string;
    readonly memo: string;
  };
  readonly state: unknown;
}

/** Facts of an act: what it moves and for whom. The balance is none of them: running calls change it all the time. */
export interface ActFacts {
  /** Positive for credits, negative for debits. */
  readonly amountMicroVnd: bigint;
  readonly account: Account;
  readonly order?: OrderFacts | undefined;
  readonly notice?: NoticeFacts | undefined;
}

/** Characters of a mark: 53 bits. */
const markChars = 9;

/**
 * Returns the mark of facts: equal as long as the amount, the owner of the account and whether it is blocked, the order
 * and the notice with its state are the same.
 */
export function markOf({ amountMicroVnd, account, order, notice }: ActFacts): string {
  const { id, email, blockedAtMs, deletedAtMs } = account;
  const facts = [
    amountMicroVnd,
    [id, email, blockedAtMs, deletedAtMs],
    order &&
    [order.code, order.accountId, order.state, order.askedMicroVnd, order.receivedMicroVnd],
    notice &&
    [notice.event.amountMicroVnd, notice.event.direction, notice.event.memo, notice.state],
  ];
  const text = JSON.stringify(facts, (_, value) => typeof value === "bigint" ? `${value}` : value);
  return hashBase62(text, markChars);
}

/** Whether a decision has seen the facts as they are. A decision that names no mark is bound to nothing. */
export function isAsSeen(seen: string | undefined, facts: ActFacts): boolean {
  return seen === undefined || seen === markOf(facts);
}

/** The authority of an act. */
export type Authority =
  /** Somebody alone: an operator up to the limit, the owner of the machine without one. */
  | { readonly kind: "alone"; readonly limitMicroVnd: bigint }
  /**
   * Approved by the acting operator, requested by another. `attach` decides the approval in the
   * same commit.
   */
  | {
    readonly kind: "approved";
    readonly requestedBy: Operator;
    readonly attach: (operation: AtomicWrite, moved: MovedMoney) => void;
  };

/** `beneficiary`: the operator may profit from the account. `limit`: a second operator must approve. */
export type AuthorityResult =
  | { readonly ok: true; readonly attach: (operation: AtomicWrite) => void }
  | { readonly ok: false; readonly why: "beneficiary" | "limit" };

const windowMs = dayMs;
/**
 * Sums are kept per quarter of an hour, which bounds the row; a quarter counts until 24 hours after
 * its end.
 */
const quarterMs = 900_000;

/** Milliseconds after which the row of what an operator moved expires: nothing in it counts any more. */
export const movedAloneMs = windowMs + quarterMs;

interface MovedInQuarter {
  readonly quarter: number;
  readonly givenMicroVnd: bigint;
  readonly takenMicroVnd: bigint;
}

/** The sums that one operator has moved alone into and out of one account; at most 97 quarters. */
type MovedAlone = readonly MovedInQuarter[];

/** A movement that an operator requests: a positive sum is a credit, a negative one a debit. */
export interface WantedMovement {
  readonly operator: Decider;
  readonly account: Account;
  readonly amountMicroVnd: bigint;
  readonly nowMs: number;
}

/**
 * Decides about a movement, and returns what its commit has to check and write. Call it again after
 * a commit that failed.
 */
export async function authorize(
  kv: KeyValueStore,
  authority: Authority,
  wanted: WantedMovement,
): Promise<AuthorityResult> {
  const { operator, account } = wanted;
  const deciders = authority.kind === "approved" ? [operator, authority.requestedBy] : [operator];
  if (await mayProfit(kv, deciders.filter(isPerson), account)) {
    return { ok: false, why: "beneficiary" };
  }
  if (authority.kind === "approved" || !isPerson(operator)) return { ok: true, attach: () => {} };
  const key = operatorMovedKey(mailboxOf(operator.email), account.id);
  const attach = await withinLimit(kv, key, { ...wanted, limitMicroVnd: authority.limitMicroVnd });
  return attach === undefined ? { ok: false, why: "limit" } : { ok: true, attach };
}

/**
 * Decides whether an operator may promise an amount in campaigns without a second operator: the same
 * limit as for one account, over all campaigns of 24 hours. Returns what the commit has to check and
 * write; `undefined` if a second operator must agree.
 */
export async function authorizePromise(
  kv: KeyValueStore,
  wanted: Pick<WantedMovement, "amountMicroVnd" | "nowMs"> & {
    readonly operator: Operator;
    readonly limitMicroVnd: bigint;
  },
): Promise<((operation: AtomicWrite) => void) | undefined> {
  return await withinLimit(kv, operatorPromisedKey(mailboxOf(wanted.operator.email)), wanted);
}

async function withinLimit(
  kv: KeyValueStore,
  key: Deno.KvKey,
  wanted: Pick<WantedMovement, "amountMicroVnd" | "nowMs"> & { readonly limitMicroVnd: bigint },
): Promise<((operation: AtomicWrite) => void) | undefined> {
  const entry = await kv.get<MovedAlone>(key);
  const moved = withMovement(entry.value ?? [], wanted);
  const sumMicroVnd = moved.reduce(
    (sum, { givenMicroVnd, takenMicroVnd }) =>
      sum + (wanted.amountMicroVnd > 0n ? givenMicroVnd : takenMicroVnd),
    0n,
  );
  if (sumMicroVnd > wanted.limitMicroVnd) return undefined;
  return (operation) =>
    void operation.check(entry).set(entry.key, moved, { expireIn: movedAloneMs });
}

function withMovement(
  moved: MovedAlone,
  { amountMicroVnd, nowMs }: Pick<WantedMovement, "amountMicroVnd" | "nowMs">,
): MovedAlone {
  const quarter = Math.floor(nowMs / quarterMs);
  const now = moved.find((row) => row.quarter === quarter) ??
    { quarter, givenMicroVnd: 0n, takenMicroVnd: 0n };
  const counting = moved.filter((row) =>
    row.quarter !== quarter && (row.quarter + 1) * quarterMs + windowMs > nowMs
  );
  return [
    ...counting,
    amountMicroVnd > 0n
      ? { ...now, givenMicroVnd: now.givenMicroVnd + amountMicroVnd }
      : { ...now, takenMicroVnd: now.takenMicroVnd - amountMicroVnd },
  ];
}
