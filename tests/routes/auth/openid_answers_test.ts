/**
 * Answers of an OpenID provider that are wrong in one thing: whatever it is, nobody is signed in by them, nobody else's
 * account is opened, and the person reads why in words.
 */
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import * as fc from "../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { addIdentity } from "../../../kv/people/accounts/account_credentials.ts";
import {
  createAccount,
  findAccountByEmail,
  getAccount,
} from "../../../kv/people/accounts/accounts.ts";
import { createOpenIdClient, type OpenIdClient } from "../../../routes/auth/openid.ts";
import { rateRules } from "../../../routes/auth/sign_in_budgets.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

const issuer = "https://id.example";
const settings = { issuer, clientId: "gw", clientSecret: "the-client-secret", label: "Example ID" };
const accessToken = "the-access-token";

/** What the provider answers. */
type Answer = "discovery" | "token" | "jwks" | "userinfo";

/** One thing that is wrong; each member changes what it is given. */
interface Wrong {
  readonly name: string;
  /** Whether the id token has no address, so that the provider is asked for it. */
  readonly asksUserInfo?: true;
  readonly claims?: (claims: JWTPayload) => JWTPayload;
  readonly token?: (claims: JWTPayload) => Promise<string>;
  readonly body?: (answer: Answer, body: Record<string, unknown>) => unknown;
}

const keys = await generateKeyPair("ES256", { extractable: true });
const otherKeys = await generateKeyPair("ES256");
const jwk = { ...await exportJWK(keys.publicKey), kid: "one", alg: "ES256", use: "sig" };

const signed = (claims: JWTPayload, key = keys.privateKey, header = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "one", ...header }).sign(key);

const base64Url = (text: string) =>
  new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });

/** Signs with a text that everybody knows. */
const signedByText = (claims: JWTPayload, secret: string) =>
  new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "one" })
    .sign(new TextEncoder().encode(secret));

const nothing = Symbol("the member is missing");

const withMember = (body: object, member: string, value: unknown) => {
  const { [member]: _, ...rest }: Record<string, unknown> = { ...body };
  return value === nothing ? rest : { ...rest, [member]: value };
};

/** The claims that decide who signs in, and values that none of them may have. */
const wrongClaims: Readonly<Record<string, readonly unknown[]>> = {
  iss: [nothing, "https://evil.example", "https://id.example/", [issuer], 7],
  aud: [nothing, "other", ["other"], ["gw", "other"], { 0: "gw" }],
  nonce: [nothing, "invented", "", ["a"], 7],
  exp: [nothing, 1, "4102444800", -1, null],
  iat: [nothing, "1000000000", null],
  sub: [nothing, "", 7, ["victim"], "s".repeat(300), "a\u0000b", "\u212aelvin"],
  email: ["victim@\uff43orp.test", " victim@corp.test", ["victim@corp.test"], {}, "", "no address"],
  email_verified: [nothing, false, "true", 1, [true], null],
};

/** The person of user info is that of the id token, with an address that is verified. */
const wrongInfo: Readonly<Record<string, readonly unknown[]>> = {
  sub: [nothing, "victim", ["7"], 7],
  email: [nothing, ["victim@corp.test"], "victim@\uff43orp.test", "<script>", null],
  email_verified: [nothing, false, "true", 1],
};

const wrongBodies: Readonly<Partial<Record<Answer, Readonly<Record<string, readonly unknown[]>>>>> =
  {
    discovery: {
      issuer: [nothing, "https://evil.example", [issuer]],
      token_endpoint: [nothing, "http://id.example/token", [], "no address"],
      jwks_uri: [nothing, "http://id.example/jwks", 7],
    },
    token: {
      access_token: [nothing, "", 7, ["a"]],
      token_type: [nothing, "mac", 7],
      id_token: [nothing, "", "a.b.c", ["a"], "<html>"],
    },
    jwks: { keys: [nothing, [], "keys", [{}], [null]] },
    userinfo: wrongInfo,
  };

const shown = (value: unknown) => value === nothing ? "absent" : JSON.stringify(value).slice(0, 40);

const byClaims: readonly Wrong[] = Object.entries(wrongClaims).flatMap(([member, values]) =>
  values.map((value) => ({
    name: `id token: ${member} ${shown(value)}`,
    claims: (claims: JWTPayload) => withMember(claims, member, value) as JWTPayload,
  }))
);

