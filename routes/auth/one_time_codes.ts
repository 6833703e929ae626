/**
 * One-time codes of authenticator apps (RFC 6238: SHA-1, six digits, 30 seconds, as all such apps
 * do), for customers and operators.
 */
import { open, seal } from "../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../core/people/api_keys/seal_owners.ts";
import type { MasterKeys } from "../../core/people/api_keys/seal.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import {
  getSecondFactor,
  offerSecondFactor,
  type SecondFactor,
} from "../../kv/people/accounts/second_factor.ts";
import { countTry, type RateVerdict } from "../../kv/people/accounts/rate_limits.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { countTryByAddress, rateRules } from "./sign_in_budgets.ts";
import { Secret, TOTP } from "otpauth";

const periodSeconds = 30;
/** Accepted steps before and after the current one, for clocks that are slightly off. */
const stepsOff = 1;

/** Generates a secret in base32 with the runtime's cryptographic randomness. */
function newTotpSecret(): string {
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
 * import { totpStep } from "./one_time_codes.ts";
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

/** Needs of checking codes. */
export interface CodeDeps {
  readonly kv: KeyValueStore;
  readonly masterKeys: MasterKeys;
  readonly clock: Pick<Clock, "nowMs">;
}

/** The second factor of a person. */
export type Factor =
  | { readonly kind: "known"; readonly secret: string; readonly confirmed: boolean }
  /** Sealed with a master key that is gone: no code can be verified, and only the machine's owner can help. */
  | { readonly kind: "unreadable" }
  /** Another request changed it at this moment. */
  | { readonly kind: "busy" };

/** Reads the stored second factor, or offers a new one until one is confirmed. */
export async function factorOf(
  { kv, masterKeys, clock }: CodeDeps,
  accountId: AccountId,
): Promise<Factor> {
  const { value } = await getSecondFactor(kv, accountId);
  if (value !== null) {
    const secret = await open(masterKeys, value.sealedSecret, sealOwners.second_factor(accountId));
    const confirmed = value.confirmedAtMs !== undefined;
    if (secret !== undefined) return { kind: "known", secret, confirmed };
    if (confirmed) return { kind: "unreadable" };
  }
  const secret = newTotpSecret();
  const sealed = await seal(masterKeys, secret, sealOwners.second_factor(accountId));
  const kept = await offerSecondFactor(kv, accountId, sealed, clock.nowMs());
  return kept ? { kind: "known", secret, confirmed: false } : { kind: "busy" };
}

/** Worth of a code before it is used up. */
export type CodeCheck =
  | {
    readonly kind: "right";
    readonly entry: Deno.KvEntry<SecondFactor>;
    readonly step: number;
  }
  | { readonly kind: "wrong" }
  /** There is no secret to check it with, or none that can be read. */
  | { readonly kind: "no_secret" };

/** Checks a code without using it up. */
export async function checkCode(
  { kv, masterKeys, clock }: CodeDeps,
  accountId: AccountId,
  code: string,
): Promise<CodeCheck> {
  const entry = await getSecondFactor(kv, accountId);
  if (entry.value === null) return { kind: "no_secret" };
  const secret = await open(
    masterKeys,
    entry.value.sealedSecret,
    sealOwners.second_factor(accountId),
  );
  if (secret === undefined) return { kind: "no_secret" };
  const step = totpStep(secret, code, clock.nowMs());
  return step === undefined ? { kind: "wrong" } : { kind: "right", entry, step };
}

/** Counts a try of a code or a recovery code, by account and by IP address. */
export async function countCodeTry(
  kv: KeyValueStore,
  accountId: AccountId,
  address: string,
  nowMs: number,
): Promise<RateVerdict> {
  const byAccount = await countTry(kv, rateRules.codeTries, accountId, nowMs);
  const byAddress = await countTryByAddress(kv, rateRules.codeTries, address, nowMs);
  return byAccount.allowed ? byAddress : byAccount;
}
