/** What visitors without an account may do on `/try`, and that it never costs more than the operator allows. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { createAccount, findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { createApp } from "../../../../routes/server/listen/app.ts";
import { TestBrowser } from "../../../support/browser/test_browser.ts";
import * as fc from "../../../support/property.ts";
import { openInstance } from "../../../support/worlds/two_instances.ts";
import { bearerPost } from "../../../support/api_post.ts";

const payerEmail = "try@example.com";
const dayMs = 86_400_000;

/** A gateway whose visitors come from any address. */
async function openTrial(env: Readonly<Record<string, string>> = {}) {
  const instance = await openInstance({ env });
  const { gateway, customerApp, baseUrl } = instance;
  const app = createApp(gateway.assembled.gateway, { stopping: () => false, customerApp });
  return {
    ...instance,
    visitor: (address = "203.0.113.5", headers: Record<string, string> = {}) =>
      new TestBrowser(
        async (request) => await app.fetch(request, { clientAddress: address }),
        baseUrl,
        headers,
      ),
    [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose](),
  };
}

/** The same, paid by an account that has more than the budget of a day. */
async function openPaidTrial(vndPerDay: number, env: Readonly<Record<string, string>> = {}) {
  const world = await openTrial({
    GATEWAY_TRIAL_ACCOUNT: payerEmail,
    GATEWAY_TRIAL_VND_PER_DAY: String(vndPerDay),
    ...env,
  });
  const { kv, time } = world.gateway;
  const { id } = await createAccount(kv, { nowMs: time.nowMs(), email: payerEmail });
  await credit(kv, {
    accountId: id,
    amountMicroVnd: fromVnd(1_000_000),
    kind: "admin",
    operationId: "test",
    reason: "test",
    atMs: time.nowMs(),
  });
  return { ...world, payerId: id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

async function ask(browser: TestBrowser, fields: Record<string, string> = {}) {
  return await browser.submit(await browser.get("/try"), "/try", fields);
}

Deno.test("a visitor without script gets the answer and the receipt, and nothing of it is stored", async () => {
  await using world = await openTrial();
  const asked = await ask(world.visitor(), { model: "premium-1", prompt: "chuồn chuồn <b>bay" });
  assertEquals(asked.status, 200);
  assertStringIncludes(asked.text, "You said: chuồn chuồn &lt;b&gt;bay");
  for (const word of ["What the call cost", "Charged", "Uncached input tokens", "Create an acc"]) {
    assertStringIncludes(asked.text, word);
  }
  assertStringIncludes(asked.text, `<meta name="robots" content="noindex"`);
  for await (const { key, value } of world.gateway.kv.list({ prefix: [] })) {
    const row = Deno.inspect([key, value], { depth: Infinity, strAbbreviateSize: Infinity });
    assert(!row.includes("chuồn"), row);
  }
});

Deno.test("the script gets the stream, and the receipt of this call alone", async () => {
  await using world = await openTrial();
  const browser = world.visitor();
  const page = await browser.get("/try");
  const form = {
    model: "premium-1",
    prompt: "Hello",
    csrf: /name="csrf" value="([^"]+)/.exec(page.text)?.[1] ?? "",
  };
  const { status, headers, text } = await browser.post("/try/stream", form);
  assertEquals([status, headers.get("content-type")], [200, "text/event-stream; charset=utf-8"]);
  assertStringIncludes(text, "[DONE]");
  const receipt = await browser.get(`/try/receipts/${headers.get("x-request-id")}`);
  assertStringIncludes(receipt.text, "Charged");

  const { key } = await world.gateway.customer(1_000);
  const other = await world.fetch(
    bearerPost(`${world.baseUrl}/v1/chat/completions`, key, {
      model: "premium-1",
      messages: [{ role: "user", content: "Hi" }],
    }),
  );
  await other.body?.cancel();
  const id = other.headers.get("x-request-id");
  assertEquals((await browser.get(`/try/receipts/${id}`)).status, 404);
  assertEquals((await browser.get("/try/receipts/x")).status, 404);

  const { csrf: _csrf, ...withoutToken } = form;
  assertEquals((await browser.post("/try/stream", withoutToken)).status, 403);
  const crossSite = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
  assertEquals((await browser.post("/try/stream", form, crossSite)).status, 403);
});

const words = {
  en: ["Write a question first.", "more than 1,000 characters", "cannot be tried here"],
  vi: ["Hãy viết câu hỏi trước.", "dài hơn 1.000 ký tự", "Không thử được mô hình này"],
};

