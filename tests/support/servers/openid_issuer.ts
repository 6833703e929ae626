/** A real OpenID provider on this machine: an npm package that is used in production elsewhere. */
import { createServer } from "node:http";
import Provider from "oidc-provider";
import { defined } from "../../../core/lib/base/defined.ts";

export interface OpenIdIssuer extends AsyncDisposable {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person who signs in next. */
  person: { readonly subject: string; readonly email?: string; readonly verified: boolean };
  /** Signs in as {@linkcode person}: from the address of the redirect until the provider redirects back. */
  signIn(start: string): Promise<URL>;
}

/** @param redirectUri where it may send people back to */
export async function openOpenIdIssuer(redirectUri: string): Promise<OpenIdIssuer> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  const issuer = `http://127.0.0.1:${port}`;
  const state: Pick<OpenIdIssuer, "person"> = {
    person: { subject: "42", email: "ann@example.com", verified: true },
  };
  const clientId = "gateway";
  const clientSecret = "a-secret-of-the-test-only";
  const provider = new Provider(issuer, {
    clients: [{
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      response_types: ["code"],
      grant_types: ["authorization_code"],
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    pkce: { required: () => true },
    cookies: { keys: ["test"] },
    findAccount: (_context: unknown, subject: string) => ({
      accountId: subject,
      claims: () => ({
        sub: subject,
        ...defined({ email: state.person.email }),
        email_verified: state.person.verified,
      }),
    }),
    features: { devInteractions: { enabled: true } },
  });
  server.on("request", provider.callback());
  return {
    issuer,
    clientId,
    clientSecret,
    get person() {
      return state.person;
    },
    set person(person) {
      state.person = person;
    },
    signIn: (start) => walk(start, () => state.person.subject, redirectUri),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Follows redirects and fills the provider's own login and consent forms, as a person would. */
async function walk(start: string, subject: () => string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(start);
  let init: RequestInit = {};
  for (let step = 0; step < 12; step++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { cookie } });
    const text = await response.text();
    for (const line of response.headers.getSetCookie()) {
      const [name = "", ...value] = line.split(";")[0]!.split("=");
      cookies.set(name, value.join("="));
    }
    const location = response.headers.get("location");
    if (location !== null) {
      url = new URL(location, url);
      init = {};
      if (url.href.startsWith(redirectUri)) return url;
      continue;
    }
    const action = /<form[^>]+action="([^"]+)"/.exec(text)?.[1];
    if (action === undefined) {
      throw new Error(`The provider shows no form: ${response.status} ${text}`);
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? "login";
    url = new URL(action, url);
    init = {
      method: "POST",
      body: new URLSearchParams({ prompt, login: subject(), password: "anything" }),
    };
  }
  throw new Error("The provider does not come to an end");
}
