/**
 * Compares bank references of statements that a spreadsheet may have damaged.
 *
 * A damaged reference must not be taken for another one: two references of one numbering mean two
 * movements, and a movement is credited.
 */
import { plainReference } from "../bank/bank_notice.ts";

/** Spreadsheets keep this many digits of a number; the rest becomes zeros. */
const keptDigits = 15;

/**
 * Normalises a reference for comparison: letters and digits only. Empty if there is none, or if a
 * spreadsheet has made it a rounded number, which many references share.
 *
 * @example
 * ```ts
 * import { comparedReference } from "./statement_reference.ts";
 * if (comparedReference("FT-26324.1") !== "FT263241") throw new Error("wrong");
 * if (comparedReference("5.12346E+15") !== "") throw new Error("not noticed");
 * ```
 */
export function comparedReference(reference: string | undefined): string {
  const isRounded = /^\s*\d+(?:[.,]\d+)?E\+\d+\s*$/i.test(reference ?? "");
  return isRounded ? "" : plainReference(reference);
}

/** Returns the digits that a spreadsheet leaves of a number: no leading zeros, few digits. */
function afterSpreadsheet(reference: string): string {
  const digits = reference.replace(/^0+(?=\d)/, "");
  return digits.slice(0, keptDigits).padEnd(digits.length, "0");
}

/**
 * Whether two references of one numbering certainly name two movements.
 *
 * Nothing is certain about a missing one, about a number that may be rounded, and about digits that
 * a spreadsheet would have made equal.
 *
 * @param left letters and digits only, as `right`
 */
export function referencesDiffer(left: string, right: string): boolean {
  const known = [left, right].every((one) => one !== "" && !/^\d+E\d{2,3}$/.test(one));
  if (!known || left === right) return false;
  const isNumber = (text: string) => /^\d+$/.test(text);
  if (!isNumber(left) || !isNumber(right)) return true;
  const wasSaved = [left, right].some((one) => one === afterSpreadsheet(one));
  return !wasSaved || afterSpreadsheet(left) !== afterSpreadsheet(right);
}