for (const locale of ["en", "vi"] as const) {
  Deno.test(`what is wrong with a question is said, and not counted: ${locale}`, async () => {
    await using world = await openTrial({ GATEWAY_TRIAL_CALLS_PER_ADDRESS: "1" });
    const browser = world.visitor("203.0.113.5", { "accept-language": locale });
    const wrong = [{ prompt: "  " }, { prompt: "x".repeat(1_001) }, { model: "image-1" }];
    for (const [at, fields] of wrong.entries()) {
      const { status, text } = await ask(browser, fields);
      assertEquals(status, 422);
      assertStringIncludes(text, words[locale][at] ?? "");
    }
    const whole = await ask(browser, { prompt: "ê\r\n".repeat(500) });
    assertEquals(whole.status, 200);
    const used = await ask(browser);
    assertEquals(used.status, 429);
    assertStringIncludes(used.text, locale === "en" ? "Your network has asked" : "Mạng của bạn");
    assertStringIncludes(used.text, `href="/sign-up"`);
    assertEquals((await ask(world.visitor("203.0.113.6"))).status, 200);
    await world.gateway.advance(dayMs);
    assertEquals((await ask(browser)).status, 200);
  });
}

Deno.test("the calls of an installation are bounded", async () => {
  await using world = await openTrial({ GATEWAY_TRIAL_CALLS_PER_DAY: "2" });
  const statuses: number[] = [];
  for (const at of [1, 2, 3]) statuses.push((await ask(world.visitor(`203.0.113.${at}`))).status);
  assertEquals(statuses, [200, 200, 429]);
});

Deno.test("visitors who ask at the same time never spend more than the budget of the day", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 12 }),
      fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 12 }),
      async (vndPerDay, lengths) => {
        await using world = await openPaidTrial(vndPerDay + 1);
        const budgetMicroVnd = fromVnd(vndPerDay + 1);
        const spent = async () =>
          fromVnd(1_000_000) - (await world.gateway.assembled.gateway.wallet.balance(world.payerId))
            .totalMicroVnd;
        for (const day of [1n, 2n]) {
          const pages = await Promise.all(
            lengths.map((length, at) =>
              ask(world.visitor(`203.0.113.${at}`), { prompt: "x".repeat(length) })
            ),
          );
          for (const { status, text } of pages) {
            assert(status === 200 || status === 429, `${status}`);
            if (status === 429) assertStringIncludes(text, `href="/sign-up"`);
          }
          assert(await spent() <= day * budgetMicroVnd, `${await spent()} of ${budgetMicroVnd}`);
          await world.gateway.advance(dayMs);
        }
      },
    ),
    { numRuns: 10 },
  );
});

Deno.test("a revoked key ends trying for the day, and the next one has the budget of the next day", async () => {
  await using world = await openPaidTrial(1_000);
  const { gateway, payerId } = world;
  const { kv, time } = gateway;
  assertEquals((await ask(world.visitor())).status, 200);
  const [key] = await listApiKeys(kv, payerId);
  assertEquals(key?.dailyLimitMicroVnd, fromVnd(1_000));
  await revokeApiKey(kv, payerId, key!.id, time.nowMs());
  const ended = await ask(world.visitor());
  assertEquals(ended.status, 503);
  assertStringIncludes(ended.text, "switched off");
  assertEquals((await listApiKeys(kv, payerId)).length, 1);
  await gateway.advance(dayMs);
  assertEquals((await ask(world.visitor())).status, 200);
  assertEquals((await listApiKeys(kv, payerId)).length, 2);
});

Deno.test("an account that is missing or empty pays nothing, and visitors are told", async () => {
  await using missing = await openTrial({
    GATEWAY_TRIAL_ACCOUNT: payerEmail,
    GATEWAY_TRIAL_VND_PER_DAY: "1000",
  });
  assertEquals((await ask(missing.visitor())).status, 503);
  const { kv, time } = missing.gateway;
  await createAccount(kv, { nowMs: time.nowMs(), email: payerEmail });
  const empty = await ask(missing.visitor());
  assertEquals(empty.status, 503);
  assertStringIncludes(empty.text, "switched off");
});

Deno.test("there is no page where the operator allows nothing", async () => {
  await using world = await openTrial({ GATEWAY_TRIAL_VND_PER_DAY: "0" });
  assertEquals((await world.visitor().get("/try")).status, 404);
  assert(!(await world.visitor().get("/")).text.includes(`href="/try"`));
});

Deno.test("play money pays in a sandbox, from an account apart", async () => {
  await using world = await openTrial({ GATEWAY_TRIAL_VND_PER_DAY: "500" });
  const browser = world.visitor();
  assertStringIncludes((await browser.get("/")).text, `href="/try"`);
  assertStringIncludes((await browser.get("/models/premium-1")).text, "/try?model=premium-1");
  assertEquals((await ask(browser)).status, 200);
  const account = await findAccountByEmail(world.gateway.kv, "visitors@sandbox.invalid");
  assert(account !== undefined, "no account");
  await world.gateway.assembled.close();
  const { availableMicroVnd } = await readWallet(world.gateway.kv, account.id);
  assert(availableMicroVnd < fromVnd(500) && availableMicroVnd > fromVnd(400), "not paid by it");
});
