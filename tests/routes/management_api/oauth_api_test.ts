/** Keys for applications: the whole way with the newest OAuth client, and requests that were tampered with. */
import * as oauth from "oauth4webapi";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import { hashApiKey } from "../../../core/people/api_keys/api_key.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { appAt, clientIdOf } from "../../../core/people/api_keys/app_request.ts";
import { appCodeMs } from "../../../kv/people/api_keys/app_codes.ts";
import { findApiKeyByHash, isActive, listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { changeRole } from "../../../kv/people/organisations/members.ts";
import { setBlocked } from "../../../kv/people/accounts/accounts.ts";
import { actFor, joinAs } from "../../support/worlds/company_world.ts";
import { callback, openAppWorld } from "../../support/worlds/app_world.ts";
import { works } from "../../support/worlds/key_pages.ts";
import { defaultCatalog } from "../../support/worlds/dashboard_world.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import { appOperations } from "../../../routes/openapi/app_operations.ts";
import { openApiDocument } from "../../../routes/openapi/document.ts";
import { exampleModels } from "../../../routes/openapi/example_models.ts";
import { answerProblems } from "../openapi/described.ts";

const document = openApiDocument({
  server: "/",
  models: exampleModels(await defaultCatalog()),
});

/** What an answer has against the document. */
function documentProblems(id: string, status: number, answer: Json): string[] {
  const operation = appOperations.find((one) => one.id === id);
  const described = operation?.answers.find((one) => (one.status ?? 200) === status);
  const schema = described?.content["application/json"];
  return schema === undefined
    ? [`${id}: ${status} is not described`]
    : answerProblems(answer, schema, document).map((problem) => `${id}: ${problem}`);
}

type World = Awaited<ReturnType<typeof openAppWorld>>;

async function activeKeys({ kv, time }: World, accountId: Parameters<typeof listApiKeys>[1]) {
  return (await listApiKeys(kv, accountId)).filter((key) => isActive(key, time.nowMs()));
}

/** What the client says of a refusal. */
async function refusedWith(redeeming: Promise<unknown>): Promise<string> {
  try {
    await redeeming;
    return "nothing";
  } catch (error) {
    return error instanceof oauth.ResponseBodyError ? error.error : String(error);
  }
}

Deno.test("an application gets the key of its user, with the budget and end that the user chose", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const asked = await world.ask();
  const page = await browser.get(asked.url.pathname + asked.url.search);
  assertEquals(page.status, 200);
  for (const words of ["Trợ lý mã", "a program on this computer", "we have not checked it"]) {
    assertStringIncludes(page.text, words);
  }
  assertStringIncludes(page.headers.get("content-security-policy") ?? "", "frame-ancestors 'none'");
  assertStringIncludes(
    page.headers.get("content-security-policy") ?? "",
    "form-action 'self' http://127.0.0.1:43117;",
  );
  assertEquals(await activeKeys(world, account.id), [], "nothing is made before the consent");
  const answer = await world.allow(browser, asked, { monthlyLimit: "50,000" });
  assertEquals([...answer.searchParams.keys()].sort(), ["code", "iss", "state"]);
  assertEquals(await activeKeys(world, account.id), [], "nor before the code is redeemed");
  const { access_token: secret, token_type, scope, expires_in: seconds } = await world.redeem(
    asked,
    answer,
  );
  assertEquals([token_type, scope], ["bearer", "calls"]);
  assert(await works(world, secret));
  const [key] = await activeKeys(world, account.id);
  assertEquals(key?.name, "Trợ lý mã");
  assertEquals(key?.app, { name: "Trợ lý mã" });
  assertEquals(key?.memberId, account.id);
  assertEquals(key?.monthlyLimitMicroVnd, fromVnd(50_000));
  assertEquals(key?.readsOnlyOwnCalls, true);
  assertEquals(Math.floor((key!.expiresAtMs! - world.time.nowMs()) / 1_000), seconds);
  const { lines } = await findActivity(world.kv, account.id, { count: 50 });
  assertEquals(lines.filter(({ act }) => act === "api_key_made").map(({ by }) => by.kind), [
    "person",
  ]);
  const list = await browser.get("/keys");
  assertStringIncludes(list.text, "for the app “Trợ lý mã” (own computer)");
  assertStringIncludes((await browser.get(`/keys/${key!.id}`)).text, "for the app “Trợ lý mã”");
  const { text: downloaded } = await browser.get("/account/data.ndjson");
  assertStringIncludes(downloaded, '"app_name":"Trợ lý mã","app_host":null');
  for await (const row of world.kv.list({ prefix: [] })) {
    const text = Deno.inspect(row, { strAbbreviateSize: 1e6 });
    assert(!text.includes(secret) && !text.includes(answer.searchParams.get("code") ?? secret));
  }
});

