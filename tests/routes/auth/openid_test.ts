import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { addIdentity } from "../../../kv/people/accounts/account_credentials.ts";
import {
  createAccount,
  findAccountByEmail,
  getAccount,
} from "../../../kv/people/accounts/accounts.ts";
import { createOpenIdClient } from "../../../routes/auth/openid.ts";
import { type DashboardWorld, openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import { ManualTime } from "../../support/manual_time.ts";
import type { TestBrowser } from "../../support/browser/test_browser.ts";
import { block } from "../../support/worlds/blocked_account.ts";
import { createServer } from "node:http";
import Provider from "oidc-provider";
import { defined } from "../../../core/lib/base/defined.ts";

interface OpenIdIssuer extends AsyncDisposable {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The person who signs in next. */
  person: { readonly subject: string; readonly email?: string; readonly verified: boolean };
  /** Signs in as {@linkcode person}: from the address of the redirect until the provider redirects back. */
  signIn(start: string): Promise<URL>;
}

/**
 * Starts a real OpenID provider on this machine: an npm package that is used in production elsewhere.
 *
 * @param redirectUri where it may send people back to
 */
async function openOpenIdIssuer(redirectUri: string): Promise<OpenIdIssuer> {
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

const baseUrl = "https://gw.example";
const callback = `${baseUrl}/auth/openid/callback`;

interface OpenIdWorld extends AsyncDisposable {
  readonly issuer: OpenIdIssuer;
  readonly world: DashboardWorld;
}

async function openWorld(fetchNow: typeof fetch = fetch): Promise<OpenIdWorld> {
  const issuer = await openOpenIdIssuer(callback);
  const openId = createOpenIdClient(
    {
      issuer: issuer.issuer,
      clientId: issuer.clientId,
      clientSecret: issuer.clientSecret,
      label: "Example ID",
    },
    { fetch: fetchNow, clock: new ManualTime() },
  );
  const world = await openDashboardWorld({
    baseUrl,
    providers: [{ id: "openid", client: openId }],
  });
  return {
    issuer,
    world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

/** Leaves for the provider, signs in there and comes back. */
async function signIn({ issuer }: OpenIdWorld, browser: TestBrowser, next = "") {
  const leave = await browser.get(`/auth/openid/start?next=${encodeURIComponent(next)}`);
  assertEquals(leave.status, 303);
  const back = await issuer.signIn(leave.headers.get("location")!);
  return { back, answer: await browser.get(back.pathname + back.search) };
}

/** The provider runs on `node:http`, whose sockets and timers end a moment after the server does. */
const openIdTest = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false, fn });

openIdTest(
  "a new person is signed up and in by a real provider, and comes back as the same",
  async () => {
    await using all = await openWorld();
    const { world } = all;
    const browser = world.browser();
    assertStringIncludes((await browser.get("/sign-in")).text, "Continue with Example ID");
    const { answer } = await signIn(all, browser, "/keys");
    assertEquals(answer.status, 303);
    assertEquals(answer.headers.get("location"), "/welcome?next=%2Fkeys");
    assertStringIncludes((await browser.get("/keys")).text, "First key");
    const account = await findAccountByEmail(world.kv, "ann@example.com");
    assertEquals(account?.identities, [{ issuer: all.issuer.issuer, subject: "42" }]);

    all.issuer.person = { subject: "42", email: "renamed@example.com", verified: true };
    const later = world.browser();
    assertEquals((await signIn(all, later)).answer.headers.get("location"), "/");
    assertStringIncludes((await later.get("/account")).text, account!.id);
  },
);

openIdTest(
  "a verified address joins the account that has it; an unverified one does not",
  async () => {
    await using all = await openWorld();
    const { account } = await all.world.signIn("ann@example.com");
    all.issuer.person = { subject: "7", email: "ann@example.com", verified: false };
    const refused = await signIn(all, all.world.browser());
    assertEquals(refused.answer.status, 422);
    assertStringIncludes(refused.answer.text, "has not verified your email address");

    all.issuer.person = { subject: "7", email: "Ann@Example.com", verified: true };
    const browser = all.world.browser();
    assertEquals((await signIn(all, browser)).answer.status, 303);
    assertEquals((await getAccount(all.world.kv, account.id))?.identities?.length, 1);
  },
);

openIdTest("an address that only becomes another one is no proof of it", async () => {
  await using all = await openWorld();
  const { account } = await all.world.signIn("ann@corp.test");
  const forms = [
    "ann@\uff43orp.test",
    "\uff41nn@corp.test",
    "ann@corp.test\u00a0",
    "ann@\u212aorp.test",
  ];
  for (const email of forms) {
    all.issuer.person = { subject: "7", email, verified: true };
    assertEquals((await signIn(all, all.world.browser())).answer.status, 422, email);
  }
  assertEquals((await getAccount(all.world.kv, account.id))?.identities, undefined);
});

openIdTest("the way back works once, and only in the browser that left", async () => {
  await using all = await openWorld();
  const browser = all.world.browser();
  const leave = await browser.get("/auth/openid/start");
  const back = await all.issuer.signIn(leave.headers.get("location")!);
  const path = back.pathname + back.search;
  const thief = all.world.browser();
  await thief.get("/auth/openid/start");
  assertEquals((await thief.get(path)).status, 422);
  assertEquals((await browser.get(path)).status, 422, "the state was used up by the thief");

  const { back: own, answer } = await signIn(all, browser);
  assertEquals(answer.status, 303);
  assertEquals((await browser.get(own.pathname + own.search)).status, 422);
});

openIdTest(
  "changed, missing and invented parameters are refused without a word of why",
  async () => {
    await using all = await openWorld();
    for (
      const change of [
        (query: URLSearchParams) => query.set("state", "invented"),
        (query: URLSearchParams) => query.delete("state"),
        (query: URLSearchParams) => query.set("code", "invented"),
        (query: URLSearchParams) => query.set("iss", "https://evil.example"),
        (query: URLSearchParams) => {
          query.delete("code");
          query.set("error", "access_denied");
          query.set("error_description", "<script>evil</script>");
        },
      ]
    ) {
      const browser = all.world.browser();
      const leave = await browser.get("/auth/openid/start");
      const back = await all.issuer.signIn(leave.headers.get("location")!);
      change(back.searchParams);
      const answer = await browser.get(back.pathname + back.search);
      assertEquals(answer.status, 422);
      assert(!answer.text.includes("<script>evil"));
      assert(!browser.cookies.has("__Host-session"));
    }
  },
);

/** With an address in the token, nothing else is asked of the provider. */
const changed = { sub: "somebody else", email: "bob@example.com", email_verified: true };

/** Answers of the token endpoint with another subject in the id token, whose signature then is of something else. */
const forgingFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!String(input).endsWith("/token")) return response;
  const tokens = await response.json();
  const [head, payload, signature] = tokens.id_token.split(".");
  const alphabet = "base64url";
  const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet })));
  const forged = new TextEncoder().encode(JSON.stringify({ ...claims, ...changed }))
    .toBase64({ alphabet, omitPadding: true });
  return Response.json({ ...tokens, id_token: `${head}.${forged}.${signature}` });
};

