import { parseMarkdown } from "../../../routes/dashboard/public/site/site_files.tsx";
import { readSuppliedPages } from "../../../routes/dashboard/page/supplied_pages.ts";
import { createDashboard } from "../../../routes/dashboard/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";

Deno.test("every address of the sitemap is a page with a description, in both languages", async () => {
  await using world = await openDashboardWorld();
  const { text, headers } = await world.browser().get("/sitemap.xml");
  assertStringIncludes(headers.get("content-type") ?? "", "application/xml");
  const addresses = [...text.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, address]) => address!);
  assert(addresses.length > 70);
  assertEquals(addresses.filter((address) => !address.startsWith(world.baseUrl)), []);
  for (const language of ["en", "vi"]) {
    const browser = world.browser({ "accept-language": language });
    for (const address of addresses) {
      const page = await browser.get(address.slice(world.baseUrl.length));
      assertEquals(page.status, 200, address);
      assertMatch(page.text, /<meta name="description" content="[^"]{10,}"/, address);
    }
  }
});

Deno.test("crawlers find the sitemap, and pages of an account are not indexed", async () => {
  await using world = await openDashboardWorld();
  const { text } = await world.browser().get("/robots.txt");
  assertStringIncludes(text, `Sitemap: ${world.baseUrl}/sitemap.xml`);
  assertStringIncludes(text, "Disallow: /operator\n");
  const { browser } = await world.signIn();
  for (const path of ["/keys", "/usage", "/account"]) {
    assertStringIncludes((await browser.get(path)).text, '<meta name="robots" content="noindex"');
  }
});

Deno.test("texts of the operator become pages, in the language where there is one, without HTML", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-pages-" });
  try {
    await Deno.writeTextFile(
      `${folder}/terms.md`,
      "# Our terms\n\n<script>x</script> **Pay** first.\n",
    );
    await Deno.writeTextFile(
      `${folder}/privacy.en.md`,
      "# Privacy\n\n- [Mail](mailto:a@b.example)\n",
    );
    await Deno.writeTextFile(`${folder}/privacy.vi.md`, "# Riêng tư\n\n[x](javascript:alert(1))\n");
    await using world = await openDashboardWorld();
    const company = "Một Hai Ba Co., Ltd. · Tax code 0100000000 · <Hà Nội>";
    const suppliedPages = readSuppliedPages(folder);
    const app = createDashboard({ ...world.deps, suppliedPages, company });
    const get = async (path: string, language: string) =>
      await (await app.request(path, { headers: { "accept-language": language } })).text();
    const terms = await get("/terms", "vi");
    assertStringIncludes(terms, ">Our terms</h1>");
    assertStringIncludes(terms, "&lt;script&gt;x&lt;/script&gt; <strong>Pay</strong> first.");
    assertStringIncludes(await get("/privacy", "en"), '<a href="mailto:a@b.example">Mail</a>');
    const privacy = await get("/privacy", "vi");
    assertStringIncludes(privacy, ">Riêng tư</h1>");
    assert(!privacy.includes('href="javascript:'));
    assertStringIncludes(await get("/sitemap.xml", "en"), "/privacy</loc>");
    const foot = /<footer[\s\S]*<\/footer>/.exec(await get("/", "en"))![0];
    assert(foot.includes('href="/terms"') && !foot.includes('href="/changelog"'));
    assertStringIncludes(foot, "Một Hai Ba Co., Ltd. · Tax code 0100000000 · &lt;Hà Nội&gt;");
    assertEquals((await app.request("/changelog")).status, 404);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  assertThrows(() => readSuppliedPages(`${folder}/gone`), Deno.errors.NotFound);
});

Deno.test("every line of a Markdown text is in one of its blocks", () => {
  const text =
    "# T\r\n\r\nA\r\nb\n## H\n1. one\n2) two\n   more\n```ts\n# code\n```\n#no heading\n```\nopen";
  const { title, blocks } = parseMarkdown(text);
  assertEquals(title, "T");
  assertEquals(blocks, [
    { kind: "paragraph", text: "A b" },
    { kind: "heading", level: 2, text: "H" },
    { kind: "list", ordered: true, items: ["one", "two more"] },
    { kind: "code", text: "# code" },
    { kind: "paragraph", text: "#no heading" },
    { kind: "code", text: "open" },
  ]);
});
