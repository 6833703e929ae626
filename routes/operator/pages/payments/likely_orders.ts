/** Orders that a broken memo may have meant: for people to look at, never acted on by the machine. */
import type { BankEvent } from "../../../../core/payments/bank_event.ts";
import { nearCodes } from "../../../../core/payments/near_codes.ts";
import { type Account, getAccount } from "../../../../kv/accounts/accounts.ts";
import { getTopupOrder, listOpenCodes, type TopupOrder } from "../../../../kv/payments/topups.ts";
import type { KeyValueStore } from "../../../../kv/store/key_value_store.ts";

/** Open orders searched for near misses of a damaged memo. */
const maxNearMissOrders = 2_000;

/** One guess, and what speaks for it. */
export interface LikelyOrder {
  readonly order: TopupOrder;
  readonly account: Account | undefined;
  readonly nearCode: boolean;
  readonly sameAmount: boolean;
}

/** An order of the same amount is a guess only if it was made not long before the money came. */
const sameAmountMs = 2 * 86_400_000;
const shown = 10;

/** The best guesses: a code one slip away first, then open orders of the same amount, the latest first. */
export async function findLikelyOrders(
  kv: KeyValueStore,
  event: BankEvent,
): Promise<LikelyOrder[]> {
  const codes = await listOpenCodes(kv, maxNearMissOrders);
  const near = new Set(nearCodes(`${event.memo} ${event.fullText ?? ""}`, codes));
  const entries = await Promise.all(codes.map((code) => getTopupOrder(kv, code)));
  const guesses = entries.flatMap(({ value: order }) => {
    if (order === null) return [];
    const agoMs = event.time.atMs - order.createdAtMs;
    // A statement that tells days only puts the money at the start of its day.
    const inTime = agoMs > -86_400_000 && agoMs < sameAmountMs;
    const sameAmount = order.askedMicroVnd === event.amountMicroVnd && inTime;
    const nearCode = near.has(order.code);
    return nearCode || sameAmount ? [{ order, nearCode, sameAmount }] : [];
  });
  const weight = (guess: { nearCode: boolean; sameAmount: boolean }) =>
    (guess.nearCode ? 2 : 0) + (guess.sameAmount ? 1 : 0);
  guesses.sort((left, right) =>
    weight(right) - weight(left) || right.order.createdAtMs - left.order.createdAtMs
  );
  return await Promise.all(
    guesses.slice(0, shown).map(async (guess) => ({
      ...guess,
      account: await getAccount(kv, guess.order.accountId),
    })),
  );
}
