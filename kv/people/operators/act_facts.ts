/** The facts on which a decision about money rests, and the mark by which a decision names what it has seen. */
import { hashBase62 } from "../../../core/lib/hash/short_hash.ts";
import type { Account } from "../accounts/accounts.ts";

/** What a decision sees of an order. */
export interface OrderFacts {
  readonly code: string;
  readonly accountId: string;
  readonly state: string;
  readonly askedMicroVnd: bigint;
  readonly receivedMicroVnd: bigint;
}

/** What a decision sees of a bank notice. */
export interface NoticeFacts {
  readonly event: {
    readonly amountMicroVnd: bigint;
    readonly direction: string;
    readonly memo: string;
  };
  readonly state: unknown;
}

/** What an act moves and for whom. The balance is none of the facts: running calls change it all the time. */
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
