/**
 * Finds order codes in the memo of a transfer as a bank delivers it.
 *
 * Banks add text before and after the memo, change case, remove separators, join words or break the
 * memo into chunks. A misspelt code is never corrected: decisions about unclear money are left to
 * people (see near_codes.ts).
 */
import {
  foldVietnamese,
  type OrderCode,
  orderCodeLength,
  parseOrderCode,
} from "../bank/order_code.ts";

// Finds likely misspellings of an order code in a memo: shown to staff, never acted on
// automatically.

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
 * import { nearCodes } from "./memo_codes.ts";
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

/** Longest memo that is scanned: real ones are under 400 characters. */
const scannedChars = 2_000;

function scan(text: string): OrderCode[] {
  const found = new Set<OrderCode>();
  for (let at = text.indexOf("ST"); at >= 0; at = text.indexOf("ST", at + 1)) {
    const code = parseOrderCode(text.slice(at, at + orderCodeLength));
    if (code !== undefined) found.add(code);
  }
  return [...found];
}

/**
 * Returns every different valid code of a text, in order of appearance.
 *
 * The text is searched as it is; only if it has no code, it is searched with nothing but letters
 * and digits, which restores codes that a bank has broken up.
 *
 * @example
 * ```ts
 * import { extractOrderCodes } from "./memo_codes.ts";
 * const codes = extractOrderCodes("mbvcb.123.st7k2 m9qxj.CT tu 0123 NGUYEN VAN A");
 * if (codes[0] !== "ST7K2M9QXJ") throw new Error("not found");
 * ```
 */
export function extractOrderCodes(text: string): OrderCode[] {
  const folded = foldVietnamese(text.slice(0, scannedChars));
  const direct = scan(folded);
  return direct.length > 0 ? direct : scan(folded.replace(/[^A-Z0-9]/g, ""));
}

/**
 * Returns the codes of the first of several texts that has any.
 *
 * Pass the provider's own `code` field first, then the memo, then the full text. All are searched
 * in the same way: a provider's detection has no check symbol and may return something else.
 */
export function codesOfTexts(texts: readonly (string | undefined)[]): OrderCode[] {
  for (const text of texts) {
    if (text === undefined || text === "") continue;
    const codes = extractOrderCodes(text);
    if (codes.length > 0) return codes;
  }
  return [];
}
