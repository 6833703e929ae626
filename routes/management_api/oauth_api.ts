/**
 * The endpoints by which applications get keys (OAuth 2.1): what this server is, registration of an application, and the
 * key for a code. The page of consent is `routes/dashboard/customer/keys/consent_page.tsx`.
 */
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { newId } from "../../core/lib/ids/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { parseWithinDepth } from "../../core/lib/json/exact_json.ts";
import {
  appScopes,
  clientIdOf,
  isRedirectUri,
  registeredApp,
} from "../../core/people/api_keys/app_request.ts";
import { type CodeRequest, redeemCode, type Redeemed } from "../acts/apps.ts";
import type { ActDeps } from "../acts/operation.ts";
import { readRequestBody } from "../http/body/request_body.ts";
import { withCommonHeaders } from "../http/own_headers.ts";
import type { ManagementDeps } from "./operation.ts";

/** Bytes of a body: five redirect URIs, or a code with its verifier. */
const maxBodyBytes = 16 * 1024;

/** Seconds for which a browser may keep the answer to a preflight request. */
const preflightSeconds = 86_400;

/** Needs of the endpoints. */
export type OAuthDeps = ActDeps & Pick<ManagementDeps, "clock" | "deadlines" | "baseUrl">;

interface Env {
  Bindings: { readonly clientAddress?: string };
}

/** An answer of the form of RFC 6749, 5.2. */
class OAuthError extends Error {
  override name = "OAuthError";
  readonly error: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    error: string,
    description: string,
    status = 400,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(description);
    this.error = error;
    this.status = status;
    this.headers = headers;
  }
}

/** Metadata of this server (RFC 8414). */
function metadata(baseUrl: string): JsonObject {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    registration_endpoint: `${baseUrl}/oauth/register`,
    scopes_supported: [...appScopes],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code"],
    token_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  };
}

async function bodyText(c: Context<Env>, { deadlines }: OAuthDeps): Promise<string> {
  const bytes = await readRequestBody(c.req.raw, deadlines, { maxBytes: maxBodyBytes });
  return new TextDecoder().decode(bytes);
}

async function jsonBody(c: Context<Env>, deps: OAuthDeps): Promise<JsonObject> {
  const text = await bodyText(c, deps);
  let json: unknown;
  try {
    json = parseWithinDepth(text, 0);
  } catch {
    throw new OAuthError("invalid_request", "The body is not JSON");
  }
  if (!isJsonObject(json)) throw new OAuthError("invalid_request", "The body is not an object");
  return json;
}

/** Registers an application (RFC 7591) without keeping anything: its client id says what it has said. */
async function register(c: Context<Env>, deps: OAuthDeps): Promise<Response> {
  const { client_name: name, redirect_uris: redirectUris } = await jsonBody(c, deps);
  const app = registeredApp({ name, redirectUris });
  if (app === undefined) {
    const isOfUris = !Array.isArray(redirectUris) ||
      !redirectUris.every((one) => typeof one === "string" && isRedirectUri(one));
    throw isOfUris
      ? new OAuthError(
        "invalid_redirect_uri",
        "redirect_uris must be https URLs, or http://127.0.0.1, http://[::1] or http://localhost with any port",
      )
      : new OAuthError(
        "invalid_client_metadata",
        "client_name must have 1 to 60 visible characters, redirect_uris 1 to 5 entries",
      );
  }
  return c.json({
    client_id: clientIdOf(app),
    client_id_issued_at: Math.floor(deps.clock.nowMs() / 1_000),
    client_name: app.name,
    redirect_uris: app.redirectUris,
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code"],
    response_types: ["code"],
  }, 201);
}

/** Redeems a code for a request; the errors are those of the form of RFC 6749. */
async function redeem(
  c: Context<Env>,
  deps: OAuthDeps,
  request: CodeRequest,
): Promise<Extract<Redeemed, { readonly ok: true }>> {
  const address = c.env?.clientAddress ?? "127.0.0.1";
  const redeemed = await redeemCode(deps, request, { address, nowMs: deps.clock.nowMs() });
  if (redeemed.ok) return redeemed;
  if (redeemed.error === "spent") {
    throw new OAuthError("temporarily_unavailable", "Too many requests; try again later", 429, {
      "retry-after": String(redeemed.retryAfterSeconds),
    });
  }
  throw new OAuthError(redeemed.error, redeemed.description);
}

