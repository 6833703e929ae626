/**
 * Signs people in at GitHub, which is no OpenID provider: OAuth 2 with PKCE and state, then its API says who it is.
 *
 * https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 */
import * as oauth from "oauth4webapi";
import { z } from "zod";
import {
  codeUrl,
  isNormalForm,
  type OpenIdClient,
  type OpenIdSettings,
  requestOptions,
} from "./openid.ts";

const user = z.object({ id: z.int().positive() });

const emails = z.array(
  z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }),
);

/** Returns the address of GitHub's API: of a GitHub Enterprise Server, a path of its own. */
function gitHubApi(origin: string): string {
  return origin === "https://github.com" ? "https://api.github.com" : `${origin}/api/v3`;
}

/** Metadata that GitHub would publish of itself, were it an OpenID provider. */
function serverOf(origin: string) {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/login/oauth/authorize`,
    token_endpoint: `${origin}/login/oauth/access_token`,
  } satisfies oauth.AuthorizationServer;
}

/** Creates a client. Of the person's addresses only the primary one counts, and only if GitHub has verified it. */
export function createGitHubClient(
  settings: OpenIdSettings,
  world: { readonly fetch: typeof fetch },
): OpenIdClient {
  const server = serverOf(settings.issuer);
  const client: oauth.Client = { client_id: settings.clientId };
  const request = requestOptions(new URL(settings.issuer), world.fetch);
  const read = async <Value>(path: string, token: string, schema: z.ZodType<Value>) => {
    const url = new URL(gitHubApi(settings.issuer) + path);
    const response = await request[oauth.customFetch](url.href, {
      method: "GET",
      headers: {
        accept: "application/vnd.github+json",
        authorization: `Bearer ${token}`,
        "user-agent": "model-gateway",
        "x-github-api-version": "2022-11-28",
      },
      redirect: "manual",
      body: undefined,
      signal: request.signal(),
    });
    if (response.status !== 200) {
      throw new TypeError(`GitHub answers ${path} with status ${response.status}`);
    }
    return schema.parse(await response.json());
  };
  return {
    label: settings.label,
    begin: (secrets, redirectUri) =>
      codeUrl(server.authorization_endpoint, {
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: "read:user user:email",
        state: secrets.state,
      }, secrets),
    async finish(callback, secrets, redirectUri) {
      const parameters = oauth.validateAuthResponse(server, client, callback, secrets.state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.ClientSecretPost(settings.clientSecret),
        parameters,
        redirectUri,
        secrets.codeVerifier,
        request,
      );
      const { access_token } = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        response,
      );
      const { id } = await read("/user", access_token, user);
      const addresses = await read("/user/emails", access_token, emails);
      const [primary, ...others] = addresses.filter(({ primary }) => primary);
      const isProven = primary?.verified === true && others.length === 0 &&
        isNormalForm(primary.email);
      return {
        issuer: settings.issuer,
        subject: String(id),
        verifiedEmail: isProven ? primary.email : undefined,
      };
    },
  };
}
