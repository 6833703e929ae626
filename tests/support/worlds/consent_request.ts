/** The address to which an application sends its user: no link of a page leads there. */
import { clientIdOf } from "../../../core/people/api_keys/app_request.ts";

const redirectUri = "https://editor.example/callback";

export const consentRequest = `/oauth/authorize?${new URLSearchParams({
  client_id: clientIdOf({ name: "Editor", redirectUris: [redirectUri] }),
  redirect_uri: redirectUri,
  response_type: "code",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
  scope: "calls usage",
})}`;
