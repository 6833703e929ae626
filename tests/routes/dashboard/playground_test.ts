import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { createApiKey, revokeApiKey } from "../../../kv/api_keys/api_key_changes.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import type { DashboardWorld } from "../../support/worlds/dashboard_world.ts";
import type { TestBrowser } from "../../support/browser/test_browser.ts";

interface Sent {
  readonly url: string;
  readonly authorization: string | null;
  readonly body: unknown;
  readonly clientAddress: string;
}

async function openWorld(sent: Sent[]): Promise<DashboardWorld> {
  return await openDashboardWorld({
    async dispatch(request, clientAddress) {
      sent.push({
        url: request.url,
        authorization: request.headers.get("authorization"),
        body: await request.json(),
        clientAddress,
      });
      return new Response("data: [DONE]\n\n", {
        headers: {
          "content-type": "text/event-stream",
          "x-request-id": "req_1",
          "x-internal": "not for the browser",
        },
      });
    },
  });
}

async function run(browser: TestBrowser, fields: unknown, csrf?: string) {
  const { text } = await browser.get("/playground");
  const token = /name="csrf-token" content="([^"]+)"/.exec(text)![1]!;
  return await browser.send("/playground/run", {
    method: "POST",
    body: JSON.stringify(fields),
    headers: {
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      "x-csrf-token": csrf ?? token,
    },
  });
}

Deno.test("a prompt goes out with the account's own key, which the browser never sees", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(sent);
  const { browser, account } = await world.signIn();
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "mine",
    nowMs: 1,
  });
  if (!made.ok) throw new Error(made.reason);
  const page = await browser.get("/playground");
  assert(!page.text.includes(made.secret));
  const answer = await run(browser, {
    keyId: made.record.id,
    model: "premium-1",
    prompt: "Xin chào",
  });
  assertEquals(answer.status, 200);
  assertEquals(answer.headers.get("content-type"), "text/event-stream");
  assertEquals(answer.headers.get("x-request-id"), "req_1");
  assertEquals(answer.headers.get("x-internal"), null);
  assertEquals(sent.length, 1);
  assertEquals(sent[0]!.authorization, `Bearer ${made.secret}`);
  assertEquals(sent[0]!.clientAddress, "203.0.113.5");
  assertEquals(new URL(sent[0]!.url).pathname, "/v1/chat/completions");
  assertEquals(sent[0]!.body, {
    model: "premium-1",
    stream: true,
    max_tokens: 2048,
    messages: [{ role: "user", content: "Xin chào" }],
  });
});

Deno.test("keys of others, broken bodies and forged requests send nothing", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(sent);
  const { browser: ann, account } = await world.signIn("ann@example.com");
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "anns",
    nowMs: 1,
  });
  if (!made.ok) throw new Error(made.reason);
  const fields = { keyId: made.record.id, model: "premium-1", prompt: "hi" };
  const { browser: bob } = await world.signIn("bob@example.com");
  assertEquals((await run(bob, fields)).status, 404);
  assertEquals((await run(ann, fields, "x".repeat(43))).status, 403);
  for (const broken of [null, {}, { ...fields, prompt: "" }, { ...fields, keyId: "../x" }]) {
    assertEquals((await run(ann, broken)).status, 400);
  }
  assertEquals((await run(ann, { ...fields, prompt: "x".repeat(20_001) })).status, 400);
  assertEquals(sent, []);
});

Deno.test("without a usable key the page explains how to get one", async () => {
  await using world = await openWorld([]);
  const { browser, account } = await world.signIn();
  assertStringIncludes((await browser.get("/playground")).text, "You need a key first");
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "gone",
    nowMs: 1,
  });
  if (!made.ok) throw new Error(made.reason);
  await revokeApiKey(world.kv, account.id, made.record.id, 2);
  assertStringIncludes((await browser.get("/playground")).text, "You need a key first");
});
