import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../support/assert.ts";
import { StoreTimeoutError } from "../../../kv/engine/store/store_deadlines.ts";
import { createDashboard } from "../../../routes/dashboard/mod.ts";
import { openDashboardWorld, testPassword } from "../../support/worlds/dashboard_world.ts";
import { formsOf } from "../../support/browser/test_browser.ts";

const email = "ann@example.com";

Deno.test("every form of every page has the token, and without it has no effect", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const pages = [
    "/",
    "/keys",
    "/keys/new",
    "/webhooks/new",
    "/usage",
    "/models",
    "/connect",
    "/account",
  ];
  for (const path of pages) {
    const page = await browser.get(path);
    assertEquals(page.status, 200, path);
    for (const { action, fields } of formsOf(page.text)) {
      const isGet = ["/usage", "/search", "/models", ""].includes(action);
      if (isGet) continue;
      assert(fields.some(([name]) => name === "csrf"), `${path}: the form to ${action}`);
      const without = fields.filter(([name]) => name !== "csrf");
      assertEquals((await browser.post(action, without)).status, 403, action);
    }
  }
});

Deno.test("a token of another browser or session is refused", async () => {
  await using world = await openDashboardWorld();
  const { browser: ann } = await world.signIn(email);
  const { browser: bob } = await world.signIn("bob@example.com");
  const tokenIn = (text: string) => /name="csrf" value="([^"]+)"/.exec(text)![1]!;
  const bobs = tokenIn((await bob.get("/keys/new")).text);
  assertEquals((await ann.post("/keys", { csrf: bobs, name: "x" })).status, 403);
  const anonymous = tokenIn((await world.browser().get("/sign-in")).text);
  assertEquals((await ann.post("/keys", { csrf: anonymous, name: "x" })).status, 403);
  const own = await ann.get("/keys/new");
  assertEquals((await ann.submit(own, "/keys", { name: "x" })).status, 200);
});

Deno.test("a public address that is no URL makes no form fail with 500", async () => {
  await using world = await openDashboardWorld({ baseUrl: "http://gw.example" });
  const dashboard = createDashboard({ ...world.deps, baseUrl: "http://::1:8787" });
  const csrf = { csrf: "none" };
  for (const origin of ["http://gw.example", "http://evil.example", "null", "::", ""]) {
    const response = await dashboard.request("http://gw.example/preferences", {
      method: "POST",
      body: new URLSearchParams(csrf),
      headers: { origin, "sec-fetch-site": "same-origin" },
    });
    assertEquals(response.status, 403, origin);
    await response.body?.cancel();
  }
});

Deno.test("signing in needs the token too: nobody is signed in as somebody else", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const victim = world.browser();
  await victim.get("/sign-in");
  assertEquals((await victim.post("/sign-in", { email, password: testPassword })).status, 403);
});

Deno.test("a post from another site is refused, even with a right token", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const page = await browser.get("/keys/new");
  const form = formsOf(page.text).find(({ action }) => action === "/keys")!;
  const fields: [string, string][] = [
    ...form.fields.filter(([name]) => name !== "name"),
    ["name", "x"],
  ];
  const headerSets: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
    { "sec-fetch-site": "same-origin", origin: "https://evil.example" },
    { "sec-fetch-site": "same-origin", origin: "null" },
  ];
  for (const headers of headerSets) {
    const answer = await browser.post("/keys", fields, headers);
    assertEquals(answer.status, 403, JSON.stringify(headers));
  }
  assertEquals((await browser.post("/keys", fields)).status, 200);
});

Deno.test("what people type is shown as text, never as markup", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const evil = `<img src=x onerror=alert(1)>"'><script>alert(1)</script>`;
  const page = await browser.get("/keys/new");
  const made = await browser.submit(page, "/keys", { name: evil.slice(0, 60) });
  assertEquals(made.status, 200);
  const list = await browser.get("/keys");
  const refused = await browser.submit(page, "/keys", { name: "x", ips: evil });
  const signIn = await world.browser().get(`/sign-in?next=${encodeURIComponent(`/"><script>x`)}`);
  const search = await browser.get(`/models?q=${encodeURIComponent(evil)}`);
  const usage = await browser.get(
    `/usage?key=${encodeURIComponent(evil)}&model=${encodeURIComponent(evil)}`,
  );
  for (const { text, path } of [made, list, refused, signIn, search, usage]) {
    assert(!text.includes("<img src=x"), path);
    assert(!/<script>(alert|x)/.test(text), path);
  }
  assertStringIncludes(list.text, "&lt;img src=x");
});

