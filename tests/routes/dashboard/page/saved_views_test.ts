/** Saved views of the list of calls: a person's own, of each organisation apart. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { listSavedViews, maxSavedViews } from "../../../../kv/people/accounts/saved_views.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";
import { openCompany } from "../../../support/worlds/company_world.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";

async function save(browser: TestBrowser, query: string, name: string) {
  const page = await browser.get(`/usage?${query}`);
  return await browser.submit(page, "/usage/views", { name });
}

Deno.test("a filter is saved with a name, opened by it, and removed", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn("ann@example.com");
  const query = "period=7d&status=error&error=family%3Aprovider";
  const saved = await save(browser, query, "Failures <of> providers");
  assertEquals(saved.status, 303);
  const shown = await browser.follow(saved);
  assertStringIncludes(shown.text, "Failures &lt;of&gt; providers");
  assert(!shown.text.includes('action="/usage/views"'), "it is saved already");
  const [, href] = /<a class="chip" href="(\/usage\?[^"]*)"[^>]*>Failures/.exec(
    (await browser.get("/usage")).text,
  ) ?? [];
  assertEquals(href?.replaceAll("&amp;", "&"), `/usage?${query}`);
  const removed = await browser.submit(shown, "/usage/views/remove");
  assertEquals(removed.headers.get("location"), `/usage?${query}`);
  assert(!(await browser.get("/usage")).text.includes("Failures"));
});

Deno.test("views are a person's own, of one organisation, and bounded", async () => {
  await using world = await openDashboardWorld();
  const { kv } = world;
  const { account, members: { owner, viewer } } = await openCompany(world);
  await save(viewer.browser, "period=24h", "Mine");
  assertStringIncludes((await viewer.browser.get("/usage")).text, ">Mine<");
  assert(!(await owner.browser.get("/usage")).text.includes(">Mine<"));
  const of = { personId: viewer.person.id, organisationId: account.id };
  assertEquals(await listSavedViews(kv, { ...of, organisationId: viewer.person.id }), []);
  for (let at = 0; at < maxSavedViews + 3; at++) {
    await save(viewer.browser, `period=7d&model=m${at}`, `View ${at}`);
  }
  assertEquals((await listSavedViews(kv, of)).length, maxSavedViews);
  // Only a filter comes back from a form, whatever it sends.
  const sent = await viewer.browser.get("/usage");
  const odd = await viewer.browser.submit(sent, "/usage/views", {
    name: "x",
    query: "//evil.example",
  });
  assertEquals(odd.headers.get("location")?.startsWith("/usage?"), true);
});
