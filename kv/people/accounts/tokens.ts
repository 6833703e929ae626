/**
 * Issues and redeems single-use secrets that expire: tokens sent by mail, the state of a sign-in at
 * an OpenID provider, sign-ins that wait for their second factor, and challenges of passkeys.
 */
import type { AccountId, InvoiceId } from "../../../core/lib/ids/ids.ts";
import { hashSecret, newSecretToken } from "../../../core/people/accounts/secret_token.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { Session } from "../../../core/people/accounts/session_rules.ts";
import {
  mailTokenKey,
  passkeyChallengeKey,
  pendingSignInKey,
  signInFlowKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs, minuteMs } from "../../../core/lib/time/durations.ts";

/** Milliseconds for which the link of a sign-up or a subscription works: mail may be delayed for a night. */
const signUpMailMs = dayMs;

/**
 * Milliseconds for which the link of a password reset or a sign-in works. It opens an account that
 * has money, and its owner is waiting for it.
 */
export const resetMailMs = 30 * 60_000;

/** Milliseconds for which the link that confirms a new address works. */
const changeEmailMailMs = dayMs;

/**
 * Milliseconds for a sign-in at an OpenID provider or with a second factor: a person needs a minute
 * or two; ten are enough for a password reset there, or to find the recovery codes.
 */
export const signInFlowMs = 10 * 60_000;

/** Milliseconds for which a passkey can sign a challenge: to find the security key and to type its PIN. */
export const passkeyChallengeMs = 5 * minuteMs;

/** Most characters of a token that is looked up; tokens issued here have 43. */
const maxTokenChars = 64;

/** Permission that a mailed token gives. Single use unless stated otherwise. */
export type MailGrant =
  | {
    readonly purpose: "sign_up";
    readonly email: string;
    readonly locale: Locale;
    /**
     * Hash of the password typed at sign-up. The account is created only once the address is
     * proven.
     */
    readonly passwordHash: string;
    /** Hash of a cookie of the browser that signed up: see `routes/dashboard/customer/sign_in/sign_up.tsx`. */
    readonly browserHash: string;
    readonly next: string;
  }
  | {
    readonly purpose: "reset_password";
    readonly accountId: AccountId;
    /**
     * {@linkcode passwordMark} at the time of the mail: changing the password invalidates older
     * mails.
     */
    readonly passwordMark: string;
  }
  | {
    readonly purpose: "sign_in";
    readonly accountId: AccountId;
    /** As for a reset. */
    readonly passwordMark: string;
    readonly next: string;
  }
  | {
    readonly purpose: "status_subscription";
    readonly email: string;
    readonly locale: Locale;
  }
  /** Shows one invoice and its files, as often as wanted until it expires. */
  | { readonly purpose: "invoice_files"; readonly invoiceId: InvoiceId }
  | {
    readonly purpose: "change_email";
    readonly accountId: AccountId;
    readonly oldEmail: string | undefined;
    readonly newEmail: string;
  };

/** Computes a mark that changes with the password and reveals nothing about it. */
export function passwordMark(passwordHash: string | undefined): Promise<string> {
  return hashSecret("password-mark", passwordHash ?? "");
}

export type MailPurpose = MailGrant["purpose"];
export type MailGrantOf<Purpose extends MailPurpose> = Extract<MailGrant, { purpose: Purpose }>;

/**
 * Milliseconds for which the mail of an invoice works: an accountant may open it at the end of the
 * month.
 */
const invoiceFilesMs = 30 * dayMs;

/** Milliseconds for which each kind of mail works. */
const mailGrantMs: Readonly<Record<MailPurpose, number>> = {
  sign_up: signUpMailMs,
  reset_password: resetMailMs,
  sign_in: resetMailMs,
  change_email: changeEmailMailMs,
  invoice_files: invoiceFilesMs,
  status_subscription: signUpMailMs,
};

/** Milliseconds for which a mail works at most. */
export const longestMailGrantMs = Math.max(...Object.values(mailGrantMs));

interface Expiring<T> {
  readonly expiresAtMs: number;
  readonly value: T;
}

/** Stores a grant and returns the token for the mail, which is stored only as a hash. */
export async function issueMailToken(
  kv: KeyValueStore,
  grant: MailGrant,
  nowMs: number,
): Promise<string> {
  const token = newSecretToken();
  const lifeMs = mailGrantMs[grant.purpose];
  const row: Expiring<MailGrant> = { expiresAtMs: nowMs + lifeMs, value: grant };
  const key = mailTokenKey(await hashSecret("mail", token));
  await kv.set(key, row, { expireIn: lifeMs });
  return token;
}

/** A grant that was read but not used yet. */
export interface OpenGrant<Grant> {
  readonly grant: Grant;
  /** Uses the grant up. Returns `true` to exactly one caller. */
  use(): Promise<boolean>;
}

/**
 * Reads the grant of a token without using it up. `undefined` if the token is wrong, used, expired,
 * or of another purpose.
 */
