/** Tests rate limits on the customer's pages: the form of a key, the page of a key, usage. */
import { ProcessRateBook } from "../../../../core/limits/rate_book.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { parseTypedLimit } from "../../../../routes/dashboard/text/i18n.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { makeKey } from "../../../support/worlds/key_pages.ts";

Deno.test("the owner of a key sets limits, sees their use, and clears them", async () => {
  const book = new ProcessRateBook(() => 1_000_000);
  await using world = await openDashboardWorld({
    rates: {
      defaults: () => ({ account: { tokensPerMinute: 9_000 } }),
      model: () => undefined,
      use: (ids) => book.use(ids),
    },
  });
  const { browser, account } = await world.signIn();
  const fields = { requestsPerMinute: "1.000", callsAtOnce: "5", reading: "account" };
  assertEquals((await makeKey(browser, fields)).status, 200);
  const [key] = await listApiKeys(world.kv, account.id);
  assertEquals(key?.rateLimits, { requestsPerMinute: 1_000, callsAtOnce: 5 });
  const limits = { requestsPerMinute: 1_000 };
  book.begin({
    subjects: [
      { id: account.id, scope: "account", limits: {} },
      { id: key!.id, scope: "key", limits },
    ],
    tokens: 700,
    inputTokens: 9,
  });
  const path = `/keys/${key!.id}`;
  const page = await browser.get(path);
  for (const shown of ["Rate limits", "1 of 1,000", "1 of 5", "700 of 9,000", "This account"]) {
    assertStringIncludes(page.text, shown);
  }
  const usage = (await browser.get("/usage")).text;
  assertStringIncludes(usage, "700 of 9,000");
  assert(!usage.includes("1 of 1,000"), "limits of a key are on its page");
  const wrong = await browser.submit(page, path, { requestsPerMinute: "fast" });
  assertEquals(wrong.status, 422);
  assertStringIncludes(wrong.text, "Write a whole number above 0");
  await browser.submit(page, path, { requestsPerMinute: "", callsAtOnce: "" });
  assertEquals((await listApiKeys(world.kv, account.id))[0]?.rateLimits, undefined);
});

Deno.test("without limits the pages say nothing of them", async () => {
  await using world = await openDashboardWorld({
    rates: {
      defaults: () => undefined,
      model: () => undefined,
      use: () => {
        throw new Error("not asked");
      },
    },
  });
  const { browser, account } = await world.signIn();
  await makeKey(browser);
  const [key] = await listApiKeys(world.kv, account.id);
  for (const path of [`/keys/${key!.id}`, "/usage"]) {
    assert(!(await browser.get(path)).text.includes("limit-meter"), path);
  }
});

Deno.test("limits are read as people write them", () => {
  const read: [string, number | undefined][] = [
    ["600", 600],
    ["2.000.000", 2_000_000],
    ["2,000,000", 2_000_000],
    ["1 000", 1_000],
    ["0", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["1000000000", undefined],
    ["", undefined],
  ];
  for (const [text, limit] of read) assertEquals(parseTypedLimit(text), limit, text);
});
