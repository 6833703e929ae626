/**
 * Finds likely misspellings of an order code in a memo: shown to staff, never acted on
 * automatically.
 */
import { foldVietnamese } from "../bank/fold_text.ts";
import type { OrderCode } from "../bank/order_code.ts";

/** Whether two texts differ by at most one replaced, missing or extra symbol, or one swap of neighbours. */
export function withinOneEdit(left: string, right: string): boolean {
  if (left === right) return true;
  if (Math.abs(left.length - right.length) > 1) return false;
  let start = 0;
  while (start < left.length && left[start] === right[start]) start++;
  let leftEnd = left.length;
  let rightEnd = right.length;
  while (leftEnd > start && rightEnd > start && left[leftEnd - 1] === right[rightEnd - 1]) {
    leftEnd--;
    rightEnd--;
  }
  const leftRest = left.slice(start, leftEnd);
  const rightRest = right.slice(start, rightEnd);
  if (leftRest.length <= 1 && rightRest.length <= 1) return true;
  return leftRest.length === 2 && rightRest.length === 2 && leftRest[0] === rightRest[1] &&
    leftRest[1] === rightRest[0];
}

/**
 * Returns those of `candidates` that appear in the memo with at most one mistake.
 *
 * @example
 * ```ts
 * import { nearCodes } from "./near_codes.ts";
 * import { parseOrderCode } from "../bank/order_code.ts";
 * const order = parseOrderCode("ST7K2M9QXJ")!;
 * if (nearCodes("CK ST7K2M9OXJ", [order]).length !== 1) throw new Error("a typo was not offered");
 * ```
 */
export function nearCodes(memo: string, candidates: readonly OrderCode[]): OrderCode[] {
  const text = foldVietnamese(memo.slice(0, 2_000)).replace(/[^A-Z0-9]/g, "");
  return candidates.filter((code) => {
    for (let length = code.length - 1; length <= code.length + 1; length++) {
      for (let at = 0; at + length <= text.length; at++) {
        if (withinOneEdit(text.slice(at, at + length), code)) return true;
      }
    }
    return false;
  });
}
