/** An OpenID provider in memory, at an https address that no server has: for providers that customers name. */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { assert } from "../assert.ts";

export interface CompanyIssuer {
  readonly issuer: string;
  /** Answers what a client asks of the provider; anything else fails as a network does. */
  readonly fetch: typeof fetch;
  /** The addresses that were asked for. */
  readonly asked: string[];
  /** Signs a person in at the address of a redirect, and returns the address to come back to. */
  signIn(redirect: string | null, person: CompanyPerson): URL;
}

/** What the provider says of a person. */
export interface CompanyPerson {
  readonly subject: string;
  readonly email: string;
  readonly verified?: boolean;
}

/** Seconds at which its tokens were issued and end: long ago, and in 2100, since clients look at the machine's clock. */
const [issuedAt, endsAt] = [1_000_000_000, 4_102_444_800];

export async function openCompanyIssuer(issuer: string): Promise<CompanyIssuer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...await exportJWK(publicKey), kid: "one", alg: "ES256", use: "sig" };
  const codes = new Map<string, { person: CompanyPerson; nonce: string; clientId: string }>();
  const asked: string[] = [];

  async function tokens(code: string): Promise<Response> {
    const entry = codes.get(code);
    if (entry === undefined) return Response.json({ error: "invalid_grant" }, { status: 400 });
    codes.delete(code);
    const { person, nonce, clientId } = entry;
    const claims = { nonce, email: person.email, email_verified: person.verified ?? true };
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setIssuer(issuer).setAudience(clientId).setSubject(person.subject)
      .setIssuedAt(issuedAt).setExpirationTime(endsAt).sign(privateKey);
    return Response.json({ access_token: "a", token_type: "Bearer", id_token: idToken });
  }

  const answer: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    asked.push(request.url);
    const form = new URLSearchParams(await request.text());
    switch (request.url) {
      case `${issuer}/.well-known/openid-configuration`:
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ["ES256"],
        });
      case `${issuer}/token`:
        return await tokens(form.get("code") ?? "");
      case `${issuer}/jwks`:
        return Response.json({ keys: [jwk] });
      default:
        throw new TypeError("The name has no address");
    }
  };
  return {
    issuer,
    fetch: answer,
    asked,
    signIn(redirect, person) {
      const url = new URL(redirect ?? "");
      assert(url.origin + url.pathname === `${issuer}/authorize`, url.href);
      const ask = url.searchParams;
      const code = crypto.randomUUID();
      const [nonce, clientId] = [ask.get("nonce") ?? "", ask.get("client_id") ?? ""];
      codes.set(code, { person, nonce, clientId });
      const back = new URL(ask.get("redirect_uri") ?? "");
      back.search = String(new URLSearchParams({ code, state: ask.get("state") ?? "" }));
      return back;
    },
  };
}
