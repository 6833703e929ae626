/**
 * Finds order codes in the memo of a transfer as a bank delivers it.
 *
 * Banks add text before and after the memo, change case, remove separators, join words or break the
 * memo into chunks. A misspelt code is never corrected: decisions about unclear money are left to
 * people (see near_codes.ts).
 */
import { foldVietnamese } from "../bank/fold_text.ts";
import { type OrderCode, orderCodeLength, parseOrderCode } from "../bank/order_code.ts";

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
