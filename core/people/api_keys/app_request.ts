/**
 * Requests of applications for an API key of their user: the authorisation request of OAuth 2.1 with PKCE. The store
 * keeps no applications, so nobody can fill it with them: a client id encodes the name and the redirect URIs that the
 * application gave. Nothing of this is verified but the address to which the code goes.
 */
import { maxNameChars, parseName } from "../../lib/base/names.ts";
import { sha256 } from "../../lib/hash/sha256.ts";
import { decodeBase64Url, encodeBase64Url, parseUrl } from "../../lib/runtime/built_ins.ts";

/** Most redirect URIs of an application: production, staging and machines of developers. */
export const maxRedirectUris = 5;
/** Most characters of a redirect URI: five of them still fit into the address of a page. */
const maxRedirectUriChars = 512;
/** Most characters of `state`: clients keep a random text there, some of them a signed one. */
const maxStateChars = 1_024;

const clientIdPrefix = "app_";
const loopbackHosts: readonly string[] = ["127.0.0.1", "[::1]", "localhost"];
/** Parameters of answers, which a redirect URI must not have itself. */
const answerParameters: readonly string[] = [
  "code",
  "state",
  "iss",
  "error",
  "error_description",
  "error_uri",
];

/** An application as it says of itself. */
export interface App {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

/** The rights for which an application can ask. */
export const appScopes = ["calls", "usage"] as const;

/** `calls`: calls of models. `usage`: reads balance, usage and receipts of the whole organisation. */
export type AppScope = typeof appScopes[number];

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === "http:" && loopbackHosts.includes(hostname);
}

/**
 * Reads a redirect URI: `https`, or a port of the user's own machine (RFC 8252, 7.3). It is refused unless it is written
 * as the parser writes it: then a browser cannot read another host in it.
 */
function readRedirectUri(text: string): URL | undefined {
  const url = text.length > maxRedirectUriChars ? null : parseUrl(text);
  if (url === null || (url.href !== text && url.href !== `${text}/`)) return undefined;
  const isPlain = url.username === "" && url.password === "" && !text.includes("#");
  const isOurs = answerParameters.some((name) => url.searchParams.has(name));
  return isPlain && !isOurs && (url.protocol === "https:" || isLoopback(url)) ? url : undefined;
}

/** Whether an application can have a redirect URI. */
export function isRedirectUri(text: string): boolean {
  return readRedirectUri(text) !== undefined;
}

/** A redirect URI without what may differ from the registered one: a program takes any free port of its machine. */
function comparable(text: string): string | undefined {
  const url = readRedirectUri(text);
  if (url === undefined) return undefined;
  if (isLoopback(url)) url.port = "";
  return url.href;
}

/** Whether an application may get its answers at an address. */
export function mayRedirectTo({ redirectUris }: App, text: string): boolean {
  const asked = comparable(text);
  return asked !== undefined && redirectUris.some((one) => comparable(one) === asked);
}

/**
 * Writes the client id of an application.
 *
 * @example
 * ```ts
 * import { appOf, clientIdOf } from "./app_request.ts";
 * const id = clientIdOf({ name: "Editor", redirectUris: ["http://127.0.0.1/callback"] });
 * if (appOf(id)?.name !== "Editor" || appOf(`${id}A`) !== undefined) throw new Error(id);
 * ```
 */
export function clientIdOf({ name, redirectUris }: App): string {
  const text = JSON.stringify([name, ...redirectUris]);
  return `${clientIdPrefix}${encodeBase64Url(new TextEncoder().encode(text))}`;
}