/** Gives an application the key of its code. */
async function token(c: Context<Env>, deps: OAuthDeps): Promise<Response> {
  const type = c.req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/x-www-form-urlencoded") {
    throw new OAuthError("invalid_request", "The body must be application/x-www-form-urlencoded");
  }
  const form = new URLSearchParams(await bodyText(c, deps));
  const one = (name: string): string => {
    const [value = "", ...more] = form.getAll(name);
    if (more.length > 0) throw new OAuthError("invalid_request", `${name} is there twice`);
    if (value === "") throw new OAuthError("invalid_request", `${name} is missing`);
    return value;
  };
  if (one("grant_type") !== "authorization_code") {
    throw new OAuthError("unsupported_grant_type", "grant_type must be authorization_code");
  }
  const { made: { record, secret }, scopes } = await redeem(c, deps, {
    code: one("code"),
    verifier: one("code_verifier"),
    client: { clientId: one("client_id"), redirectUri: one("redirect_uri") },
  });
  const { expiresAtMs } = record;
  return c.json({
    access_token: secret,
    token_type: "Bearer",
    scope: scopes.join(" "),
    key_id: record.id,
    ...(expiresAtMs !== undefined && {
      expires_in: Math.floor((expiresAtMs - deps.clock.nowMs()) / 1_000),
    }),
  });
}

function textOf(value: Json | undefined, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new OAuthError("invalid_request", `${name} is missing`);
}

/** The same for tools that send their users to `/auth?callback_url=…`: they have no client id. */
async function keyForCode(c: Context<Env>, deps: OAuthDeps): Promise<Response> {
  const { code, code_verifier: verifier, code_challenge_method: method = "S256" } = await jsonBody(
    c,
    deps,
  );
  if (method !== "S256") {
    throw new OAuthError("invalid_request", "code_challenge_method must be S256");
  }
  const { made: { record, secret } } = await redeem(c, deps, {
    code: textOf(code, "code"),
    verifier: textOf(verifier, "code_verifier"),
  });
  return c.json({ key: secret, user_id: record.memberId ?? record.accountId });
}

/** Builds the endpoints. Mount them at `/`. */
export function createOAuthApi(deps: OAuthDeps): Hono<Env> {
  const app = new Hono<Env>();
  const endpoint = (
    method: "GET" | "POST",
    path: string,
    serve: (c: Context<Env>, deps: OAuthDeps) => Response | Promise<Response>,
  ) => {
    // Applications that are pages ask from their own origin; nothing here reads a cookie.
    app.use(path, cors({ allowMethods: [method], maxAge: preflightSeconds }));
    app.all(path, async (c) => {
      try {
        if (c.req.method !== method) {
          const wrong = `This path takes ${method}`;
          throw new OAuthError("invalid_request", wrong, 405, { allow: method });
        }
        return answered(deps, await serve(c, deps));
      } catch (error) {
        return answered(deps, refusal(error));
      }
    });
  };
  endpoint("GET", "/.well-known/oauth-authorization-server", (c) => c.json(metadata(deps.baseUrl)));
  endpoint("POST", "/oauth/register", register);
  endpoint("POST", "/oauth/token", token);
  endpoint("POST", "/api/v1/auth/keys", keyForCode);
  return app;
}

function answered({ clock }: OAuthDeps, response: Response): Response {
  response.headers.set("cache-control", "no-store");
  return withCommonHeaders(response, newId("request", clock.nowMs()));
}

/** The answer to an error. */
function refusal(error: unknown): Response {
  if (error instanceof OAuthError) {
    const { error: code, message, status, headers } = error;
    return Response.json({ error: code, error_description: message }, { status, headers });
  }
  if (!(error instanceof GatewayError)) throw error;
  const code = error.status < 500 ? "invalid_request" : "temporarily_unavailable";
  return Response.json(
    { error: code, error_description: error.message },
    { status: error.status },
  );
}
