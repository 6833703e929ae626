/** Sign-in at any OpenID provider by oauth4webapi: authorization code with PKCE, state and nonce. */
import * as oauth from "oauth4webapi";
import type { Clock } from "../../core/clock.ts";
import { limits } from "../../core/limits.ts";

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

/** Makes a client. Nothing is asked of the provider before the first sign-in. */
export function createOpenIdClient(
  settings: OpenIdSettings,
  world: { readonly fetch: typeof fetch; readonly clock: Clock },
): OpenIdClient {
  const issuer = new URL(settings.issuer);
  const client: oauth.Client = { client_id: settings.clientId };
  const authentication = oauth.ClientSecretBasic(settings.clientSecret);
  const request = {
    [oauth.customFetch]: (
      url: string,
      options: oauth.CustomFetchOptions<string, BodyInit | undefined>,
    ) =>
      world.fetch(url, {
        method: options.method,
        headers: options.headers,
        redirect: options.redirect,
        ...(options.body !== undefined && { body: options.body }),
        ...(options.signal !== undefined && { signal: options.signal }),
      }),
    [oauth.allowInsecureRequests]: issuer.protocol === "http:" && isLoopback(issuer),
    signal: () => AbortSignal.timeout(limits.openIdMs),
  };
  let known: { server: oauth.AuthorizationServer; atMs: number } | undefined;

  async function discover(): Promise<oauth.AuthorizationServer> {
    const nowMs = world.clock.monotonicMs();
    if (known !== undefined && nowMs < known.atMs + discoveryMs) return known.server;
    const response = await oauth.discoveryRequest(issuer, request);
    const server = await oauth.processDiscoveryResponse(issuer, response);
    known = { server, atMs: nowMs };
    return server;
  }

  return {
    label: settings.label,

    async begin(secrets, redirectUri) {
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
    },

    async finish(callback, secrets, redirectUri) {
      const server = await discover();
      const parameters = oauth.validateAuthResponse(server, client, callback, secrets.state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
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
      const person = await userInfo(server, tokens.access_token, idToken);
      return {
        issuer: idToken.iss,
        subject: idToken.sub,
        verifiedEmail: person["email_verified"] === true && typeof person["email"] === "string"
          ? person["email"]
          : undefined,
      };
    },
  };

  /** The id token often names the address already; otherwise the user info endpoint does. */
  async function userInfo(
    server: oauth.AuthorizationServer,
    accessToken: string,
    idToken: oauth.IDToken,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (idToken["email"] !== undefined || server.userinfo_endpoint === undefined) return idToken;
    const response = await oauth.userInfoRequest(server, client, accessToken, request);
    return await oauth.processUserInfoResponse(server, client, idToken.sub, response);
  }
}
