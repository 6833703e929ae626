/** The search of the top bar. */
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { operatorPages } from "../../../../routes/operator/pages/operator_pages.ts";
import { Hono } from "hono";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";

Deno.test("a request id leads to its call, one name to its page, several to a list", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "Máy chủ đầu tiên",
    nowMs: world.time.nowMs(),
  });
  if (!made.ok) throw new Error(made.reason);
  const leadsTo = async (query: string) => {
    const { status, headers } = await browser.get(`/search?q=${encodeURIComponent(query)}`);
    return status === 303 ? headers.get("location") : status;
  };
  const id = "req_0mwvgyc8d000000000000lflk";
  assertEquals(await leadsTo(` ${id} `), `/receipts/${id}`);
  assertEquals(await leadsTo("may chu dau"), `/keys/${made.record.id}`);
  assertEquals(await leadsTo("wallet"), "/wallet");
  assertEquals(await leadsTo("premium-1-think"), "/models/premium-1-thinking");
  const models = await browser.get("/search?q=premium");
  assertEquals(models.status, 200);
  assertStringIncludes(models.text, "/models/premium-1");
  assert(!models.text.includes("Operator"));
  assertStringIncludes((await browser.get("/search?q=%3Cb%3E")).text, "No results");
  assertEquals((await browser.get("/search")).status, 200);
  const bob = await world.signIn("bob@example.com");
  const hidden = await bob.browser.get(`/search?q=${encodeURIComponent("Máy chủ")}`);
  assert(!hidden.text.includes(made.record.id), "keys of others are not found");
});

Deno.test("guides are found by their words, endpoints and error codes by their name, customers by operators only", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const found = async (query: string, visitor = browser) => {
    const path = `/search/suggestions?q=${encodeURIComponent(query)}`;
    const { text, status } = await visitor.get(path);
    assertEquals(status, 200);
    assert(!text.includes("<html"), "a part of a page");
    return [...text.matchAll(/<a href="([^"]+)" role="option"/g)].map(([, href]) => href);
  };
  const rows: readonly (readonly [string, string])[] = [
    ["streaming", "/docs/streaming"],
    ["max_tokens", "/docs/errors"],
    ["insufficient", "/docs/errors#insufficient_balance"],
    ["v1/messages", "/docs/api/chat/createMessage"],
    ["premium-1-think", "/models/premium-1-thinking"],
    ["req_0mwvgyc8d000000000000lflk", "/receipts/req_0mwvgyc8d000000000000lflk"],
    ["ann@example.com", ""],
  ];
  for (const [query, href] of rows) {
    const all = await found(query);
    if (href === "") assertEquals(all, [], query);
    else assert(all.includes(href), `${query}: ${all.join()}`);
  }
  assertEquals((await world.browser().get("/search/suggestions?q=a")).status, 303);
  await using staffed = await openDashboardWorld({ operators: ["op@example.com"] });
  const operator = (await staffed.signIn("op@example.com")).browser;
  const ann = await createAccount(staffed.kv, { nowMs: 1, email: "ann@example.com" });
  const anne = await createAccount(staffed.kv, { nowMs: 2, email: "anne@example.com" });
  const page = ({ id }: { id: string }) => `/operator/accounts/${id}`;
  for (
    const [query, hrefs] of [
      ["Ann@", [page(ann)]],
      ["an", [page(ann), page(anne)]],
      ["a", []],
      ["example.com", []],
      [ann.id, [`/operator/accounts?q=${ann.id}`]],
    ] as const
  ) {
    const customers = (await found(query, operator)).filter((href) =>
      href?.startsWith("/operator/accounts")
    );
    assertEquals(customers, [...hrefs], query);
  }
  assertEquals(await found("ann@"), [], "customers find no customers");
});

Deno.test("operators find each of their pages by its name in both languages, customers none of them", async () => {
  const { navigation } = operatorPages;
  const links = navigation?.within ?? [];
  assert(links.length > 20, String(links.length));
  await using world = await openDashboardWorld({
    operators: ["op@example.com"],
    more: () => [{ navigation, app: new Hono() }],
  });
  const { browser: operator } = await world.signIn("op@example.com");
  const { browser: customer } = await world.signIn("ann@example.com");
  for (const locale of ["en", "vi"] as const) {
    operator.cookies.set("locale", locale);
    customer.cookies.set("locale", locale);
    for (const { href, label } of links) {
      const path = `/search?q=${encodeURIComponent(label[locale])}`;
      const lists = async (browser: typeof operator) => {
        const page = await browser.get(path);
        const listed = `href="${href.replaceAll("&", "&amp;")}"`;
        return page.headers.get("location") === href || page.text.includes(listed);
      };
      assert(await lists(operator), `${locale} ${label[locale]}`);
      assert(!await lists(customer), `${locale} ${label[locale]}`);
    }
  }
});