Deno.test("who switches to another organisation on the page comes back to the same request", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn("ann@example.com");
  const asked = await world.ask(callback, "calls usage");
  const path = asked.url.pathname + asked.url.search;
  assert(!(await browser.get(path)).text.includes("Let another organisation pay"));
  const nowMs = world.time.nowMs();
  const { account: other } = await world.signIn("bob@example.com");
  await joinAs(world.kv, other.id, account, { role: "admin", nowMs });
  const page = await browser.get(path);
  const switched = await browser.submit(page, "/organisations/switch", { organisation: other.id });
  const location = new URL(switched.headers.get("location") ?? "", world.baseUrl);
  assertEquals(location.pathname, asked.url.pathname);
  assertEquals([...location.searchParams].sort(), [...asked.url.searchParams].sort());
  const again = await browser.get(location.pathname + location.search);
  const foreign = await browser.submit(again, "/organisations/switch", {
    organisation: other.id,
    next: "//evil.example/",
  });
  assertEquals(foreign.headers.get("location"), "/");
  await world.redeem(asked, await world.allow(browser, asked));
  assertEquals([
    (await activeKeys(world, account.id)).length,
    (await activeKeys(world, other.id)).length,
  ], [0, 1]);
});

Deno.test("a setting of the key that is changed later leaves it the key of its application", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const asked = await world.ask();
  await world.redeem(asked, await world.allow(browser, asked));
  const [key] = await activeKeys(world, account.id);
  const path = `/keys/${key!.id}`;
  await browser.submit(await browser.get(path), path, { name: "renamed" });
  const [changed] = await activeKeys(world, account.id);
  assertEquals([changed?.name, changed?.app?.name], ["renamed", "Trợ lý mã"]);
});

Deno.test("an application reads the account only if it asks for it and its user ticks the box", async () => {
  for (
    const [scope, fields, granted] of [
      ["calls usage", { usage: "yes" }, "calls usage"],
      ["calls usage", {}, "calls"],
      ["calls", { usage: "yes" }, "calls"],
      ["openid usage", { usage: "yes" }, "calls usage"],
    ] as const
  ) {
    await using world = await openAppWorld();
    const { browser, account } = await world.signIn();
    const asked = await world.ask(callback, scope);
    const token = await world.redeem(asked, await world.allow(browser, asked, fields));
    assertEquals(token.scope, granted);
    const [key] = await activeKeys(world, account.id);
    assertEquals(key?.readsOnlyOwnCalls === true, granted === "calls", scope);
  }
});

Deno.test("a code works once, for two minutes, with its verifier, client and redirect URI", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const other = await world.register({ client_name: "Other", redirect_uris: [callback] });
  const wrongUses: ((asked: Awaited<ReturnType<World["ask"]>>, answer: URL) => Promise<unknown>)[] =
    [
      (asked, answer) =>
        world.redeem({ ...asked, verifier: oauth.generateRandomCodeVerifier() }, answer),
      (asked, answer) => world.redeem(asked, answer, "http://127.0.0.1:43118/callback"),
      (asked, answer) => world.redeem(asked, answer, callback, other),
      async (asked, answer) => {
        await world.time.advance(appCodeMs);
        return await world.redeem(asked, answer);
      },
    ];
  for (const use of wrongUses) {
    const asked = await world.ask();
    const answer = await world.allow(browser, asked);
    assertEquals(await refusedWith(use(asked, answer)), "invalid_grant");
    assertEquals(await refusedWith(world.redeem(asked, answer)), "invalid_grant", "it is used up");
  }
  assertEquals(await listApiKeys(world.kv, account.id), []);
});

