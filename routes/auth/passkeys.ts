/**
 * Registers passkeys and verifies what they sign (WebAuthn). The library is loaded with the first
 * passkey: it takes a tenth of a second and 25 MB, which a gateway without one does not pay.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { z } from "zod";
import { loadedOnce } from "../../core/lib/base/assert.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { decodeBase64Url, encodeBase64Url } from "../../core/lib/runtime/built_ins.ts";
import { type AccountId, parseId } from "../../core/lib/ids/ids.ts";
import { newSecretToken } from "../../core/people/accounts/secret_token.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import {
  getPasskey,
  listPasskeys,
  notePasskeyUse,
  type Passkey,
} from "../../kv/people/accounts/passkeys.ts";
import {
  type PasskeyChallenge,
  passkeyChallengeMs,
  savePasskeyChallenge,
  takePasskeyChallenge,
} from "../../kv/people/accounts/tokens.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

const library = loadedOnce(() => import("@simplewebauthn/server"));

/** Needs of passkeys. */
export interface PasskeyDeps {
  readonly kv: KeyValueStore;
  readonly clock: Pick<Clock, "nowMs">;
  /** Public address of the service: passkeys belong to its host and sign its origin. */
  readonly baseUrl: string;
}

/** Why browsers have no passkeys for an address. */
export type PasskeyObstacle =
  /** Neither https nor this machine. */
  | "insecure"
  /** An IP address, to which no passkey can belong. */
  | "no_domain";

/**
 * Says why no passkey can belong to the public address; `undefined` if one can.
 *
 * @example
 * ```ts
 * import { passkeyObstacle } from "./passkeys.ts";
 * const found = ["https://gw.example", "http://localhost:8787", "http://gw.example", "https://192.0.2.1", "https://[2001:db8::1]"]
 *   .map((address) => passkeyObstacle(address) ?? "none");
 * if (found.join() !== "none,none,insecure,no_domain,no_domain") throw new Error(found.join());
 * ```
 */
export function passkeyObstacle(baseUrl: string): PasskeyObstacle | undefined {
  const { protocol, hostname } = new URL(baseUrl);
  if (/^[\d.]+$|^\[/.test(hostname)) return "no_domain";
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  return protocol === "https:" || isLocal ? undefined : "insecure";
}

/** COSE numbers of the signatures that are asked for: Ed25519, ECDSA with P-256, RSA PKCS#1. All devices have one. */
const supportedAlgorithmIDs = [-8, -7, -257];

/** Most characters of what a browser sends of a passkey; some thousand with an attestation, which is not asked for. */
const maxCredentialChars = 32_768;

const base64Url = z.string().regex(/^[\w-]*$/);

/** Members that both kinds of answers have. */
const credential = {
  id: base64Url.min(1).max(1_400),
  rawId: base64Url,
  type: z.literal("public-key"),
};

const registrationSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url,
    attestationObject: base64Url,
    transports: z.array(z.string().max(32)).max(10).optional(),
  }),
});

const assertionSchema = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64Url,
    authenticatorData: base64Url,
    signature: base64Url,
    userHandle: base64Url.nullish(),
  }),
});

/** Reads what the script of a page put into a form; `undefined` if it is none. */
function readCredential<Read>(schema: z.ZodType<Read>, text: string): Read | undefined {
  if (text.length > maxCredentialChars) return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The host to which passkeys belong, and the origin that they sign. */
function partyOf(baseUrl: string): { readonly rpID: string; readonly origin: string } {
  const { hostname, origin } = new URL(baseUrl);
  return { rpID: hostname, origin };
}

async function newChallenge(
  { kv, clock }: PasskeyDeps,
  what: PasskeyChallenge,
): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = newSecretToken();
  await savePasskeyChallenge(kv, challenge, what, clock.nowMs());
  const bytes = decodeBase64Url(challenge);
  if (bytes === undefined) throw new TypeError("A token is base64url");
  return bytes;
}

/**
 * Verifies with the library, which throws for whatever a browser may send wrong: that is a refusal, while a failure of
 * the store, which keeps the challenges, goes on.
 */
async function verifySigned<Result>(
  { kv, clock }: PasskeyDeps,
  what: PasskeyChallenge,
  verify: (expectedChallenge: (challenge: string) => Promise<boolean>) => Promise<Result>,
): Promise<Result | undefined> {
  const failures: unknown[] = [];
  try {
    return await verify(async (challenge) => {
      try {
        return await takePasskeyChallenge(kv, challenge, what, clock.nowMs());
      } catch (error) {
        failures.push(error);
        return false;
      }
    });
  } catch {
    if (failures.length > 0) throw failures[0];
    return undefined;
  }
}

/** The person who registers a passkey, as the authenticator stores them. */
export interface PasskeyOwner {
  readonly accountId: AccountId;
  /** Name by which people choose among their passkeys. */
  readonly label: string;
}

/**
 * Returns what `navigator.credentials.create` needs, in JSON. Only passkeys that are kept on the authenticator and
 * verify the person are asked for, so each can sign in alone.
 *
 * @param holder hash of what only this browser has
 */
