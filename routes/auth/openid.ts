/**
 * Sign-in at any OpenID provider by oauth4webapi: authorization code with PKCE, state, nonce and a verified id token.
 *
 * - Folder `routes/auth/`: how people prove who they are: passwords, OpenID providers, budgets of
 *   tries.
 * - In: passwords, answers of OpenID providers, addresses of browsers.
 * - Out: verified claims, hashes, verdicts on tries.
 * - Never: opens a session: `routes/dashboard/sign_in/` does.
 */
import * as oauth from "oauth4webapi";
import type { Clock } from "../../core/lib/time/clock.ts";

/** Milliseconds of one request to an OpenID provider: a person is waiting. */
const openIdMs = 10_000;

export interface OpenIdSettings {
  /** `https://accounts.example.com`; http only for an issuer on this machine. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Stands on the button: `Continue with <label>`. */
  readonly label: string;
}

/** Secrets of one sign-in, kept on our side while the person is at the provider. */
export interface OpenIdSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** Who the provider says it is. */
export interface OpenIdClaims {
  readonly issuer: string;
  readonly subject: string;
  /** Only an address that the provider has verified itself. */
  readonly verifiedEmail: string | undefined;
}

export interface OpenIdClient {
  readonly label: string;
  /** Where to send the person. */
  begin(secrets: OpenIdSecrets, redirectUri: string): Promise<URL>;
  /**
   * Checks what came back and fetches who it is.
   *
   * @throws {Error} of oauth4webapi if anything is wrong; its text is for the log only
   */
  finish(callback: URL, secrets: OpenIdSecrets, redirectUri: string): Promise<OpenIdClaims>;
}

/** The provider's endpoints and keys change rarely. */
const discoveryMs = 3_600_000;

function isLoopback(url: URL): boolean {
  return ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
}

/** The provider as oauth4webapi wants to be told of it with every request. */
interface Provider {
  readonly settings: OpenIdSettings;
  readonly client: oauth.Client;
  readonly request: ReturnType<typeof requestOptions>;
  /** Its endpoints and keys, asked for once an hour. */
  discover(): Promise<oauth.AuthorizationServer>;
}

function requestOptions(issuer: URL, fetchNow: typeof fetch) {
  return {
    [oauth.customFetch]: (
      url: string,
      options: oauth.CustomFetchOptions<string, BodyInit | undefined>,
    ) =>
      fetchNow(url, {
        method: options.method,
        headers: options.headers,
        redirect: options.redirect,
        ...(options.body !== undefined && { body: options.body }),
        ...(options.signal !== undefined && { signal: options.signal }),
      }),
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

/** Where the person signs in at the provider. */
async function authorizationUrl(
  { settings, discover }: Provider,
  secrets: OpenIdSecrets,
  redirectUri: string,
): Promise<URL> {
  const server = await discover();
  if (server.authorization_endpoint === undefined) {
    throw new TypeError("Cannot sign in with OpenID: the issuer has no authorization endpoint");
  }
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: settings.clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid email",
    state: secrets.state,
    nonce: secrets.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(secrets.codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url;
}

/** What a subject identifier may be (OpenID Connect Core 1.0, section 2); a longer one fits into no key of the store. */
function isSubject(subject: string): boolean {
  return /^[\x20-\x7e]{1,255}$/.test(subject);
}

/** What came back from the provider: the code, exchanged for who it stands for. */
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
  // The claims are checked above; this checks the signature, by the keys that the issuer publishes.
  await oauth.validateApplicationLevelSignature(server, response, request);
  if (!isSubject(idToken.sub)) {
    throw new TypeError("Cannot sign in with OpenID: the subject is not 1 to 255 ASCII characters");
  }
  return { server, idToken, accessToken: tokens.access_token };
}

/** The id token often names the address already; otherwise the user info endpoint does. */
async function userInfo(
  { client, request }: Provider,
  { server, idToken, accessToken }: Awaited<ReturnType<typeof exchangeCode>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (idToken["email"] !== undefined || server.userinfo_endpoint === undefined) return idToken;
  const response = await oauth.userInfoRequest(server, client, accessToken, request);
  return await oauth.processUserInfoResponse(server, client, idToken.sub, response);
}

/** Makes a client. Nothing is asked of the provider before the first sign-in. */
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
        verifiedEmail: person["email_verified"] === true && typeof person["email"] === "string"
          ? person["email"]
          : undefined,
      };
    },
  };
}