Deno.test("a code that is used twice revokes the key that it made, also at the same moment", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const asked = await world.ask();
  const answer = await world.allow(browser, asked);
  const { access_token: secret } = await world.redeem(asked, answer);
  assert(await works(world, secret));
  assertEquals(await refusedWith(world.redeem(asked, answer)), "invalid_grant");
  assert(!await works(world, secret));
  const { lines } = await findActivity(world.kv, account.id, { count: 50 });
  assertEquals(lines.map(({ act }) => act).filter((act) => act === "api_key_revoked").length, 1);

  const again = await world.ask();
  const raced = await world.allow(browser, again);
  await Promise.allSettled([1, 2, 3].map(() => world.redeem(again, raced)));
  assertEquals(await activeKeys(world, account.id), []);
});

Deno.test("the key is made with the rights that the person has when the code is redeemed", async () => {
  await using world = await openAppWorld();
  const owner = await world.signIn("owner@acme.example");
  const member = await world.signIn("dev@acme.example");
  await joinAs(world.kv, owner.account.id, member.account, {
    role: "developer",
    nowMs: world.time.nowMs(),
  });
  await actFor(member.browser, owner.account);
  const asked = await world.ask();
  const page = await member.browser.get(asked.url.pathname + asked.url.search);
  assertStringIncludes(page.text, "owner@acme.example");
  const kept = await world.allow(member.browser, asked);
  const lowered = await world.ask();
  const answer = await world.allow(member.browser, lowered);
  await world.redeem(asked, kept);
  const [key] = await activeKeys(world, owner.account.id);
  assertEquals(key?.memberId, member.account.id);
  const { lines } = await findActivity(world.kv, owner.account.id, { count: 50 });
  const by = lines.find(({ act }) => act === "api_key_made")?.by;
  assertEquals(by?.kind === "person" && by.accountId, member.account.id);
  const done = { by, nowMs: world.time.nowMs() };
  await changeRole(world.kv, owner.account.id, member.account.id, "viewer", done);
  assertEquals(await refusedWith(world.redeem(lowered, answer)), "invalid_grant");
  const refused = await member.browser.get(asked.url.pathname + asked.url.search);
  assertEquals(refused.status, 403);
  assertStringIncludes(refused.text, "Ask its owner or an admin");
  assertEquals((await activeKeys(world, owner.account.id)).length, 1);
});

Deno.test("a person who was blocked since gives no key", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const asked = await world.ask();
  const answer = await world.allow(browser, asked);
  const nowMs = world.time.nowMs();
  await setBlocked(world.kv, account.id, { blocked: true, reason: "fraud" }, {
    operator: commandLine,
    nowMs,
  });
  assertEquals(await refusedWith(world.redeem(asked, answer)), "invalid_grant");
  assertEquals(await listApiKeys(world.kv, account.id), []);
});

Deno.test("who has as many keys as they may reads so before anything is sent to the application", async () => {
  await using world = await openAppWorld();
  const { browser } = await world.signIn();
  for (let made = 0; made < 10; made++) {
    const asked = await world.ask();
    await world.redeem(asked, await world.allow(browser, asked));
  }
  const { url } = await world.ask();
  const page = await browser.get(url.pathname + url.search);
  const answer = await browser.submit(page, "/oauth/authorize");
  assertEquals([answer.status, answer.headers.get("location")], [422, null]);
  assertStringIncludes(answer.text, "An account can have 10 active keys");
});

Deno.test("a visitor signs in first and comes back; a mistake in the form is named beside its field", async () => {
  await using world = await openAppWorld();
  const { url } = await world.ask();
  const path = url.pathname + url.search;
  const away = await world.browser().get(path);
  assertEquals(away.status, 303);
  const signIn = new URL(away.headers.get("location") ?? "", world.baseUrl);
  assertEquals([signIn.pathname, signIn.searchParams.get("next")], ["/sign-in", path]);
  const { browser } = await world.signIn();
  const page = await browser.get(path);
  for (
    const [field, typed, words] of [
      ["monthlyLimit", "ten", "Write a whole number"],
      ["expiry", "2020-01-01", "Choose a day from today on"],
    ] as const
  ) {
    const answer = await browser.submit(page, "/oauth/authorize", { [field]: typed });
    assertEquals([answer.status, answer.headers.get("location")], [422, null]);
    assertStringIncludes(answer.text, words);
  }
  const forged = await browser.post("/oauth/authorize", Object.fromEntries(url.searchParams));
  assertEquals([forged.status, forged.headers.get("location")], [403, null]);
});

