/** The endpoints by which applications get keys, in the document. */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { count, listOf, objectSchema, text } from "../../core/lib/json/schemas.ts";
import { appScopes, clientIdOf, maxRedirectUris } from "../../core/people/api_keys/app_request.ts";
import { jsonAnswer, type Operation, type OperationAnswer } from "./operation.ts";

const member = (name: string, schema: JsonObject, isOptional?: true) => ({
  name,
  schema,
  isRequired: isOptional !== true,
});

const refused = (status: 400 | 429, description: string): OperationAnswer => ({
  status,
  ...jsonAnswer(description, "OAuthError"),
});

const wrong = refused(400, "Refused; `error` is a word of RFC 6749, 5.2, or RFC 7591, 3.2.2.");
const tooMany = refused(429, "Too many codes from one network address.");

const common = { tag: "Applications", errorStyle: "chat", errors: [], isPublic: true } as const;

const redirectUri = "http://127.0.0.1/callback";
const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const redirectUris: JsonObject = {
  ...listOf({ type: "string", format: "uri" }),
  minItems: 1,
  maxItems: maxRedirectUris,
};
const verifierSchema: JsonObject = { type: "string", pattern: "^[A-Za-z0-9_.~-]{43,128}$" };

/** The operations. */
export const appOperations: readonly Operation[] = [
  {
    ...common,
    id: "getAuthorizationServer",
    method: "get",
    path: "/.well-known/oauth-authorization-server",
    summary: "What the authorisation server is",
    description: "Metadata of RFC 8414.",
    answers: [jsonAnswer("The metadata.", "AuthorizationServer")],
  },
  {
    ...common,
    id: "registerApplication",
    method: "post",
    path: "/oauth/register",
    summary: "Register an application",
    description:
      "RFC 7591, for public clients. Redirect URIs are `https`, or `http` on the user's own machine with any port. The " +
      "client id says what was registered, nothing is kept: register once, and ship the id.",
    body: {
      schema: objectSchema("An application.", [
        member("client_name", { type: "string", minLength: 1, maxLength: 60 }),
        member("redirect_uris", redirectUris),
      ]),
      example: { client_name: "Editor", redirect_uris: [redirectUri] },
    },
    answers: [{ status: 201, ...jsonAnswer("The client.", "RegisteredApplication") }, wrong],
  },
  {
    ...common,
    id: "redeemCode",
    method: "post",
    path: "/oauth/token",
    summary: "Get the key of a code",
    description:
      "`access_token` is an API key of the person who gave consent, with the budget and the end that they chose. A code " +
      "works once, for two minutes; a second use revokes the key.",
    body: {
      schema: objectSchema("A code.", [
        member("grant_type", { type: "string", const: "authorization_code" }),
        member("code", text),
        member("code_verifier", verifierSchema),
        member("client_id", text),
        member("redirect_uri", text),
      ]),
      types: ["application/x-www-form-urlencoded"],
      example: {
        grant_type: "authorization_code",
        code: "from-the-redirect",
        code_verifier: verifier,
        client_id: clientIdOf({ name: "Editor", redirectUris: [redirectUri] }),
        redirect_uri: redirectUri,
      },
    },
    answers: [jsonAnswer("The key.", "ApplicationKey"), wrong, tooMany],
  },
  {
    ...common,
    id: "redeemCodeOfCallback",
    method: "post",
    path: "/api/v1/auth/keys",
    summary: "Get the key of a code, as tools for OpenRouter do",
    description:
      "For codes of `/auth?callback_url=…&code_challenge=…&code_challenge_method=S256`, which have no client id.",
    body: {
      schema: objectSchema("A code.", [
        member("code", text),
        member("code_verifier", verifierSchema),
        member("code_challenge_method", { type: "string", const: "S256" }, true),
      ]),
      example: { code: "from-the-redirect", code_verifier: verifier },
    },
    answers: [jsonAnswer("The key.", "CallbackKey"), wrong, tooMany],
  },
];

const texts: JsonObject = listOf(text);
const scope: JsonObject = { ...text, description: `Some of: ${appScopes.join(", ")}.` };

/** The schemas of their answers. */
export const appSchemas: Readonly<Record<string, JsonObject>> = {
  OAuthError: objectSchema("Why a request of an application was refused.", [
    member("error", text),
    member("error_description", text),
  ]),
  AuthorizationServer: objectSchema("Metadata of the authorisation server.", [
    member("issuer", text),
    member("authorization_endpoint", text),
    member("token_endpoint", text),
    member("registration_endpoint", text),
    member("scopes_supported", texts),
    member("response_types_supported", texts),
    member("response_modes_supported", texts),
    member("grant_types_supported", texts),
    member("token_endpoint_auth_methods_supported", texts),
    member("code_challenge_methods_supported", texts),
    member("authorization_response_iss_parameter_supported", { type: "boolean" }),
  ]),
  RegisteredApplication: objectSchema("A registered application.", [
    member("client_id", text),
    member("client_id_issued_at", count),
    member("client_name", text),
    member("redirect_uris", redirectUris),
    member("token_endpoint_auth_method", { type: "string", const: "none" }),
    member("grant_types", texts),
    member("response_types", texts),
  ]),
  ApplicationKey: objectSchema("An API key for an application.", [
    member("access_token", text),
    member("token_type", { type: "string", const: "Bearer" }),
    member("scope", scope),
    member("key_id", text),
    member("expires_in", count, true),
  ]),
  CallbackKey: objectSchema("An API key for an application without a client id.", [
    member("key", text),
    member("user_id", text),
  ]),
};