export async function registrationOptions(
  deps: PasskeyDeps,
  { accountId, label }: PasskeyOwner,
  holder: string,
): Promise<unknown> {
  const { generateRegistrationOptions } = await library();
  const { rpID } = partyOf(deps.baseUrl);
  const known = await listPasskeys(deps.kv, accountId);
  return await generateRegistrationOptions({
    rpName: rpID,
    rpID,
    userName: label,
    userDisplayName: label,
    userID: new TextEncoder().encode(accountId),
    challenge: await newChallenge(deps, { act: "register", holder }),
    timeout: passkeyChallengeMs,
    attestationType: "none",
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    supportedAlgorithmIDs,
  });
}

/**
 * Verifies a new passkey.
 *
 * @param text what the browser sent
 * @returns the row to be stored; `undefined` if something is wrong with it
 */
export async function verifyRegistration(
  deps: PasskeyDeps,
  text: string,
  { name, holder }: { readonly name: string; readonly holder: string },
): Promise<Passkey | undefined> {
  const read = readCredential(registrationSchema, text);
  if (read === undefined) return undefined;
  const { transports = [], ...signed } = read.response;
  const response: RegistrationResponseJSON = {
    ...read,
    response: signed,
    clientExtensionResults: {},
  };
  const { verifyRegistrationResponse } = await library();
  const { rpID, origin } = partyOf(deps.baseUrl);
  const nowMs = deps.clock.nowMs();
  const result = await verifySigned(
    deps,
    { act: "register", holder },
    (expectedChallenge) =>
      verifyRegistrationResponse({
        response,
        expectedChallenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
        supportedAlgorithmIDs,
      }),
  );
  if (result?.verified !== true) return undefined;
  const { id, publicKey, counter } = result.registrationInfo.credential;
  return {
    id,
    name,
    publicKey: encodeBase64Url(publicKey),
    counter,
    transports,
    createdAtMs: nowMs,
  };
}

/** People who are asked for a passkey. */
export type PasskeyAsk =
  /** Whoever has one: the passkey says whose it is. */
  | { readonly act: "sign_in"; readonly holder: string }
  /** The person whose first factor was right. */
  | { readonly act: "second_factor"; readonly holder: string; readonly accountId: AccountId };

/** Returns what `navigator.credentials.get` needs, in JSON. */
export async function assertionOptions(deps: PasskeyDeps, ask: PasskeyAsk): Promise<unknown> {
  const { generateAuthenticationOptions } = await library();
  const known = ask.act === "sign_in" ? [] : await listPasskeys(deps.kv, ask.accountId);
  return await generateAuthenticationOptions({
    rpID: partyOf(deps.baseUrl).rpID,
    challenge: await newChallenge(deps, { act: ask.act, holder: ask.holder }),
    timeout: passkeyChallengeMs,
    userVerification: "required",
    allowCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
  });
}

/** The account that a passkey names: the authenticator keeps its id. */
function accountOfHandle(userHandle: string | null | undefined): AccountId | undefined {
  const bytes = decodeBase64Url(userHandle ?? "");
  return bytes === undefined ? undefined : parseId("account", new TextDecoder().decode(bytes));
}

/**
 * Verifies what a passkey signed, and notes its use: the challenge must be one of this browser that was not used, the
 * origin ours, the person verified, and the counter higher than before, where the authenticator counts.
 *
 * @param text what the browser sent
 * @returns the account that the passkey belongs to; `undefined` if something is wrong
 */
export async function verifyAssertion(
  deps: PasskeyDeps,
  text: string,
  ask: PasskeyAsk,
): Promise<AccountId | undefined> {
  const read = readCredential(assertionSchema, text);
  if (read === undefined) return undefined;
  const { userHandle, ...signed } = read.response;
  const accountId = ask.act === "sign_in" ? accountOfHandle(userHandle) : ask.accountId;
  if (accountId === undefined) return undefined;
  const entry = await getPasskey(deps.kv, accountId, read.id);
  if (entry.value === null) return undefined;
  const publicKey = decodeBase64Url(entry.value.publicKey);
  if (publicKey === undefined) return undefined;
  const response: AuthenticationResponseJSON = {
    ...read,
    response: { ...signed, ...defined({ userHandle: userHandle ?? undefined }) },
    clientExtensionResults: {},
  };
  const { verifyAuthenticationResponse } = await library();
  const { rpID, origin } = partyOf(deps.baseUrl);
  const nowMs = deps.clock.nowMs();
  const { id, counter } = entry.value;
  const { act, holder } = ask;
  const result = await verifySigned(
    deps,
    { act, holder },
    (expectedChallenge) =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge,
        expectedOrigin: origin,
        expectedRPID: rpID,
        requireUserVerification: true,
        credential: { id, publicKey, counter },
      }),
  );
  if (result?.verified !== true) return undefined;
  const use = { counter: result.authenticationInfo.newCounter, nowMs };
  return await notePasskeyUse(deps.kv, entry, use) ? accountId : undefined;
}