Deno.test("a refusal and a wrong request go to the application only by a link that the person follows", async () => {
  await using world = await openAppWorld();
  const { browser } = await world.signIn();
  const { url, state } = await world.ask();
  const linkOf = (html: string) =>
    new URL(/href="(http:\/\/127\.0\.0\.1:43117[^"]*)"/.exec(html)![1]!.replaceAll("&amp;", "&"));
  const denied = linkOf((await browser.get(url.pathname + url.search)).text);
  assertEquals(Object.fromEntries(denied.searchParams), {
    error: "access_denied",
    state,
    iss: world.baseUrl,
  });
  assertEquals(
    (() => {
      try {
        oauth.validateAuthResponse(world.server, world.client, denied, state);
        return "no error";
      } catch (error) {
        return error instanceof oauth.AuthorizationResponseError ? error.error : String(error);
      }
    })(),
    "access_denied",
  );
  for (
    const [name, value, error] of [
      ["response_type", "token", "unsupported_response_type"],
      ["response_mode", "fragment", "invalid_request"],
      ["code_challenge_method", "plain", "invalid_request"],
      ["code_challenge", "short", "invalid_request"],
      ["scope", "admin", "invalid_scope"],
    ] as const
  ) {
    const wrong = new URL(url);
    wrong.searchParams.set(name, value);
    const page = await browser.get(wrong.pathname + wrong.search);
    assertEquals([page.status, page.headers.get("location")], [400, null]);
    assertEquals(linkOf(page.text).searchParams.get("error"), error);
  }
});

Deno.test("the page is of the language of its visitor", async () => {
  await using world = await openAppWorld();
  const { browser } = await world.signIn();
  browser.cookies.set("locale", "vi");
  const { url } = await world.ask();
  const page = await browser.get(url.pathname + url.search);
  assertStringIncludes(page.text, "Cấp khoá API cho “Trợ lý mã”?");
  assertStringIncludes(page.text, 'value="100.000"');
});

const mutations = fc.record({
  name: fc.constantFrom(
    "client_id",
    "redirect_uri",
    "response_type",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
    "code",
    "code_verifier",
    "grant_type",
  ),
  how: fc.constantFrom("drop", "double", "alter", "replace"),
  value: fc.oneof(
    fc.constantFrom(
      "",
      "plain",
      "token",
      "https://evil.example/",
      "https://evil.example/callback",
      "http://127.0.0.1@evil.example/callback",
      "http://127.0.0.1:43117/callback/../steal",
      "http://127.0.0.1:43117\\@evil.example/callback",
      "http://127.0.0.1.evil.example/callback",
      "http://127.0.0.1:43117/callback#x",
      "//evil.example/callback",
      "javascript:alert(1)",
      "data:text/html,x",
      "http://[::1]/callback",
    ),
    fc.string({ maxLength: 60 }),
  ),
});

interface Mutation {
  readonly name: string;
  readonly how: string;
  readonly value: string;
}

function mutated(params: URLSearchParams, { name, how, value }: Mutation): void {
  const [old = ""] = params.getAll(name);
  switch (how) {
    case "drop":
      return params.delete(name);
    case "double":
      return params.append(name, value === "" ? old : value);
    case "alter":
      return params.set(name, `${old.slice(0, -1)}${value.slice(0, 1)}`);
    default:
      return params.set(name, value);
  }
}

/** Whether two sets of parameters ask for the same thing. */
function isSame(one: URLSearchParams, other: URLSearchParams): boolean {
  const text = (params: URLSearchParams) => {
    const copy = new URLSearchParams(params);
    copy.delete("scope");
    copy.delete("state");
    copy.sort();
    return copy.toString();
  };
  return text(one) === text(other);
}