Deno.test("no page has inline script or style, and the policy forbids them", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const pages = ["/", "/keys", "/keys/new", "/usage", "/models", "/connect", "/account", "/nope"];
  for (const path of pages) {
    const page = await browser.get(path);
    const policy = page.headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "default-src 'none'");
    assertStringIncludes(policy, "script-src 'self'");
    assert(!policy.includes("unsafe"), policy);
    assertEquals(page.headers.get("x-content-type-options"), "nosniff");
    assertEquals(page.headers.get("x-frame-options"), "DENY");
    assertEquals(page.headers.get("cache-control"), "no-store", path);
    assertMatch(page.headers.get("strict-transport-security") ?? "", /max-age=\d+/);
    assert(!/<script(?![^>]*\bsrc=)[^>]*>/.test(page.text), `${path}: inline script`);
    assert(!/<style\b/.test(page.text), `${path}: inline style sheet`);
    assert(!/\sstyle="/.test(page.text), `${path}: inline style`);
    assert(!/\son\w+="/.test(page.text), `${path}: inline handler`);
    assert(!/(src|href)="https?:\/\/(?!gw\.example)/.test(page.text), `${path}: another host`);
  }
});

Deno.test("assets are served under their hash, compressed, for ever; other names are not", async () => {
  await using world = await openDashboardWorld();
  const page = await world.browser().get("/");
  const paths = [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) =>
    path!
  );
  assert(paths.length >= 4, String(paths));
  for (const path of paths) {
    const response = await world.fetch(
      new Request(world.baseUrl + path, { headers: { "accept-encoding": "gzip" } }),
    );
    assertEquals(response.status, 200, path);
    assertEquals(response.headers.get("content-encoding"), "gzip");
    assertStringIncludes(response.headers.get("cache-control")!, "immutable");
    const zipped = await response.bytes();
    const plain = await world.fetch(new Request(world.baseUrl + path));
    const text = await plain.text();
    const unzipped = await new Response(
      new Blob([zipped]).stream().pipeThrough(new DecompressionStream("gzip")),
    ).text();
    assertEquals(unzipped, text);
  }
  const guessed = await world.fetch(new Request(`${world.baseUrl}/assets/app.000000000000.js`));
  assertEquals(guessed.status, 404);
  await guessed.body?.cancel();
});

Deno.test("a form that is too large is refused before it is read whole", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const answer = await browser.post("/keys", { name: "x".repeat(300_000) });
  assertEquals(answer.status, 413);
});

Deno.test("a client of the API never gets a page", async () => {
  await using world = await openDashboardWorld();
  const ask = async (path: string, headers: Record<string, string>) => {
    const response = await world.fetch(new Request(world.baseUrl + path, { headers }));
    await response.body?.cancel();
    return `${response.status} ${response.headers.get("content-type")?.split(";")[0]}`;
  };
  const json = "404 application/json";
  assertEquals(await ask("/models", { authorization: "Bearer sk-x" }), json);
  assertEquals(await ask("/models", { accept: "application/json" }), json);
  assertEquals(await ask("/keys", { "x-api-key": "sk-x", accept: "text/html" }), json);
  assertEquals(await ask("/chat/completions", {}), json);
  assertEquals(await ask("/v1/nothing", { accept: "text/html" }), json);
  assertEquals(await ask("/v1/models", { accept: "text/html" }), "200 application/json");
  assertEquals(await ask("/models", { accept: "text/html" }), "200 text/html");
  assertEquals(await ask("/models", { accept: "*/*" }), "200 text/html");
  assertEquals(await ask("/models", { accept: "*/*", "x-api-key": "sk-x" }), json);
  assertEquals(await ask("/", {}), "200 text/html");
  assertEquals(await ask("/no-such-page", { accept: "text/html" }), "404 text/html");
});

