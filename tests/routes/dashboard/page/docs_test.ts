import { customerOperations } from "../../../../routes/openapi/document.ts";
import { exampleModels } from "../../../../routes/openapi/example_models.ts";
import { tags } from "../../../../routes/openapi/operation.ts";
import { guides } from "../../../../routes/dashboard/public/docs/guides/guides.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";

const tagPages = Object.keys(tags).map((tag) => `/docs/api/${tag.toLowerCase()}`);
const guidePages = guides.map(({ slug }) => `/docs/${slug}`);

/** Pages of others, not mounted in this world, and files of the API. */
const elsewhere = ["/wallet", "/openapi.json"];

Deno.test("the documentation is whole in both languages, and its links lead somewhere", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  for (const language of ["en", "vi"]) {
    const visitor = world.browser({ "accept-language": language });
    const links = new Set<string>();
    for (const path of ["/docs", "/docs/tools", ...guidePages, ...tagPages]) {
      const { status, text } = await visitor.get(path);
      assertEquals(status, 200, path);
      assertStringIncludes(text, `<html lang="${language}"`);
      assertStringIncludes(text, '<meta name="description"');
      for (const [, href] of text.matchAll(/<a [^>]*href="(\/[^"#?]*)/g)) links.add(href!);
    }
    assert(links.size > 15);
    for (const link of links) {
      if (elsewhere.includes(link)) continue;
      const { status } = await (link.startsWith("/sign") ? visitor : browser).get(link);
      assertEquals(status, 200, link);
    }
  }
});

Deno.test("the reference and /llms.txt have every operation", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const pages = await Promise.all(tagPages.map((path) => browser.get(path)));
  const reference = pages.map(({ text }) => text).join("\n");
  const { text, headers } = await browser.get("/llms.txt");
  assertStringIncludes(headers.get("content-type") ?? "", "text/plain");
  for (const { id, tag, method, path } of customerOperations(exampleModels(world.deps.catalog))) {
    const page = `/docs/api/${tag.toLowerCase()}/${id}`;
    assertStringIncludes(reference, `href="${page}"`);
    assertStringIncludes((await browser.get(page)).text, path);
    assertStringIncludes(text, `\`${method.toUpperCase()} ${path}\``);
  }
  for (const { id } of world.deps.catalog.models) assertStringIncludes(text, `\`${id}\``);
  assert(!text.includes("](/"), "a link without an address");
});

Deno.test("an unknown page of the documentation is a 404", async () => {
  await using world = await openDashboardWorld();
  for (const path of ["/docs/nothing", "/docs/api/nothing", "/docs/api/chat/nothing"]) {
    assertEquals((await world.browser().get(path)).status, 404, path);
  }
});

Deno.test("the reference says which key an operation takes, in words and in its example", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const said: readonly (readonly [string, string, string])[] = [
    ["organisation/createTopup", "Takes a management key", "Bearer YOUR_MANAGEMENT_KEY"],
    ["organisation/cancelTopup", "Takes a management key", "curl -X POST"],
    ["account/getUsage", "Takes an API key, or a management key", "Bearer YOUR_KEY"],
  ];
  for (const [path, words, example] of said) {
    const { text } = await browser.get(`/docs/api/${path}`);
    assertStringIncludes(text, words, path);
    assertStringIncludes(text.replaceAll(/<[^>]+>/g, ""), example, path);
    assert(!text.includes("No key is needed"), path);
  }
  assertStringIncludes(
    (await browser.get("/docs/api/models/getStatus")).text,
    "No key is needed",
  );
});