openIdTest("an id token that the provider has not signed is refused", async () => {
  await using all = await openWorld(forgingFetch);
  const identity = { issuer: all.issuer.issuer, subject: changed.sub };
  const victim = await createAccount(all.world.kv, { nowMs: 0, email: "bob@example.com" });
  await addIdentity(all.world.kv, victim.id, identity);
  const browser = all.world.browser();
  const { answer } = await signIn(all, browser);
  assertEquals(answer.status, 422);
  assert(!browser.cookies.has("__Host-session"));
});

openIdTest(
  "a subject that fits into no key of the store is refused, not an exception",
  async () => {
    await using all = await openWorld();
    all.issuer.person = { subject: "s".repeat(5_000), email: "ann@example.com", verified: true };
    const { answer } = await signIn(all, all.world.browser());
    assertEquals([answer.status, all.world.reports], [422, ["openid"]]);
  },
);

openIdTest("next leads only to pages of this site, also from afar", async () => {
  await using all = await openWorld();
  const from = async () =>
    (await signIn(all, all.world.browser(), "//evil.example/")).answer.headers.get("location");
  assertEquals([await from(), await from()], ["/welcome", "/"]);
});

openIdTest("a blocked account stays out", async () => {
  await using all = await openWorld();
  const { account } = await all.world.signIn("ann@example.com");
  await block(all.world.kv, account.id);
  const browser = all.world.browser();
  const { answer } = await signIn(all, browser);
  assertEquals(answer.status, 422);
  assert(!browser.cookies.has("__Host-session"));
});

openIdTest("a provider that is down is told as a failure, not as an exception", async () => {
  const openId = createOpenIdClient(
    { issuer: "http://127.0.0.1:1", clientId: "x", clientSecret: "y", label: "Down" },
    { fetch, clock: new ManualTime() },
  );
  await using world = await openDashboardWorld({ providers: [{ id: "openid", client: openId }] });
  const answer = await world.browser().get("/auth/openid/start");
  assertEquals(answer.status, 422);
  assertStringIncludes(answer.text, "did not work");
});

Deno.test("without a provider there is no button and no path", async () => {
  await using world = await openDashboardWorld();
  assert(!(await world.browser().get("/sign-in")).text.includes("/auth/"));
  assertEquals((await world.browser().get("/auth/openid/start")).status, 404);
});