Deno.test("a store that fails during the session lookup gives a page in the visitor's language", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const cookie = `__Host-session=${browser.cookies.get("__Host-session")}`;
  const ask = async (error: Error, language: string) => {
    const kv = Object.assign(await Deno.openKv(":memory:"), { get: () => Promise.reject(error) });
    const dashboard = createDashboard({ ...world.deps, kv });
    const headers = { cookie, "accept-language": language };
    const response = await dashboard.request(`${world.baseUrl}/keys`, { headers });
    kv.close();
    return { status: response.status, text: await response.text() };
  };
  const silent = await ask(new StoreTimeoutError(), "vi");
  assertEquals(silent.status, 503);
  assertStringIncludes(silent.text, "Đang quá bận");
  const broken = await ask(new Error("secret detail"), "en");
  assertEquals(broken.status, 500);
  assertStringIncludes(broken.text, "Something went wrong");
  assert(!broken.text.includes("secret detail"));
});

Deno.test("an exception shows a page that reveals nothing of it", async () => {
  await using world = await openDashboardWorld();
  const wallet = { balance: () => Promise.reject(new Error("secret detail")) };
  const dashboard = createDashboard({ ...world.deps, wallet });
  const { browser } = await world.signIn(email);
  const cookie = `__Host-session=${browser.cookies.get("__Host-session")}`;
  const response = await dashboard.request(`${world.baseUrl}/`, { headers: { cookie } });
  const text = await response.text();
  assertEquals(response.status, 500);
  assertStringIncludes(text, "Something went wrong");
  assert(!text.includes("secret detail"));
});

Deno.test("pages speak the browser's language until the visitor chooses one", async () => {
  await using world = await openDashboardWorld();
  const vietnamese = await world.browser({ "accept-language": "vi-VN,vi;q=0.9" }).get("/sign-in");
  assertStringIncludes(vietnamese.text, '<html lang="vi"');
  assertStringIncludes(vietnamese.text, "Đăng nhập");
  const french = await world.browser({ "accept-language": "fr" }).get("/sign-in");
  assertStringIncludes(french.text, '<html lang="en"');

  const { browser } = await world.signIn(email);
  const page = await browser.get("/keys?x=1");
  const chosen = await browser.submit(page, "/preferences", { locale: "vi", theme: "dark" });
  assertEquals(chosen.headers.get("location"), "/keys?x=1");
  const after = await browser.get("/keys");
  assertStringIncludes(after.text, '<html lang="vi" data-theme="dark"');
  await browser.submit(after, "/preferences", { locale: "xx", theme: "<script>", next: "//evil" });
  assertStringIncludes((await browser.get("/keys")).text, '<html lang="vi" data-theme="dark"');
});

Deno.test("a form sent after the session ended leads to the sign-in and back to its page", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const form = await browser.get("/keys/new");
  browser.cookies.delete("__Host-session");
  const headers = { referer: "https://gw.example/keys/new?a=1" };
  const answer = await browser.submit(form, "/keys", { name: "laptop" }, headers);
  assertEquals(answer.status, 303);
  const target = answer.headers.get("location") ?? "";
  assertEquals(target, "/sign-in?next=%2Fkeys%2Fnew%3Fa%3D1&ended=");
  const signIn = await browser.get(target);
  assertStringIncludes(signIn.text, "the form you sent had no effect");
  const back = await browser.submit(signIn, "/sign-in", { email, password: testPassword });
  assertEquals(back.headers.get("location"), "/keys/new?a=1");
});

Deno.test("every page mentions maintenance while it lasts", async () => {
  await using world = await openDashboardWorld();
  const said: string[] = [];
  const dashboard = createDashboard({ ...world.deps, maintenance: () => said.at(-1) });
  const read = async () => await (await dashboard.request("https://gw.example/sign-in")).text();
  assert(!(await read()).includes("Maintenance"));
  said.push("Back at <noon>");
  const page = await read();
  assertStringIncludes(page, "Maintenance");
  assertStringIncludes(page, "Back at &lt;noon&gt;");
});
