import { defined } from "../../lib/base/defined.ts";
/**
 * Checks Vietnamese tax codes (MST).
 *
 * 10 digits: a company. 13 = 10 + `-001`..`-999`: a branch. 12 digits: the personal id, which
 * replaced the tax code of individuals and household businesses on 2025-07-01 (Circular 86/2024).
 *
 * A failed check is a warning: the tax authority decides, so a customer may confirm the code and
 * continue.
 */

/** The check that a code of the right form failed. */
export type TaxCodeDoubt = "check_digit" | "branch_number" | "personal_id";

/** A code of the right form. */
export interface TaxCode {
  /** Digits only; a branch with its hyphen. */
  readonly code: string;
  readonly kind: "company" | "branch" | "personal";
  /** Present when a check failed: ask for confirmation. */
  readonly doubt?: TaxCodeDoubt;
}

const weights = [31, 29, 23, 19, 17, 13, 7, 5, 3];

function companyCodeIsSound(code: string): boolean {
  if (/^0{7}$/.test(code.slice(2, 9))) return false;
  const sum = weights.reduce((total, weight, at) => total + weight * Number(code[at]), 0);
  // 10 is never issued as a check digit, and no digit equals it.
  return 10 - sum % 11 === Number(code[9]);
}

/** Checks province (001–096), then century and sex, then the year. There is no check digit. */
function personalIdIsSound(code: string): boolean {
  const province = Number(code.slice(0, 3));
  return province >= 1 && province <= 96;
}

/**
 * Parses a tax code, with or without its hyphen and with stray spaces. `undefined` unless it has
 * 10, 12 or 13 digits.
 *
 * @example
 * ```ts
 * import { parseTaxCode } from "./tax_code.ts";
 * if (parseTaxCode("0314409058002")?.code !== "0314409058-002") throw new Error("no hyphen");
 * if (parseTaxCode("0101234567")?.doubt !== "check_digit") throw new Error("the favourite placeholder passed");
 * ```
 */
export function parseTaxCode(text: string): TaxCode | undefined {
  const plain = text.replace(/[\s.]/g, "");
  if (/^\d{12}$/.test(plain)) {
    return {
      code: plain,
      kind: "personal",
      ...(personalIdIsSound(plain) ? {} : { doubt: "personal_id" }),
    };
  }
  const match = /^(\d{10})(?:-?(\d{3}))?$/.exec(plain);
  if (match === null) return undefined;
  const [, company = "", branch] = match;
  const sound = companyCodeIsSound(company);
  if (branch === undefined) {
    return { code: company, kind: "company", ...(sound ? {} : { doubt: "check_digit" }) };
  }
  const doubt = !sound ? "check_digit" : branch === "000" ? "branch_number" : undefined;
  return {
    code: `${company}-${branch}`,
    kind: "branch",
    ...defined({ doubt }),
  };
}
