/** Pages for strangers are rendered once for all of them, and hold nothing of any one of them. */
import { type Context, Hono } from "hono";
import { buildCatalog, type Catalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import type { DashboardEnv } from "../../../routes/dashboard/page/visitor.ts";
import { SharedPages } from "../../../routes/dashboard/visitor/shared_pages.ts";
import { mountPage } from "../../../routes/dashboard/page/page.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

const address = "https://gw.example";
async function otherCatalog(): Promise<Catalog> {
  const text = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));
  const built = buildCatalog(gatewayFileSchema.parse(JSON.parse(text)));
  if (!built.ok) throw new Error(built.problems.join("\n"));
  return built.catalog;
}

/** A dashboard with a shared page that counts how often it is rendered. */
async function countingWorld() {
  let renders = 0;
  const page = async (c: Context<DashboardEnv>) => {
    renders++;
    // As a page that reads the store does.
    await Promise.resolve();
    if (c.req.path.endsWith("/none")) return c.text("none", 404);
    if (c.req.path.endsWith("/cookie")) c.header("set-cookie", "a=b");
    return c.html(`<p>${c.get("visitor").locale} ${c.get("visitor").theme}</p>`);
  };
  const routes = () => new Hono<DashboardEnv>().get("/counted", page).get("/counted/:id", page);
  const world = await openDashboardWorld({
    more: (deps) => [mountPage({ isShared: true, routes }, deps)],
  });
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const before = renders;
    const init = { headers: { accept: "text/html", "accept-language": "en", ...headers } };
    const response = await world.fetch(new Request(address + path, init));
    return { response, text: await response.text(), renders: renders - before };
  };
  return { world, ask, renders: () => renders };
}

Deno.test("1,000 strangers are one render for each language and theme", async () => {
  const { world, ask, renders } = await countingWorld();
  await using _ = world;
  const visitors = ["en", "vi"].flatMap((locale) =>
    ["auto", "light", "dark"].map((theme) => ({ cookie: `locale=${locale}; theme=${theme}` }))
  );
  const answers = await Promise.all(
    Array.from({ length: 1_002 }, (_, i) => ask("/counted", visitors[i % 6])),
  );
  assertEquals(renders(), 6);
  // More than an address may have rendered: what is kept costs nothing of it.
  assert(answers.every(({ response }) => response.status === 200));
  assertEquals(new Set(answers.map(({ text }) => text)).size, 6);
});

Deno.test("what a stranger's page depends on makes a new one; what is meant for one is not kept", async (t) => {
  const { world, ask } = await countingWorld();
  await using _ = world;
  const again = async (path: string, headers?: Record<string, string>) =>
    (await ask(path, headers)).renders;
  await ask("/counted");
  assertEquals(await again("/counted"), 0);
  await t.step("another path, a query, errors, cookies", async () => {
    assertEquals(await again("/counted/1"), 1);
    for (const path of ["/counted?a", "/counted/none", "/counted/cookie"]) {
      assertEquals([await again(path), await again(path)], [1, 1], path);
    }
  });
  await t.step("a session, also one that has ended", async () => {
    const { browser } = await world.signIn("ann@example.com");
    const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ");
    for (const one of [cookie, "__Host-session=ended"]) {
      const headers = { cookie: one };
      assertEquals([await again("/counted", headers), await again("/counted", headers)], [1, 1]);
    }
  });
  await t.step("time", async () => {
    world.time.advance(4_999);
    assertEquals(await again("/counted"), 0);
    world.time.advance(1);
    assertEquals([await again("/counted"), await again("/counted")], [1, 0]);
  });
  await t.step("the catalogue, maintenance", async () => {
    Object.assign(world.deps, { catalog: await otherCatalog() });
    assertEquals([await again("/counted"), await again("/counted")], [1, 0]);
    Object.assign(world.deps, { maintenance: () => "Back at noon" });
    assertEquals([await again("/counted"), await again("/counted")], [1, 0]);
  });
});

Deno.test("a kept page is sent compressed or plain, or not at all to who has it", async () => {
  const { world, ask } = await countingWorld();
  await using _ = world;
  const plain = await ask("/counted");
  assertEquals(plain.response.headers.get("content-encoding"), null);
  assertEquals(plain.response.headers.get("cache-control"), "private, no-cache");
  assertStringIncludes(plain.response.headers.get("vary") ?? "", "accept-encoding");
  assertStringIncludes(plain.response.headers.get("vary") ?? "", "cookie");
  const response = await world.fetch(
    new Request(`${address}/counted`, {
      headers: { "accept-encoding": "gzip, br", "accept-language": "en" },
    }),
  );
  assertEquals(response.headers.get("content-encoding"), "gzip");
  const unzipped = response.body!.pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(unzipped).text(), plain.text);
  const etag = response.headers.get("etag") ?? "";
  const same = await ask("/counted", { "if-none-match": `"x", ${etag}` });
  assertEquals([same.response.status, same.text, same.renders], [304, "", 0]);
  assertStringIncludes(same.response.headers.get("content-security-policy") ?? "", "default-src");
  const other = await ask("/counted", { "if-none-match": etag, cookie: "locale=vi" });
  assertEquals(other.response.status, 200);
});

