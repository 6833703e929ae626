import { noteVerification } from "../../../kv/services/verify/last_verification.ts";
import { Hono } from "hono";
import type { DashboardEnv } from "../../../routes/dashboard/mod.ts";
import { operatorPages } from "../../../routes/operator/pages/operator_pages.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

Deno.test("the model page shows every model of the catalogue with its price, and finds by word and kind", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const { text } = await browser.get("/models");
  for (const model of world.deps.catalog.models) assertStringIncludes(text, `>${model.id}<`);
  assertStringIncludes(text, "₫8,300");
  assertStringIncludes(text, "0.3773");
  const rows = async (query: string) =>
    ((await browser.get(`/models${query}`)).text.match(/<tr>/g) ?? []).length - 1;
  assertEquals(await rows(""), world.deps.catalog.models.length);
  const videos = world.deps.catalog.models.filter(({ kind }) => kind === "video").length;
  assertEquals(await rows("?kind=video"), videos);
  assertEquals(await rows("?kind=nonsense"), world.deps.catalog.models.length);
  assertEquals(await rows("?q=PREMIUM+fast"), 1);
  assertStringIncludes((await browser.get("/models?q=nothing-fits")).text, "No model matches");
});

Deno.test("prices are written as the language writes numbers", async () => {
  await using world = await openDashboardWorld();
  const { text } = await world.browser({ "accept-language": "vi" }).get("/models");
  assertStringIncludes(text, "8.300\u00a0₫");
  assertStringIncludes(text, "0,3773");
});

Deno.test("the connect page gives each kind of client its own base address", async () => {
  await using world = await openDashboardWorld();
  const { text } = await world.browser().get("/connect");
  assertStringIncludes(text, "base_url=&quot;https://gw.example&quot;");
  assertStringIncludes(text, "base_url=&quot;https://gw.example/v1&quot;");
  assertStringIncludes(text, 'data-copy="https://gw.example"');
  assertStringIncludes(text, 'data-copy="https://gw.example/v1"');
});

Deno.test("visitors see the landing page, and every link of it leads somewhere", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const { text, status } = await browser.get("/");
  assertEquals(status, 200);
  const links = new Set([...text.matchAll(/<a [^>]*href="(\/[^"#]*)"/g)].map(([, href]) => href!));
  assert(links.size >= 5, [...links].join());
  for (const link of links) assertEquals((await browser.get(link)).status, 200, link);
});

Deno.test("the landing page says that the books agree only if they do", async () => {
  for (const [problems, isSaid] of [[0, true], [1, false]] as const) {
    await using world = await openDashboardWorld();
    await noteVerification(world.kv, false, { atMs: world.time.nowMs(), problems });
    const { text } = await world.browser().get("/");
    assertEquals(text.includes("The books agree"), isSaid);
  }
});

Deno.test("code has the colours of its language and is copied as it is; values and texts have none", async () => {
  await using world = await openDashboardWorld();
  const { text } = await world.browser().get("/docs/quickstart");
  const blocks = text.split('class="code-block"').slice(1);
  assertEquals(blocks.length, 3);
  for (const block of blocks) {
    const shown = /<code>([\s\S]*?)<\/code>/.exec(block)?.[1] ?? "";
    const copied = /data-copy="([\s\S]*?)"/.exec(block)?.[1] ?? "";
    assert(shown.includes('class="hljs-string"'), shown);
    const plain = (html: string) => html.replaceAll(/<[^>]+>/g, "").replaceAll("&#x27;", "&#39;");
    assertEquals(plain(shown), plain(copied));
  }
});

Deno.test("every link of the navigation leads to a page", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const { text } = await browser.get("/");
  const nav = /<nav class="side"[\s\S]*?<\/nav>/.exec(text)![0];
  const links = [...nav.matchAll(/href="([^"]+)"/g)].map(([, href]) => href!);
  assertEquals(links.length, 15);
  const others = ["/wallet", "/invoices"]; // pages of others, not mounted in this world
  for (const link of links.filter((href) => !others.includes(href))) {
    assertEquals((await browser.get(link)).status, 200, link);
  }
});

Deno.test("the operator's entry shows to operators only", async () => {
  const { navigation } = operatorPages;
  const app = new Hono<DashboardEnv>().get("/operator", (c) => c.text("Operator"));
  await using world = await openDashboardWorld({
    operators: ["boss@example.com"],
    more: () => [{ navigation, app }],
  });
  const { browser: boss } = await world.signIn("boss@example.com");
  const { browser: ann } = await world.signIn("ann@example.com");
  assertStringIncludes((await boss.get("/")).text, 'href="/operator"');
  assert(!(await ann.get("/")).text.includes('href="/operator"'));
});

Deno.test("models are ordered by price, context and speed, as a table or as cards", async () => {
  await using world = await openDashboardWorld();
  const { models } = world.deps.catalog;
  const browser = world.browser();
  const ids = async (query: string) =>
    [...(await browser.get(`/models${query}`)).text.matchAll(/href="\/models\/([^"]+)"/g)]
      .map(([, id]) => decodeURIComponent(id!));
  const inOrder = models.map(({ id }) => id);
  assertEquals(await ids(""), inOrder);
  assertEquals(await ids("?sort=nonsense"), inOrder);
  const prices = (await ids("?sort=price&kind=chat"))
    .map((id) => world.deps.catalog.find(id)?.price);
  const byToken = prices.findLastIndex((price) => price?.unit === "token") + 1;
  const cheapFirst = prices.slice(0, byToken).map((price) => {
    assert(price?.unit === "token", "units are mixed");
    return Number(price.vndPerMtok) + Number(price.outputVndPerMtok ?? price.vndPerMtok);
  });
  assertEquals(cheapFirst, cheapFirst.toSorted((one, other) => one - other));
  assert(new Set(cheapFirst).size > 1);
  const contexts = (await ids("?sort=context&kind=chat"))
    .map((id) => world.deps.catalog.find(id)?.contextWindow ?? 0);
  assertEquals(contexts, contexts.toSorted((one, other) => other - one));
  assertEquals((await ids("?sort=speed")).toSorted(), inOrder.toSorted());
  const cards = await browser.get("/models?view=cards&q=premium");
  assertEquals(cards.text.match(/<li class="card">/g)?.length, 3);
  assert(!cards.text.includes("<table"));
});