export async function readMailToken<Purpose extends MailPurpose>(
  kv: KeyValueStore,
  purpose: Purpose,
  token: string,
  nowMs: number,
): Promise<OpenGrant<MailGrantOf<Purpose>> | undefined> {
  if (token.length > maxTokenChars) return undefined;
  const entry = await kv.get<Expiring<MailGrant>>(mailTokenKey(await hashSecret("mail", token)));
  if (entry.value === null || nowMs >= entry.value.expiresAtMs) return undefined;
  const grant = entry.value.value;
  if (!isGrantOf(grant, purpose)) return undefined;
  return {
    grant,
    use: async () => (await kv.atomic().check(entry).delete(entry.key).commit()).ok,
  };
}

function isGrantOf<Purpose extends MailPurpose>(
  grant: MailGrant,
  purpose: Purpose,
): grant is MailGrantOf<Purpose> {
  return grant.purpose === purpose;
}

/** State that is stored between the redirect to an OpenID provider and the return. */
export interface SignInFlow {
  readonly codeVerifier: string;
  readonly nonce: string;
  /**
   * Hash of a cookie of the browser that left, so that a stolen return link does not work in
   * another browser.
   */
  readonly browserHash: string;
  /** The organisation whose provider it is; absent: the operator's. */
  readonly organisationId?: AccountId;
  /** Provider of the operator; absent: the OpenID provider, or that of the organisation. */
  readonly provider?: string;
  readonly next: string;
}

/** Stores a sign-in flow under its state. */
export async function saveSignInFlow(
  kv: KeyValueStore,
  state: string,
  flow: SignInFlow,
  nowMs: number,
): Promise<void> {
  const row: Expiring<SignInFlow> = { expiresAtMs: nowMs + signInFlowMs, value: flow };
  await kv.set(signInFlowKey(await hashSecret("flow", state)), row, {
    expireIn: signInFlowMs,
  });
}

/** Removes the flow of a state from the store and returns it; a second caller gets `undefined`. */
export async function takeSignInFlow(
  kv: KeyValueStore,
  state: string,
  nowMs: number,
): Promise<SignInFlow | undefined> {
  if (state.length > maxTokenChars) return undefined;
  const entry = await kv.get<Expiring<SignInFlow>>(signInFlowKey(await hashSecret("flow", state)));
  if (entry.value === null) return undefined;
  const { ok } = await kv.atomic().check(entry).delete(entry.key).commit();
  return ok && nowMs < entry.value.expiresAtMs ? entry.value.value : undefined;
}

/** A sign-in whose first factor was right, and whose second is awaited. */
export interface PendingSignIn {
  readonly accountId: AccountId;
  readonly method: Session["method"];
  /** As for a reset: a change of the password ends it. */
  readonly passwordMark: string;
  /** For which organisation the person acts from then on; absent: the own one. */
  readonly organisationId?: AccountId;
  readonly companyId?: AccountId;
  readonly next: string;
}

/** Stores a sign-in that waits, and returns the token for the browser's cookie. */
export async function savePendingSignIn(
  kv: KeyValueStore,
  pending: PendingSignIn,
  nowMs: number,
): Promise<string> {
  const token = newSecretToken();
  const row: Expiring<PendingSignIn> = { expiresAtMs: nowMs + signInFlowMs, value: pending };
  const key = pendingSignInKey(await hashSecret("pending-sign-in", token));
  await kv.set(key, row, { expireIn: signInFlowMs });
  return token;
}

/** Reads the sign-in of a token without ending it; `undefined` if the token is wrong, used or expired. */
export async function readPendingSignIn(
  kv: KeyValueStore,
  token: string,
  nowMs: number,
): Promise<OpenGrant<PendingSignIn> | undefined> {
  if (token.length > maxTokenChars) return undefined;
  const entry = await kv.get<Expiring<PendingSignIn>>(
    pendingSignInKey(await hashSecret("pending-sign-in", token)),
  );
  if (entry.value === null || nowMs >= entry.value.expiresAtMs) return undefined;
  return {
    grant: entry.value.value,
    use: async () => (await kv.atomic().check(entry).delete(entry.key).commit()).ok,
  };
}

/** Challenge of a passkey, with the purpose of its signature. */
export interface PasskeyChallenge {
  readonly act: "register" | "sign_in" | "second_factor";
  /** Hash of what only the browser has that asked for the challenge. */
  readonly holder: string;
}

/** Stores a challenge that a passkey is to sign. */
export async function savePasskeyChallenge(
  kv: KeyValueStore,
  challenge: string,
  what: PasskeyChallenge,
  nowMs: number,
): Promise<void> {
  const row: Expiring<PasskeyChallenge> = { expiresAtMs: nowMs + passkeyChallengeMs, value: what };
  const key = passkeyChallengeKey(await hashSecret("passkey-challenge", challenge));
  await kv.set(key, row, { expireIn: passkeyChallengeMs });
}

/** Uses a challenge up. `false` if it was used, is too old, or was given for something else or to another browser. */
export async function takePasskeyChallenge(
  kv: KeyValueStore,
  challenge: string,
  { act, holder }: PasskeyChallenge,
  nowMs: number,
): Promise<boolean> {
  if (challenge.length > maxTokenChars) return false;
  const entry = await kv.get<Expiring<PasskeyChallenge>>(
    passkeyChallengeKey(await hashSecret("passkey-challenge", challenge)),
  );
  if (entry.value === null) return false;
  const { ok } = await kv.atomic().check(entry).delete(entry.key).commit();
  const { expiresAtMs, value } = entry.value;
  return ok && nowMs < expiresAtMs && value.act === act && value.holder === holder;
}
