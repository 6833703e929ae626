/**
 * What a spreadsheet does to the bank references of a statement that is opened and saved. A damaged reference must not
 * pass for another one: two references of one numbering mean two movements, and a movement is credited.
 */
import { plainReference } from "./bank_event.ts";

/** Spreadsheets keep this many digits of a number; the rest becomes zeros. */
const keptDigits = 15;

/**
 * A reference as it is compared: letters and digits only. Empty when there is none, or when a spreadsheet has made it a
 * rounded number, which many references share.
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

/** The digits that a spreadsheet leaves of a number: no zeros in front, few digits. */
function afterSpreadsheet(reference: string): string {
  const digits = reference.replace(/^0+(?=\d)/, "");
  return digits.slice(0, keptDigits).padEnd(digits.length, "0");
}

/**
 * Whether two references of one numbering name two movements for sure. Nothing is sure about a missing one, about what
 * may be a rounded number, and about digits that a spreadsheet would have made alike.
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