const byBodies: readonly Wrong[] = Object.entries(wrongBodies).flatMap(([answer, members]) =>
  Object.entries(members).flatMap(([member, values]) =>
    values.map((value): Wrong => ({
      name: `${answer}: ${member} ${shown(value)}`,
      ...(answer === "userinfo" && { asksUserInfo: true }),
      body: (what, body) => what === answer ? withMember(body, member, value) : body,
    }))
  )
);

const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };

/** Answers that are no answer. */
const wrongResponses: Readonly<Record<string, (text: string) => Response>> = {
  "status 500": (text) => new Response(text, { status: 500, headers: json }),
  "status 401": () => Response.json({ error: "invalid_token" }, { status: 401 }),
  "a redirect": () =>
    new Response(null, { status: 302, headers: { location: "https://evil.example/" } }),
  "HTML": () => new Response("<html><script>alert(1)</script></html>", { headers: html }),
  "HTML as JSON": () => new Response("<html>", { headers: json }),
  "cut JSON": (text) => new Response(text.slice(0, -2), { headers: json }),
  "a list": (text) => new Response(`[${text}]`, { headers: json }),
  "a text": () => new Response(`"yes"`, { headers: json }),
  "nothing": () => new Response("", { headers: json }),
  "too much": (text) =>
    new Response(`{"padding":"${"x".repeat(300_000)}",${text.slice(1)}`, { headers: json }),
};

const answers: readonly Answer[] = ["discovery", "token", "jwks", "userinfo"];

const byResponses: readonly Wrong[] = answers.flatMap((answer) =>
  Object.entries(wrongResponses).map(([name, change]): Wrong => ({
    name: `${answer}: ${name}`,
    ...(answer === "userinfo" && { asksUserInfo: true }),
    body: (what, body) => what === answer ? change(JSON.stringify(body)) : body,
  }))
);

/** Tokens for the victim, which the provider has not signed. */
const forVictim = (claims: JWTPayload): JWTPayload => ({ ...claims, sub: "victim" });
const spki = await exportSPKI(keys.publicKey);

const bySignature: readonly Wrong[] = [
  {
    name: "signature: of another key",
    token: (claims) => signed(forVictim(claims), otherKeys.privateKey),
  },
  {
    name: "signature: a key that is not published",
    token: (claims) => signed(forVictim(claims), otherKeys.privateKey, { kid: "two" }),
  },
  {
    name: "signature: none",
    token: (claims) => {
      const parts = [{ alg: "none" }, forVictim(claims)].map((one) =>
        base64Url(JSON.stringify(one))
      );
      return Promise.resolve(`${parts.join(".")}.`);
    },
  },
  {
    name: "signature: HS256 with the public key",
    token: (claims) => signedByText(forVictim(claims), spki),
  },
  {
    name: "signature: HS256 with the published key",
    token: (claims) => signedByText(forVictim(claims), JSON.stringify(jwk)),
  },
  {
    name: "signature: HS256 with the secret of the client",
    token: (claims) => signedByText(forVictim(claims), settings.clientSecret),
  },
  {
    name: "signature: of other claims",
    token: async (claims) => {
      const [head, , signature] = (await signed(claims)).split(".");
      return `${head}.${base64Url(JSON.stringify(forVictim(claims)))}.${signature}`;
    },
  },
  { name: "signature: cut", token: async (claims) => (await signed(claims)).slice(0, -3) },
];

const valid: readonly Wrong[] = [
  { name: "nothing, with the address in the id token" },
  { name: "nothing, with the address in user info", asksUserInfo: true },
];

/** A provider that answers with one thing wrong. */
function providerWith(wrong: Wrong, person: { readonly subject: string; readonly email: string }) {
  let nonce = "";
  const [seconds, endsAt] = [1_000_000_000, 4_102_444_800];
  const idToken = async () => {
    const { asksUserInfo, claims = (all: JWTPayload) => all, token = signed } = wrong;
    const address = { email: person.email, email_verified: true };
    return await token(claims({
      iss: issuer,
      aud: settings.clientId,
      sub: person.subject,
      nonce,
      iat: seconds,
      exp: endsAt,
      ...(asksUserInfo ? {} : address),
    }));
  };
  const bodyOf = async (path: string): Promise<[Answer, Record<string, unknown>]> => {
    switch (path) {
      case "/.well-known/openid-configuration":
        return ["discovery", {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          id_token_signing_alg_values_supported: ["ES256"],
        }];
      case "/token":
        return ["token", {
          access_token: accessToken,
          token_type: "Bearer",
          id_token: await idToken(),
        }];
      case "/jwks":
        return ["jwks", { keys: [jwk] }];
      case "/userinfo":
        return ["userinfo", { sub: person.subject, email: person.email, email_verified: true }];
      default:
        throw new TypeError("The name has no address");
    }
  };
  const answer: typeof fetch = async (input) => {
    const url = new URL(String(input));
    if (url.origin !== issuer) throw new TypeError("The name has no address");
    const [what, body] = await bodyOf(url.pathname);
    const changed = wrong.body?.(what, body) ?? body;
    return changed instanceof Response ? changed : Response.json(changed);
  };
  const client = createOpenIdClient(settings, { fetch: answer, clock: new ManualTime() });
  return {
    client,
    /** Comes back from the address of a redirect. */
    back(redirect: string): string {
      const asked = new URL(redirect).searchParams;
      nonce = asked.get("nonce") ?? "";
      return `/auth/openid/callback?code=the-code&state=${asked.get("state")}`;
    },
  };
}