Deno.test("no request that was tampered with gives a key or sends anybody elsewhere", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const allowed = new Set(["127.0.0.1"]);
  await fc.assert(
    fc.asyncProperty(fc.array(mutations, { minLength: 1, maxLength: 3 }), async (some) => {
      // The bounds of a person's changes and of an address are not what is tried here.
      await world.time.advance(3_600_000);
      const asked = await world.ask();
      const wrong = new URLSearchParams(asked.url.search);
      for (const one of some) mutated(wrong, one);
      const page = await browser.get(`/oauth/authorize?${wrong}`);
      const links = [...page.text.matchAll(/href="(https?:[^"]*)"/g)].map(([, link]) => link ?? "");
      for (const link of [page.headers.get("location") ?? callback, ...links]) {
        assert(allowed.has(new URL(link, world.baseUrl).hostname), link);
      }
      const right = await browser.get(asked.url.pathname + asked.url.search);
      const sent = await browser.submit(
        right,
        "/oauth/authorize",
        Object.fromEntries(
          some.map(({ name, how, value }) => [
            name,
            how === "double" ? [asked.url.searchParams.get(name) ?? "", value] : value,
          ]),
        ),
      );
      const location = sent.headers.get("location");
      if (location !== null) assertEquals(new URL(location).host, "127.0.0.1:43117");

      const answer = await world.allow(browser, asked);
      const form = new URLSearchParams({
        grant_type: "authorization_code",
        code: answer.searchParams.get("code") ?? "",
        code_verifier: asked.verifier,
        client_id: world.client.client_id,
        redirect_uri: callback,
      });
      const before = new URLSearchParams(form);
      for (const one of some) mutated(form, one);
      const { status, body } = await world.post("/oauth/token", form);
      const keys = await activeKeys(world, account.id);
      // Parameters that the endpoint does not know change nothing.
      const unknown = ["response_type", "code_challenge", "code_challenge_method"];
      for (const name of unknown) form.delete(name);
      if (isSame(form, before)) {
        assertEquals(status, 200);
        const hash = await hashApiKey(body.access_token);
        assertEquals((await findApiKeyByHash(world.kv, hash))?.id, keys[0]?.id);
        await world.post("/oauth/token", before);
        assertEquals(await activeKeys(world, account.id), []);
      } else {
        assertEquals([status, keys], [400, []]);
        assertEquals(body.access_token, undefined);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("tools that send their users with a callback_url get a key by the same way", async () => {
  await using world = await openAppWorld();
  const { browser, account } = await world.signIn();
  const asked = await world.ask();
  const challenge = asked.url.searchParams.get("code_challenge") ?? "";
  const callbackUrl = "https://tool.example/signed-in?session=7";
  const query = new URLSearchParams({
    callback_url: callbackUrl,
    code_challenge: challenge,
    code_challenge_method: "S256",
  });
  const start = await browser.get(`/auth?${query}`);
  const page = await browser.follow(start);
  assertStringIncludes(page.text, "Give “tool.example” an API key?");
  const sent = await browser.submit(page, "/oauth/authorize");
  const answer = new URL(sent.headers.get("location") ?? "");
  assertEquals(answer.origin + answer.pathname, "https://tool.example/signed-in");
  assertEquals(answer.searchParams.get("session"), "7");
  const code = answer.searchParams.get("code") ?? "";
  const { status, body } = await world.post("/api/v1/auth/keys", {
    code,
    code_verifier: asked.verifier,
    code_challenge_method: "S256",
  });
  assertEquals([status, body.user_id], [200, account.id]);
  assert(await works(world, body.key));
  assertEquals((await activeKeys(world, account.id))[0]?.app, {
    name: "tool.example",
    host: "tool.example",
  });

  // A code of an application with a client id needs that id.
  const named = await world.ask();
  const namedAnswer = await world.allow(browser, named);
  const refused = await world.post("/api/v1/auth/keys", {
    code: namedAnswer.searchParams.get("code"),
    code_verifier: named.verifier,
  });
  assertEquals([refused.status, refused.body.error], [400, "invalid_grant"]);
  for (const wrong of ["http://tool.example/", "javascript:alert(1)", ""]) {
    const lead = await browser.get(`/auth?${new URLSearchParams({ callback_url: wrong })}`);
    const shown = await browser.follow(lead);
    assertEquals([shown.status, shown.headers.get("location")], [400, null]);
  }
});

Deno.test("an application is registered with addresses that nobody else can listen at", async () => {
  await using world = await openAppWorld();
  const uris = (some: readonly unknown[]) =>
    world.post("/oauth/register", { client_name: "App", redirect_uris: some });
  for (
    const good of [
      "https://app.example/cb?x=1",
      "http://127.0.0.1/cb",
      "http://[::1]:80/cb".replace(":80", ":8080"),
      "http://localhost:3000/",
    ]
  ) {
    const { status, body } = await uris([good]);
    assertEquals(status, 201, good);
    assertEquals(body.client_id, clientIdOf({ name: "App", redirectUris: [good] }));
    assertEquals(appAt(good)?.redirectUris, [good]);
  }
  for (
    const bad of [
      "http://app.example/cb",
      "https://user:pw@app.example/cb",
      "https://app.example/cb#x",
      "https://app.example/cb?code=1",
      "HTTPS://APP.example/cb",
      "https://app.example/a/../b",
      "vscode://ext/cb",
      "javascript:alert(1)",
      "/cb",
      `https://app.example/${"x".repeat(600)}`,
      7,
    ]
  ) {
    const { status, body } = await uris([bad]);
    assertEquals([status, body.error], [400, "invalid_redirect_uri"], String(bad));
  }
  const many = Array.from({ length: 6 }, (_, at) => `https://app.example/${at}`);
  for (const some of [[], many]) assertEquals((await uris(some)).status, 400);
  const bodies = [{}, { client_name: "a\u202eb", redirect_uris: [callback] }, {
    redirect_uris: [callback],
  }];
  for (const body of bodies) {
    assertEquals((await world.post("/oauth/register", body)).status, 400);
  }
});

Deno.test("the endpoints are those of the document, and answer as it says", async () => {
  await using world = await openAppWorld();
  const { browser } = await world.signIn();
  const problems: string[] = [];
  for (const { id, method, path, body } of appOperations) {
    const wrongMethod = await world.send(new Request(world.baseUrl + path, { method: "PATCH" }));
    assertEquals([wrongMethod.status, wrongMethod.headers.get("allow")], [
      405,
      method.toUpperCase(),
    ]);
    const preflight = await world.send(
      new Request(world.baseUrl + path, {
        method: "OPTIONS",
        headers: { origin: "https://app.example", "access-control-request-method": "POST" },
      }),
    );
    assertEquals(preflight.headers.get("access-control-allow-origin"), "*");
    if (body === undefined) {
      const answer = await world.send(new Request(world.baseUrl + path));
      problems.push(...documentProblems(id, answer.status, await answer.json()));
      continue;
    }
    const isForm = body.types?.[0] === "application/x-www-form-urlencoded";
    const example = Object.entries(body.example).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]);
    const answers = [
      await world.post(path, isForm ? new URLSearchParams(example) : body.example),
      await world.post(path, isForm ? new URLSearchParams() : {}),
    ];
    for (const { status, body } of answers) problems.push(...documentProblems(id, status, body));
  }
  const asked = await world.ask();
  const answer = await world.allow(browser, asked);
  const made = await world.post(
    "/oauth/token",
    new URLSearchParams({
      grant_type: "authorization_code",
      code: answer.searchParams.get("code") ?? "",
      code_verifier: asked.verifier,
      client_id: world.client.client_id,
      redirect_uri: callback,
    }),
  );
  problems.push(...documentProblems("redeemCode", made.status, made.body));
  assertEquals(problems, []);
});

Deno.test("guesses of codes from one network address come to an end", async () => {
  await using world = await openAppWorld();
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    code: "guess",
    code_verifier: "v".repeat(43),
    client_id: world.client.client_id,
    redirect_uri: callback,
  });
  for (let tries = 0; tries < 600; tries++) {
    assertEquals((await world.post("/oauth/token", form)).status, 400);
  }
  const { status, body } = await world.post("/oauth/token", form);
  assertEquals([status, body.error], [429, "temporarily_unavailable"]);
  assertEquals(documentProblems("redeemCode", status, body), []);
});
