/**
 * Decides which passwords are accepted: by length, without rules about kinds of characters (NIST SP
 * 800-63B, section 3.1.1).
 */
import { commonPasswords } from "./common_passwords.ts";

/** Why a password is refused; pages turn the code into a sentence. */
export type PasswordProblem = "too_short" | "too_long" | "too_common" | "too_simple" | "like_email";

const fewestChars = 10;
/** Long enough for any passphrase; keeps the bytes to be hashed bounded. */
const mostChars = 128;
const fewestDifferentChars = 5;

/**
 * Normalises a password to the form that is hashed: NFKC, so that the same keys typed on two
 * systems give the same bytes. Nothing is trimmed or cut.
 */
export function normalisePassword(password: string): string {
  return password.normalize("NFKC");
}

/**
 * Returns why a password is refused, or `undefined` if it is accepted.
 *
 * @param email normalised address of the account: a password that contains its name is among the
 * first guesses
 *
 * @example
 * ```ts
 * import { passwordProblem } from "./password_policy.ts";
 * if (passwordProblem("correct horse battery", "ann@example.com") !== undefined) throw new Error();
 * if (passwordProblem("matkhau123", "ann@example.com") !== "too_common") throw new Error();
 * if (passwordProblem("annlee-2026-x", "annlee@example.com") !== "like_email") throw new Error();
 * ```
 */
export function passwordProblem(password: string, email: string): PasswordProblem | undefined {
  const text = normalisePassword(password);
  const length = [...text].length;
  if (length < fewestChars) return "too_short";
  if (length > mostChars) return "too_long";
  const folded = text.toLowerCase();
  if (commonPasswords.has(folded)) return "too_common";
  if (new Set(folded).size < fewestDifferentChars || isRun(folded)) return "too_simple";
  const name = email.slice(0, email.lastIndexOf("@"));
  if (name.length >= 4 && folded.includes(name)) return "like_email";
  return undefined;
}

/** Whether every step between characters is the same, as in `abcdefghij` and `9876543210`. */
function isRun(text: string): boolean {
  const step = text.charCodeAt(1) - text.charCodeAt(0);
  if (Math.abs(step) > 1) return false;
  for (let i = 1; i < text.length; i++) {
    if (text.charCodeAt(i) - text.charCodeAt(i - 1) !== step) return false;
  }
  return true;
}
