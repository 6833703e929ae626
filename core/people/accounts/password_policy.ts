/**
 * Decides which passwords are accepted: by length, without rules about kinds of characters (NIST SP
 * 800-63B, section 3.1.1).
 */

/**
 * Passwords of ten characters and more that attackers try first, in English and Vietnamese, lower
 * case.
 *
 * The list is short on purpose: sign-in is rate-limited, so only the first few hundred guesses
 * matter, and the minimum length already removes most of those.
 */
const commonPasswords: ReadonlySet<string> = new Set([
  "0123456789",
  "1029384756",
  "1111111111",
  "1122334455",
  "123123123123",
  "1234512345",
  "1234567890",
  "12345678901",
  "123456789a",
  "123456789q",
  "1234567890a",
  "1q2w3e4r5t",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "9876543210",
  "abc1234567",
  "abcd123456",
  "abcde12345",
  "abcdef1234",
  "admin12345",
  "admin123456",
  "administrator",
  "alohaaloha",
  "anhyeuem123",
  "asdfghjkl1",
  "asdfghjkl123",
  "asdfasdfasdf",
  "baseball123",
  "changeme123",
  "computer123",
  "dragon12345",
  "emyeuanh123",
  "fuckyou123",
  "football123",
  "google1234",
  "hanoi123456",
  "helloworld",
  "iloveyou12",
  "iloveyou123",
  "internet123",
  "khongbiet123",
  "letmein123",
  "letmein1234",
  "matkhau123",
  "matkhau1234",
  "matkhau12345",
  "matkhau123456",
  "michael123",
  "monkey12345",
  "nopassword",
  "p@ssw0rd123",
  "p@ssword123",
  "passw0rd123",
  "password01",
  "password10",
  "password11",
  "password12",
  "password123",
  "password1234",
  "password12345",
  "passwordpassword",
  "princess123",
  "q1w2e3r4t5",
  "q1w2e3r4t5y6",
  "qazwsxedc1",
  "qazwsxedcrfv",
  "qwerty1234",
  "qwerty12345",
  "qwerty123456",
  "qwertyuiop",
  "qwertyuiop1",
  "qwertyuiop123",
  "saigon123456",
  "secret12345",
  "sunshine123",
  "superman123",
  "test123456",
  "testtesttest",
  "trustno1trustno1",
  "vietnam123",
  "vietnam1234",
  "welcome123",
  "welcome1234",
  "yeuem12345",
  "yeuanh12345",
  "zxcvbnm123",
  "zxcvbnm,./",
]);

/** Why a password is refused; pages turn the code into a sentence. */
export type PasswordProblem = "too_short" | "too_long" | "too_common" | "too_simple" | "like_email";

const fewestChars = 10;
/** Long enough for any passphrase; keeps the bytes to be hashed bounded. */
const maxChars = 128;
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
  if (length > maxChars) return "too_long";
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
