/**
 * Signs people in at an OpenID provider: authorization code flow with PKCE, state, nonce and a
 * verified id token.
 *
 * - Folder `routes/auth/`: how people prove who they are: passwords, OpenID providers, one-time codes, passkeys, budgets
 *   of tries.
 * - In: passwords, answers of OpenID providers, addresses of browsers.
 * - Out: verified claims, hashes, verdicts on tries.
 * - Never: opens a session: `routes/dashboard/customer/sign_in/` does.
 */
import * as oauth from "oauth4webapi";
import type { Clock } from "../../core/lib/time/clock.ts";
import { callbackPathOf, type SignInProvider } from "../../core/config/sign_in_providers.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { hourMs } from "../../core/lib/time/durations.ts";

/** Milliseconds of one request to an OpenID provider: a person is waiting. */
const openIdMs = 10_000;

/** Path to which OpenID providers, those of organisations included, send people back. */
export const callbackPath = callbackPathOf("openid");

/** A configured provider. Its address is http only on this machine. */
export type OpenIdSettings = Omit<SignInProvider, "id">;

/** The secrets of one sign-in, kept by the gateway while the person is at the provider. */
export interface OpenIdSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The person, as the provider's claims describe them. */
export interface OpenIdClaims {
  readonly issuer: string;
  readonly subject: string;
  /** The address, if the provider has verified it. */
  readonly verifiedEmail: string | undefined;
}

/** Sign-in at one provider. */
export interface OpenIdClient {
  readonly label: string;
  /**
   * The address at the provider to redirect the person to.
   *
   * @throws {Error} if the provider's metadata cannot be read
   */
  begin(secrets: OpenIdSecrets, redirectUri: string): Promise<URL>;
  /**
   * Verifies the provider's answer and reads the person's claims.
   *
   * @throws {Error} of oauth4webapi if anything is wrong; its text is for the log only
   */
  finish(callback: URL, secrets: OpenIdSecrets, redirectUri: string): Promise<OpenIdClaims>;
}

/** Time until the provider's metadata is fetched again: its endpoints and keys change rarely. */
const discoveryMs = hourMs;

function isLoopback(url: URL): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
}

/** The provider's metadata with the client that oauth4webapi uses for it. */
interface Provider {
  readonly settings: OpenIdSettings;
  readonly client: oauth.Client;
  readonly request: ReturnType<typeof requestOptions>;
  /** Reads the provider's metadata, at most once an hour. */
  discover(): Promise<oauth.AuthorizationServer>;
}

/** Bytes of an answer of a provider: its metadata, its keys, or what it says of a person, each a few KB. */
const maxProviderAnswerBytes = 256 * 1024;

/** Reads an answer to its end, so that its connection is free again, whether anybody looks at the body or not. */
async function whole({ body, status, headers }: Response): Promise<Response> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > maxProviderAnswerBytes) {
      throw new TypeError("The answer of the provider is too long");
    }
    chunks.push(chunk);
  }
  return new Response(bytes === 0 ? null : new Blob(chunks), { status, headers });
}

/** Options of requests to a provider: bounded in time, and over TLS unless it is on this machine. */
export function requestOptions(issuer: URL, fetchNow: typeof fetch) {
  return {
    [oauth.customFetch]: async (
      url: string,
      options: oauth.CustomFetchOptions<string, BodyInit | undefined>,
    ) =>
      await whole(
        await fetchNow(url, {
          method: options.method,
          headers: options.headers,
          redirect: options.redirect,
          ...defined({ body: options.body, signal: options.signal }),
        }),
      ),
    [oauth.allowInsecureRequests]: issuer.protocol === "http:" && isLoopback(issuer),
    signal: () => AbortSignal.timeout(openIdMs),
  };
}

function providerOf(
  settings: OpenIdSettings,
  world: { readonly fetch: typeof fetch; readonly clock: Clock },
): Provider {
  const issuer = new URL(settings.issuer);
  const request = requestOptions(issuer, world.fetch);
  let known: { server: oauth.AuthorizationServer; atMs: number } | undefined;
  return {
    settings,
    client: { client_id: settings.clientId },
    request,
    async discover() {
      const nowMs = world.clock.monotonicMs();
      if (known !== undefined && nowMs < known.atMs + discoveryMs) return known.server;
      const response = await oauth.discoveryRequest(issuer, request);
      const server = await oauth.processDiscoveryResponse(issuer, response);
      known = { server, atMs: nowMs };
      return server;
    },
  };
}

