/** An application with the newest OAuth client, and a person with a browser, in front of pages and endpoints. */
import * as oauth from "oauth4webapi";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createOAuthApi } from "../../../routes/management_api/oauth_api.ts";
import type { TestBrowser } from "../browser/test_browser.ts";
import { openDashboardWorld } from "./dashboard_world.ts";

/** Where the application of most tests gets its answers. */
export const callback = "http://127.0.0.1:43117/callback";

/** What an application keeps between its request and the answer. */
export interface Asked {
  readonly url: URL;
  readonly verifier: string;
  readonly state: string;
}

/** Opens the world with one registered application. */
export async function openAppWorld() {
  const world = await openDashboardWorld();
  const { time } = world;
  const deadlines = new Deadlines({ clock: time, timer: time });
  const api = createOAuthApi({ ...world.deps, deadlines });
  const send = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const isApi = api.routes.some(({ path }) => path === pathname);
    return await (isApi ? api.fetch(request) : world.fetch(request));
  };
  const options = {
    [oauth.customFetch]: async (
      url: string,
      { body, headers, method, redirect }: oauth.CustomFetchOptions<string, BodyInit | undefined>,
    ) => await send(new Request(url, { headers, method, redirect, body: body ?? null })),
  };
  const issuer = new URL(world.baseUrl);
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: "oauth2" });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const register = async (metadata: Partial<oauth.Client>): Promise<oauth.Client> => {
    const answer = await oauth.dynamicClientRegistrationRequest(server, metadata, options);
    return await oauth.processDynamicClientRegistrationResponse(answer);
  };
  const client = await register({
    client_name: "Trợ lý mã",
    redirect_uris: ["http://127.0.0.1/callback"],
  });

  /** Makes a request for a key. */
  const ask = async (redirectUri = callback, scope = "calls", by = client): Promise<Asked> => {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint ?? "");
    url.search = new URLSearchParams({
      client_id: by.client_id,
      redirect_uri: redirectUri,
      response_type: "code",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      scope,
      state,
    }).toString();
    return { url, verifier, state };
  };
  /** Opens the page of a request as a person, and allows it. */
  const allow = async (
    browser: TestBrowser,
    { url }: Asked,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<URL> => {
    const page = await browser.get(url.pathname + url.search);
    const { headers, status, text } = await browser.submit(page, "/oauth/authorize", fields);
    const location = headers.get("location");
    if (location === null) throw new Error(`${status} ${text}`);
    return new URL(location);
  };
  /** Redeems the code of an answer as the application does. */
  const redeem = async (
    { state, verifier }: Asked,
    answer: URL,
    redirectUri = callback,
    by = client,
  ): Promise<oauth.TokenEndpointResponse> => {
    const params = oauth.validateAuthResponse(server, by, answer, state);
    const sent = await oauth.authorizationCodeGrantRequest(
      server,
      by,
      oauth.None(),
      params,
      redirectUri,
      verifier,
      options,
    );
    return await oauth.processAuthorizationCodeResponse(server, by, sent);
  };
  /** Posts to an endpoint without the client. */
  const post = async (path: string, body: URLSearchParams | Readonly<Record<string, unknown>>) => {
    const isForm = body instanceof URLSearchParams;
    const response = await send(
      new Request(world.baseUrl + path, {
        method: "POST",
        body: isForm ? body : JSON.stringify(body),
        headers: isForm ? {} : { "content-type": "application/json" },
      }),
    );
    return { status: response.status, body: await response.json() };
  };
  return {
    ...world,
    send,
    server,
    client,
    register,
    ask,
    allow,
    redeem,
    post,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
