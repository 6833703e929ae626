/** Reads the pots of an account as they are now: its book, brought forward to its balance. */
import { bringForward, type Pots } from "../../../core/trade/credits/pots.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { grantBookKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type BookGrant, grantBook } from "./grant_book.ts";

/** Readings until the book and the balance are of one moment; more often only while credit moves. */
const readAttempts = 3;

/**
 * Reads the pots of an account. Without credit, everything is the customer's own.
 *
 * @param totalOf reads the balance, including what running calls have reserved
 */
export async function readPots(
  kv: KeyValueStore,
  accountId: AccountId,
  totalOf: (accountId: AccountId) => Promise<bigint>,
): Promise<Pots<BookGrant>> {
  for (let attempt = 1;; attempt++) {
    const before = await kv.get(grantBookKey(accountId));
    const totalMicroVnd = await totalOf(accountId);
    const after = await kv.get(before.key);
    if (before.versionstamp !== after.versionstamp && attempt < readAttempts) continue;
    const book = grantBook(after) ??
      { spendGranted: "first" as const, ownMicroVnd: totalMicroVnd, grants: [] };
    const pots = bringForward(book, totalMicroVnd);
    return { ...pots, grants: pots.grants.filter(({ leftMicroVnd }) => leftMicroVnd > 0n) };
  }
}