Deno.test("a page for strangers has nothing of one of them", async (t) => {
  await using world = await openDashboardWorld();
  const sitemap = (await world.browser().get("/sitemap.xml")).text;
  const listed = [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url = ""]) => new URL(url));
  assert(listed.length > 10);
  const paths = [...listed.map(({ pathname }) => pathname), "/llms.txt", "/robots.txt"];
  const { browser: signedIn } = await world.signIn("cem@example.com");
  for (const path of paths) {
    await t.step(path, async () => {
      const [ann, bob] = [world.browser(), world.browser()];
      await bob.get("/sign-in");
      const pages = [await ann.get(path), await bob.get(path)] as const;
      assertEquals(pages.map(({ status }) => status), [200, 200]);
      assertEquals(pages[0].text, pages[1].text);
      assert(pages[0].headers.has("etag"), "kept");
      assert(!pages[0].text.includes("csrf"));
      assertEquals(pages[0].headers.getSetCookie(), []);
      const own = await signedIn.get(path);
      assertEquals(own.headers.get("etag"), null);
      const isPage = own.headers.get("content-type")?.startsWith("text/html") === true;
      assertEquals(own.text.includes("csrf"), isPage);
    });
  }
});

Deno.test("language and theme can be chosen on a shared page, but not from another site", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const page = await browser.get("/models");
  const foreign = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  const refused = await browser.submit(page, "/preferences", { locale: "vi" }, foreign);
  assertEquals(refused.status, 403);
  const chosen = await browser.submit(page, "/preferences", { locale: "vi", theme: "dark" });
  assertEquals([chosen.status, chosen.headers.get("location")], [303, "/models"]);
  const text = (await browser.get("/models")).text;
  assertStringIncludes(text, '<html lang="vi" data-theme="dark">');
  // The other forms without a session keep asking for the token, and so does this one with a session.
  for (const form of ["/sign-in", "/sign-up", "/reset"]) {
    assertEquals((await browser.post(form, { email: "ann@example.com" })).status, 403, form);
  }
  const { browser: ann } = await world.signIn("ann@example.com");
  assertEquals((await ann.submit(page, "/preferences", { locale: "vi" })).status, 403);
});

Deno.test("kept pages are bounded in number and bytes, the least recently used leaves", async () => {
  const catalog = await otherCatalog();
  const state = { catalog, notices: "" };
  const pages = new SharedPages(new ManualTime());
  let renders = 0;
  const get = (key: string, bytes: BodyInit) =>
    pages.get(key, state, () => {
      renders++;
      return Promise.resolve(new Response(bytes, { headers: { "content-type": "text/html" } }));
    });
  for (let i = 0; i < 600; i++) {
    await get(`page ${i}`, "x");
    await get("often", "x");
  }
  assertEquals([renders, pages.size.pages], [601, 512]);
  await get("page 88", "x");
  await get("page 599", "x");
  assertEquals(renders, 602);
  const large = crypto.getRandomValues(new Uint8Array(60_000));
  for (let i = 0; i < 300; i++) await get(`large ${i}`, large);
  assert(pages.size.bytes <= 16 * 1024 * 1024 && pages.size.pages < 300, `${pages.size.bytes}`);
  const { pages: before } = pages.size;
  await get(
    "too large",
    new Blob(Array.from({ length: 300 }, () => crypto.getRandomValues(large.slice()))),
  );
  assertEquals(pages.size.pages, before);
});

Deno.test("a page that fails is not kept, and who waited for it renders it", async () => {
  const state = { catalog: await otherCatalog(), notices: "" };
  const pages = new SharedPages(new ManualTime());
  const { promise, reject } = Promise.withResolvers<Response>();
  const failing = pages.get("page", state, () => promise);
  let renders = 0;
  const waiting = pages.get("page", state, () => {
    renders++;
    return Promise.resolve(new Response("none", { status: 404 }));
  });
  assertEquals(renders, 0);
  reject(new Error("the store is away"));
  assertEquals(await failing.catch(String), "Error: the store is away");
  assertEquals([await waiting, renders], [undefined, 1]);
  assertEquals(pages.size, { pages: 0, bytes: 0 });
});
