/** Finds orders that a damaged memo may have meant, as suggestions for operators only. */
import type { BankNotice } from "../../../../core/trade/bank/bank_notice.ts";
import { nearCodes } from "../../../../core/trade/statements/near_codes.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  getTopupOrder,
  listOpenCodes,
  type TopupOrder,
} from "../../../../kv/money/payments/topups.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** Open orders searched for near misses of a damaged memo. */
const maxNearMissOrders = 2_000;

/** A suggestion with its reason. */
export interface LikelyOrder {
  readonly order: TopupOrder;
  readonly account: Account | undefined;
  readonly nearCode: boolean;
  readonly sameAmount: boolean;
}

/** Time before the transfer within which an order of the same amount is a suggestion. */
const sameAmountMs = 2 * 86_400_000;
const shown = 10;

/**
 * Returns the best suggestions: codes with one typing error first, then open orders of the same amount, the latest
 * first.
 */
export async function findLikelyOrders(
  kv: KeyValueStore,
  event: BankNotice,
): Promise<LikelyOrder[]> {
  const codes = await listOpenCodes(kv, maxNearMissOrders);
  const near = new Set(nearCodes(`${event.memo} ${event.fullText ?? ""}`, codes));
  const entries = await Promise.all(codes.map((code) => getTopupOrder(kv, code)));
  const guesses = entries.flatMap(({ value: order }) => {
    if (order === null) return [];
    const agoMs = event.time.atMs - order.createdAtMs;
    // A statement without times dates money at the start of its day.
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
