/**
 * Finds order codes in what a bank made of the memo of a transfer.
 *
 * Banks put text before and after it, change case, strip separators, glue words together or break the memo into
 * chunks. A typo is never corrected: guessing at money is left to people (see near_codes.ts).
 */
import { foldVietnamese } from "./fold_text.ts";
import { type OrderCode, orderCodeLength, parseOrderCode } from "./order_code.ts";

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
 * Every different valid code in one text, in order of appearance.
 *
 * First the text as it stands; only when that holds none, the text without anything but letters and digits, which
 * heals codes that a bank has broken up.
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
 * Codes of a bank notice: the first of its texts that holds any wins.
 *
 * Give the provider's own `code` field first, then the memo, then the full text. All go through our extractor: a
 * provider's detection has no check symbol and may return rubbish.
 */
export function codesOfTexts(texts: readonly (string | undefined)[]): OrderCode[] {
  for (const text of texts) {
    if (text === undefined || text === "") continue;
    const codes = extractOrderCodes(text);
    if (codes.length > 0) return codes;
  }
  return [];
}