/** Reads a client id; `undefined` for anything that {@linkcode clientIdOf} does not write. */
export function appOf(clientId: string): App | undefined {
  if (!clientId.startsWith(clientIdPrefix)) return undefined;
  const bytes = decodeBase64Url(clientId.slice(clientIdPrefix.length));
  if (bytes === undefined) return undefined;
  let said: unknown;
  try {
    said = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
  if (!Array.isArray(said)) return undefined;
  const [name, ...redirectUris]: unknown[] = said;
  const app = registeredApp({ name, redirectUris });
  return app !== undefined && clientIdOf(app) === clientId ? app : undefined;
}

/** Reads what an application says of itself; `undefined` if that is no name, or not one to five redirect URIs. */
export function registeredApp(
  { name, redirectUris }: { readonly name: unknown; readonly redirectUris: unknown },
): App | undefined {
  const parsed = typeof name === "string" ? parseName(name) : undefined;
  if (parsed === undefined || !Array.isArray(redirectUris)) return undefined;
  const uris = redirectUris.filter((one) => typeof one === "string" && isRedirectUri(one));
  const isWhole = uris.length === redirectUris.length && uris.length >= 1 &&
    uris.length <= maxRedirectUris;
  return isWhole ? { name: parsed, redirectUris: uris } : undefined;
}

/** The name of an application that says nothing but its address: the end of a long host, which says whose it is. */
function addressName({ host }: URL): string {
  return host.slice(-maxNameChars);
}

/** The application that is known by its address alone, as tools are that send their users with a `callback_url`. */
export function appAt(callbackUrl: string): App | undefined {
  const url = readRedirectUri(callbackUrl);
  return url && registeredApp({ name: addressName(url), redirectUris: [callbackUrl] });
}

/** Whether an application is known by its address alone. */
export function isKnownByAddress({ name, redirectUris: [uri = "", ...more] }: App): boolean {
  const url = readRedirectUri(uri);
  return url !== undefined && more.length === 0 && name === addressName(url);
}

/** The host to which a code goes, or `undefined` for a program on the machine of the user. */
export function hostOf(redirectUri: string): string | undefined {
  const url = readRedirectUri(redirectUri);
  return url === undefined || isLoopback(url) ? undefined : url.host;
}

/** Source of a form's target for a Content Security Policy, which cannot name a host that is an IPv6 address. */
export function formTargetOf(redirectUri: string): string {
  const { origin, protocol, hostname } = new URL(redirectUri);
  return hostname.startsWith("[") ? protocol : origin;
}

/** Error codes that the redirect URI of an application receives (RFC 6749, section 4.1.2.1). */
export type AppRequestError =
  | "invalid_request"
  | "unsupported_response_type"
  | "invalid_scope"
  | "access_denied";

/** A request whose client and redirect URI are right. */
export interface AppCaller {
  readonly clientId: string;
  readonly app: App;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

/** A request that a person can allow. */
export interface AskedKey extends AppCaller {
  readonly challenge: string;
  readonly scopes: readonly AppScope[];
}

/** A request as it is read. */
export type AppRequest =
  | { readonly kind: "asked"; readonly asked: AskedKey }
  /** Invalid, from a known application: the page offers a link that reports the error to it. */
  | {
    readonly kind: "wrong";
    readonly caller: AppCaller;
    readonly error: AppRequestError;
    readonly description: string;
  }
  /** The client id is malformed, or the redirect URI is not one of its own: the browser is not sent there. */
  | { readonly kind: "unknown"; readonly parameter: "client_id" | "redirect_uri" };

/** Whether a text is the SHA-256 of a code verifier. */
export function isChallenge(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** Whether a code verifier is that of a challenge (RFC 7636, S256). */
export async function isVerifierOf(challenge: string, verifier: string): Promise<boolean> {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  return encodeBase64Url(await sha256(verifier)) === challenge;
}

/** Names of the parameters of a request, which its form repeats. */
export const appRequestParameters = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "code_challenge",
  "code_challenge_method",
  "scope",
  "state",
] as const;

/** Reads an authorisation request. A parameter without a value counts as absent. */
export function readAppRequest(query: URLSearchParams): AppRequest {
  const all = (name: string) => query.getAll(name);
  const one = (name: string) => all(name)[0] || undefined;
  const clientId = all("client_id").length === 1 ? one("client_id") : undefined;
  const app = clientId === undefined ? undefined : appOf(clientId);
  if (clientId === undefined || app === undefined) {
    return { kind: "unknown", parameter: "client_id" };
  }
  const redirectUri = all("redirect_uri").length === 1 ? one("redirect_uri") : undefined;
  if (redirectUri === undefined || !mayRedirectTo(app, redirectUri)) {
    return { kind: "unknown", parameter: "redirect_uri" };
  }
  const sentState = all("state").length === 1 ? one("state") : undefined;
  const isStateShort = (sentState?.length ?? 0) <= maxStateChars;
  const caller = { clientId, app, redirectUri, state: isStateShort ? sentState : undefined };
  const wrong = (error: AppRequestError, description: string) =>
    ({ kind: "wrong", caller, error, description }) as const;
  const twice = appRequestParameters.find((name) => all(name).length > 1);
  if (twice !== undefined) return wrong("invalid_request", `${twice} is there twice`);
  if (!isStateShort) return wrong("invalid_request", "state is too long");
  if (one("response_type") === undefined) {
    return wrong("invalid_request", "response_type is missing");
  }
  if (one("response_type") !== "code") {
    return wrong("unsupported_response_type", "response_type must be code");
  }
  if ((one("response_mode") ?? "query") !== "query") {
    return wrong("invalid_request", "response_mode must be query");
  }
  const challenge = one("code_challenge");
  if (challenge === undefined || !isChallenge(challenge)) {
    return wrong("invalid_request", "code_challenge must be the SHA-256 of a verifier (PKCE)");
  }
  if (one("code_challenge_method") !== "S256") {
    return wrong("invalid_request", "code_challenge_method must be S256");
  }
  const scopes = scopesOf(one("scope"));
  return scopes.length === 0
    ? wrong("invalid_scope", `scope must have one of ${appScopes.join(", ")}`)
    : { kind: "asked", asked: { ...caller, challenge, scopes } };
}

/** The scopes of a request that this server has; those of other servers grant nothing and are left out. */
function scopesOf(text: string | undefined): readonly AppScope[] {
  const sent = text === undefined ? ["calls"] : text.split(" ");
  // A key without calls would be no use to anybody.
  const isAny = appScopes.some((scope) => sent.includes(scope));
  return isAny ? appScopes.filter((scope) => scope === "calls" || sent.includes(scope)) : [];
}

/** The address at which an application gets an answer, with its `state` and who answers (RFC 9207). */
export function answerUri(
  { redirectUri, state }: Pick<AppCaller, "redirectUri" | "state">,
  issuer: string,
  answer: Readonly<Record<string, string>>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(answer)) url.searchParams.append(name, value);
  if (state !== undefined) url.searchParams.append("state", state);
  url.searchParams.append("iss", issuer);
  return url.href;
}
