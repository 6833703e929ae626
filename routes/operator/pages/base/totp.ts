/** Generates and verifies one-time codes (RFC 6238: SHA-1, six digits, 30 seconds, as all authenticator apps do). */
import { Secret, TOTP } from "otpauth";

const periodSeconds = 30;
/** Accepted steps before and after the current one, for clocks that are slightly off. */
const stepsOff = 1;

/** Generates a secret in base32 with the runtime's cryptographic randomness. */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

function totpOf(secret: string, email: string, issuer: string): TOTP {
  return new TOTP({
    issuer,
    label: email,
    secret: Secret.fromBase32(secret),
    algorithm: "SHA1",
    digits: 6,
    period: periodSeconds,
  });
}

/** Builds the address in the QR code of an enrolment. */
export function totpUri(secret: string, email: string, issuer: string): string {
  return totpOf(secret, email, issuer).toString();
}

/**
 * Verifies a code.
 *
 * @returns the time step it belongs to, so that it can be used up; `undefined` if it is wrong
 *
 * @example
 * ```ts
 * import { totpStep } from "./totp.ts";
 * // RFC 6238, appendix B: the secret "12345678901234567890" at 59 s, last six digits.
 * const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
 * if (totpStep(secret, "287082", 59_000) !== 1) throw new Error("the published code was refused");
 * if (totpStep(secret, "287083", 59_000) !== undefined) throw new Error("a wrong code was accepted");
 * ```
 */
export function totpStep(secret: string, code: string, nowMs: number): number | undefined {
  const token = code.replace(/\s/g, "");
  if (!/^\d{6}$/.test(token)) return undefined;
  const off = totpOf(secret, "", "").validate({ token, timestamp: nowMs, window: stepsOff });
  return off === null ? undefined : Math.floor(nowMs / 1_000 / periodSeconds) + off;
}
