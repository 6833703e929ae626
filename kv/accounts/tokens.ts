/** Single-use secrets with an end: tokens sent by mail, and the state of a sign-in at an OpenID provider. */
import type { AccountId, InvoiceId } from "../../core/lib/ids.ts";
import { hashSecret, newSecretToken } from "../../core/accounts/secret_token.ts";
import type { Locale } from "../../core/accounts/locale.ts";
import { mailTokenKey, signInFlowKey } from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Milliseconds for which the link of a sign-up works: mail may wait a night. */
const signUpMailMs = 24 * 3_600_000;

/**
 * Milliseconds for which the link of a forgotten password or a sign-in works: it opens an account that holds
 * money, and its owner is waiting for it.
 */
export const resetMailMs = 30 * 60_000;

/** Milliseconds for which the link that confirms a new address works. */
const changeEmailMailMs = 24 * 3_600_000;

/**
 * Milliseconds for a sign-in at an OpenID provider: a person needs a minute or two, and ten leave room for a
 * forgotten password there.
 */
const signInFlowMs = 10 * 60_000;

/** Characters of a token that is looked up: those made here have 43. */
const maxTokenChars = 64;

/** What the holder of a mailed token may do: once, unless it says otherwise. */
export type MailGrant =
  | {
    readonly purpose: "sign_up";
    readonly email: string;
    readonly locale: Locale;
    /** Of the password typed at sign-up. The account exists only once the address is proven. */
    readonly passwordHash: string;
    /** Hash of a cookie of the browser that signed up: see `routes/dashboard/sign_up.tsx`. */
    readonly browserHash: string;
    readonly next: string;
  }
  | {
    readonly purpose: "reset_password";
    readonly accountId: AccountId;
    /** {@linkcode passwordMark} when the mail was sent: any change of password ends older mails. */
    readonly passwordMark: string;
  }
  | {
    readonly purpose: "sign_in";
    readonly accountId: AccountId;
    /** As of a reset. */
    readonly passwordMark: string;
    readonly next: string;
  }
  /** Shows one invoice and its files, as often as wanted. */
  | { readonly purpose: "invoice_files"; readonly invoiceId: InvoiceId }
  | {
    readonly purpose: "change_email";
    readonly accountId: AccountId;
    readonly oldEmail: string | undefined;
    readonly newEmail: string;
  };

/** Stands for the present password without telling anything about it. */
export function passwordMark(passwordHash: string | undefined): Promise<string> {
  return hashSecret("password-mark", passwordHash ?? "");
}

export type MailPurpose = MailGrant["purpose"];
export type MailGrantOf<Purpose extends MailPurpose> = Extract<MailGrant, { purpose: Purpose }>;

/** An accountant may open the mail at the end of the month that it came in. */
const invoiceFilesMs = 30 * 86_400_000;

/** How long each kind of mail works. */
const mailGrantMs: Readonly<Record<MailPurpose, number>> = {
  sign_up: signUpMailMs,
  reset_password: resetMailMs,
  sign_in: resetMailMs,
  change_email: changeEmailMailMs,
  invoice_files: invoiceFilesMs,
};

interface Expiring<T> {
  readonly expiresAtMs: number;
  readonly value: T;
}

/** Writes a grant and returns the token that goes into the mail: the only copy of it. */
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

/** A grant that was looked at but not used yet. */
export interface OpenGrant<Grant> {
  readonly grant: Grant;
  /** Uses it up. `false` if somebody else did meanwhile: exactly one caller gets `true`. */
  use(): Promise<boolean>;
}

/** Looks at the grant of a token without using it up. `undefined`: wrong, used, expired or of another purpose. */
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

/** What is remembered between leaving for an OpenID provider and coming back. */
export interface SignInFlow {
  readonly codeVerifier: string;
  readonly nonce: string;
  /** Hash of a cookie of the browser that left: a stolen link back is of no use in another browser. */
  readonly browserHash: string;
  readonly next: string;
}

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

/** Takes the flow of a state out of the store; a second taker gets `undefined`. */
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