async function openWorld() {
  let current: OpenIdClient | undefined;
  const now = () => {
    assert(current !== undefined, "a provider");
    return current;
  };
  const client: OpenIdClient = {
    label: settings.label,
    begin: (...given) => now().begin(...given),
    finish: (...given) => now().finish(...given),
  };
  const world = await openDashboardWorld({
    baseUrl: "https://gw.example",
    providers: [{ id: "openid", client }],
  });
  let number = 0;
  return {
    world,
    /** Signs a new person in at a provider, as far as its answers allow. */
    async signIn(wrong: Wrong) {
      world.time.advance(rateRules.openIdByAddress.windowMs);
      const person = { subject: `7-${++number}`, email: `eve${number}@example.com` };
      const provider = providerWith(wrong, person);
      current = provider.client;
      const browser = world.browser();
      const left = await browser.get("/auth/openid/start");
      const redirect = left.headers.get("location");
      const page = redirect?.startsWith(`${issuer}/`)
        ? await browser.get(provider.back(redirect))
        : left;
      return { person, page, isSignedIn: browser.cookies.has("__Host-session") };
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

Deno.test("what is true signs a person in", async () => {
  await using all = await openWorld();
  for (const one of valid) {
    const { person, page, isSignedIn } = await all.signIn(one);
    assertEquals([one.name, page.status, isSignedIn], [one.name, 303, true]);
    const account = await findAccountByEmail(all.world.kv, person.email);
    assertEquals(account?.identities, [{ issuer, subject: person.subject }]);
  }
});

Deno.test("whatever is wrong in an answer of an OpenID provider, nobody is signed in by it", async () => {
  await using all = await openWorld();
  const { kv, reports } = all.world;
  const victim = await createAccount(kv, { nowMs: 0, email: "victim@corp.test" });
  await addIdentity(kv, victim.id, { issuer, subject: "victim" });
  const identities = (await getAccount(kv, victim.id))?.identities;
  const wrongs = [...byClaims, ...byBodies, ...byResponses, ...bySignature];
  const problems: string[] = [];
  for (const wrong of wrongs) {
    const { person, page, isSignedIn } = await all.signIn(wrong);
    if (page.status !== 422 || isSignedIn) problems.push(`${wrong.name}: ${page.status}`);
    if (await findAccountByEmail(kv, person.email) !== undefined) {
      problems.push(`${wrong.name}: an account was made`);
    }
    assertStringIncludes(page.text, "<h1", wrong.name);
    for (const text of [settings.clientSecret, accessToken, "evil.example", "alert("]) {
      if (page.text.includes(text)) problems.push(`${wrong.name}: the page has ${text}`);
    }
  }
  // The log says at which provider it was, and repeats no answer.
  assertEquals(new Set(reports), new Set(["openid"]));
  assertEquals(problems, []);
  assertEquals((await getAccount(kv, victim.id))?.identities, identities);
});

Deno.test("two wrong things do not make a right one", async () => {
  await using all = await openWorld();
  const signature = fc.constantFrom(...bySignature);
  const claim = fc.constantFrom(...byClaims);
  const body = fc.constantFrom(...byBodies, ...byResponses);
  await fc.assert(
    fc.asyncProperty(
      signature,
      claim,
      body,
      fc.nat({ max: 2 }),
      async (one, two, three, without) => {
        const chosen = [one, two, three].filter((_, at) => at !== without);
        const { page, isSignedIn } = await all.signIn(Object.assign({}, ...chosen));
        assertEquals([page.status, isSignedIn], [422, false]);
      },
    ),
    { numRuns: 60 },
  );
});
