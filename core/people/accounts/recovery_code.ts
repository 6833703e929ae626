/** Recovery codes: what lets a person in who has lost the app or the device of the second factor. */
import { hashSecret } from "./secret_token.ts";

/** Codes of a set: enough for years of lost phones, few enough to print. */
export const recoveryCodesPerSet = 10;

/** Characters that are hard to confuse: base32 after Crockford, without i, l, o and u. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Characters of a code, 5 random bits each: 80 bits cannot be guessed even by who has the store, so one fast hash is
 * enough to keep them.
 */
const codeChars = 16;

/** Characters between the dashes of a code. */
const groupChars = 4;

/**
 * Creates a set of codes with the runtime's cryptographic randomness.
 *
 * @example
 * ```ts
 * import { newRecoveryCodes } from "./recovery_code.ts";
 * const [first = "", ...others] = newRecoveryCodes();
 * if (!/^(?:[0-9a-z]{4}-){3}[0-9a-z]{4}$/.test(first)) throw new Error(first);
 * if (others.length !== 9 || others.includes(first)) throw new Error("not ten different codes");
 * ```
 */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: recoveryCodesPerSet }, () => {
    const bytes = crypto.getRandomValues(new Uint8Array(codeChars));
    const letters = Array.from(bytes, (byte) => alphabet[byte % alphabet.length]).join("");
    return letters.match(new RegExp(`.{${groupChars}}`, "g"))?.join("-") ?? letters;
  });
}

/** Reads what was typed: without dashes and spaces, and with the letters that look like digits as digits. */
function readRecoveryCode(typed: string): string | undefined {
  const code = typed.toLowerCase().replaceAll(/[\s-]/g, "").replaceAll(/[il]/g, "1")
    .replaceAll("o", "0");
  const isCode = code.length === codeChars && [...code].every((char) => alphabet.includes(char));
  return isCode ? code : undefined;
}

/**
 * Hashes a code as it was typed; `undefined` if it is none.
 *
 * @param accountId so that equal codes of two accounts have different hashes
 *
 * @example
 * ```ts
 * import { hashRecoveryCode } from "./recovery_code.ts";
 * const hash = await hashRecoveryCode("acc_1", "0123-4567-89ab-cdef");
 * if (hash === undefined || hash !== await hashRecoveryCode("acc_1", " O123 4567 89AB CDEF")) throw new Error();
 * if (hash === await hashRecoveryCode("acc_2", "0123-4567-89ab-cdef")) throw new Error("the same for all");
 * if (await hashRecoveryCode("acc_1", "287082") !== undefined) throw new Error("a code of an app");
 * ```
 */
export async function hashRecoveryCode(
  accountId: string,
  typed: string,
): Promise<string | undefined> {
  const code = readRecoveryCode(typed);
  return code === undefined ? undefined : await hashSecret("recovery-code", `${accountId} ${code}`);
}
