import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { makeKey, secretForm, secretIn, works } from "../../../support/worlds/key_pages.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";

/** The form of a page as a browser would send it again, when the page that answered is reloaded. */
async function sendTwice(
  browser: TestBrowser,
  path: string,
  action: string,
  fields: Record<string, string>,
) {
  const page = await browser.get(path);
  const send = () => browser.submit(page, action, fields);
  return { first: await send(), send };
}

Deno.test("a form sent again creates no second key, and shows the secret for ten minutes only", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const { first, send } = await sendTwice(browser, "/keys/new", "/keys", { name: "laptop" });
  assertEquals(secretIn(await send()), secretIn(first));
  const [key, ...others] = await listApiKeys(world.kv, account.id);
  assertEquals(others, []);
  world.time.advance(10 * 60_000);
  const late = await send();
  assertEquals([late.status, late.headers.get("location")], [303, `/keys/${key!.id}`]);
  assertEquals((await listApiKeys(world.kv, account.id)).length, 1);
});

Deno.test("a form sent twice at the same moment creates one key", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const page = await browser.get("/keys/new");
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => browser.submit(page, "/keys", { name: "laptop" })),
  );
  assertEquals(new Set(answers.map(secretIn)).size, 1);
  assertEquals((await listApiKeys(world.kv, account.id)).length, 1);
});

Deno.test("a form sent again with other fields asks first, and then creates another key", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const page = await browser.get("/keys/new");
  await browser.submit(page, "/keys", { name: "laptop" });
  const asked = await browser.submit(page, "/keys", { name: "server" });
  assertEquals(asked.status, 422);
  assertStringIncludes(asked.text, "has made another key before");
  assert(!secretForm.test(asked.text));
  assertEquals((await browser.submit(asked, "/keys")).status, 200);
  const names = (await listApiKeys(world.kv, account.id)).map(({ name }) => name);
  assertEquals(names.toSorted(), ["laptop", "server"]);
});

Deno.test("a key that was revoked is not shown to its form again", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const { send } = await sendTwice(browser, "/keys/new", "/keys", { name: "laptop" });
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  await browser.submit(await browser.get(path), `${path}/revoke`);
  assertEquals((await send()).headers.get("location"), path);
  assertEquals((await listApiKeys(world.kv, account.id)).length, 1);
});

Deno.test("a rotation sent again keeps the grace period of the old secret", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const old = secretIn(await makeKey(browser));
  const [key] = await listApiKeys(world.kv, account.id);
  const path = `/keys/${key!.id}`;
  const { first, send } = await sendTwice(browser, path, `${path}/rotate`, { grace: "24" });
  assertEquals(secretIn(await send()), secretIn(first));
  assert(await works(world, old), "the reload ended the grace of the former secret");
  world.time.advance(10 * 60_000);
  assertEquals((await send()).headers.get("location"), path);
  assert(await works(world, secretIn(first)));
});