/** Builds the address of the provider's sign-in page. */
async function authorizationUrl(
  { settings, discover }: Provider,
  secrets: OpenIdSecrets,
  redirectUri: string,
): Promise<URL> {
  const server = await discover();
  if (server.authorization_endpoint === undefined) {
    throw new TypeError("Cannot sign in with OpenID: the issuer has no authorization endpoint");
  }
  return await codeUrl(server.authorization_endpoint, {
    client_id: settings.clientId,
    redirect_uri: redirectUri,
    scope: "openid email",
    state: secrets.state,
    nonce: secrets.nonce,
  }, secrets);
}

/** Builds the address at which a person allows that a code is given out, bound to the verifier (PKCE). */
export async function codeUrl(
  endpoint: string,
  parameters: Readonly<Record<string, string>>,
  { codeVerifier }: Pick<OpenIdSecrets, "codeVerifier">,
): Promise<URL> {
  const url = new URL(endpoint);
  const all = {
    ...parameters,
    response_type: "code",
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url;
}

/**
 * Valid subject identifiers (OpenID Connect Core 1.0, section 2). A longer one fits into no key of
 * the store.
 */
function isSubject(subject: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(subject);
}

/** Exchanges the code of the provider's redirect for the person's claims. */
async function exchangeCode(
  { settings, client, request, discover }: Provider,
  callback: URL,
  secrets: OpenIdSecrets,
  redirectUri: string,
) {
  const server = await discover();
  const parameters = oauth.validateAuthResponse(server, client, callback, secrets.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic(settings.clientSecret),
    parameters,
    redirectUri,
    secrets.codeVerifier,
    request,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: secrets.nonce,
    requireIdToken: true,
  });
  const idToken = oauth.getValidatedIdTokenClaims(tokens);
  if (idToken === undefined) {
    throw new TypeError("Cannot sign in with OpenID: no id token came");
  }
  // The claims are verified above; this verifies the signature with the keys that the issuer
  // publishes.
  await oauth.validateApplicationLevelSignature(server, response, request);
  if (!isSubject(idToken.sub)) {
    throw new TypeError("Cannot sign in with OpenID: the subject is not 1 to 255 ASCII characters");
  }
  return { server, idToken, accessToken: tokens.access_token };
}

/** Reads the address from the id token if it is there, otherwise from the user info endpoint. */
async function userInfo(
  { client, request }: Provider,
  { server, idToken, accessToken }: Awaited<ReturnType<typeof exchangeCode>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (idToken["email"] !== undefined || server.userinfo_endpoint === undefined) return idToken;
  const response = await oauth.userInfoRequest(server, client, accessToken, request);
  return await oauth.processUserInfoResponse(server, client, idToken.sub, response);
}

/**
 * Whether an address is written in one way only. Another account may be behind a form that only becomes the same address,
 * such as letters of full width: the provider tells both apart, and proves nothing for the other one.
 */
export function isNormalForm(email: unknown): email is string {
  return typeof email === "string" && email.normalize("NFKC").trim() === email;
}

/** Creates a client. It contacts the provider at the first sign-in, not before. */
export function createOpenIdClient(
  settings: OpenIdSettings,
  world: { readonly fetch: typeof fetch; readonly clock: Clock },
): OpenIdClient {
  const provider = providerOf(settings, world);
  return {
    label: settings.label,
    begin: (secrets, redirectUri) => authorizationUrl(provider, secrets, redirectUri),
    async finish(callback, secrets, redirectUri) {
      const exchanged = await exchangeCode(provider, callback, secrets, redirectUri);
      const { idToken } = exchanged;
      const person = await userInfo(provider, exchanged);
      return {
        issuer: idToken.iss,
        subject: idToken.sub,
        verifiedEmail: person["email_verified"] === true && isNormalForm(person["email"])
          ? person["email"]
          : undefined,
      };
    },
  };
}
