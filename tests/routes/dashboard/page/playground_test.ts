import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { createApiKey, revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  requestIdAt,
} from "../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | null;
  readonly range: string | null;
  readonly body: string;
  readonly clientAddress: string;
}

const stream = () =>
  new Response("data: [DONE]\n\n", {
    headers: {
      "content-type": "text/event-stream",
      "x-request-id": "req_1",
      "retry-after": "3",
      "x-internal": "not for the browser",
    },
  });

async function openWorld(sent: Sent[], answer = stream): Promise<DashboardWorld> {
  return await openDashboardWorld({
    async dispatch(request, clientAddress) {
      sent.push({
        method: request.method,
        url: request.url,
        authorization: request.headers.get("authorization"),
        range: request.headers.get("range"),
        body: await request.text(),
        clientAddress,
      });
      return answer();
    },
  });
}

/** Signs a customer with a key in. */
async function customer(world: DashboardWorld, email?: string) {
  const { browser, account } = await world.signIn(email);
  const options = { name: "mine", nowMs: world.time.nowMs() };
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, options);
  if (!made.ok) throw new Error(made.reason);
  return { browser, account, key: made };
}

interface Call {
  readonly path?: string;
  readonly keyId: string;
  readonly body?: string;
  readonly csrf?: string;
}

async function call(browser: TestBrowser, { path, keyId, body = "{}", csrf }: Call) {
  const { text } = await browser.get("/playground");
  const token = /name="csrf-token" content="([^"]+)"/.exec(text)![1]!;
  return await browser.send(`/playground/api${path ?? "/v1/chat/completions"}`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "sec-fetch-site": "same-origin",
      "x-csrf-token": csrf ?? token,
      "x-playground-key": keyId,
    },
  });
}

Deno.test("a call goes out with the account's own key, which the browser never sees", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(sent);
  const { browser, key } = await customer(world);
  const page = await browser.get("/playground");
  assert(!page.text.includes(key.secret));
  const body = '{"model":"premium-1", "messages":[]}';
  const answer = await call(browser, { keyId: key.record.id, body });
  assertEquals(answer.status, 200);
  assertEquals(answer.headers.get("content-type"), "text/event-stream");
  assertEquals(answer.headers.get("x-request-id"), "req_1");
  assertEquals(answer.headers.get("retry-after"), "3");
  assertEquals(answer.headers.get("cache-control"), "no-store, no-transform");
  assertEquals(answer.headers.get("x-internal"), null);
  assertEquals(sent, [{
    method: "POST",
    url: "https://gw.example/v1/chat/completions",
    authorization: `Bearer ${key.secret}`,
    range: null,
    body,
    clientAddress: "203.0.113.5",
  }]);
});

Deno.test("keys of others, forged requests and other endpoints reach nothing", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(sent);
  const ann = await customer(world, "ann@example.com");
  const bob = await customer(world, "bob@example.com");
  const keyId = ann.key.record.id;
  assertEquals((await call(bob.browser, { keyId })).status, 404);
  assertEquals((await call(ann.browser, { keyId: "../x" })).status, 404);
  assertEquals((await call(ann.browser, { keyId, csrf: "x".repeat(43) })).status, 403);
  for (const path of ["/v1/messages", "/v1/balance", "/v1/videos/../balance", "/v1/embeddings"]) {
    assert((await call(ann.browser, { keyId, path })).status >= 400, path);
  }
  const stranger = await world.browser().get(`/playground/api/v1/videos/v?keyId=${keyId}`);
  assertEquals(stranger.status, 303);
  assertEquals(sent, []);
});

Deno.test("a conversation with pictures fits, and more than eight megabytes do not", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(sent);
  const { browser, key } = await customer(world);
  const keyId = key.record.id;
  const megabytes = (count: number) => JSON.stringify("x".repeat(count * 1024 * 1024));
  assertEquals((await call(browser, { keyId, body: megabytes(7) })).status, 200);
  assertEquals((await call(browser, { keyId, body: megabytes(9) })).status, 413);
  assertEquals(sent.length, 1);
});

Deno.test("a player reads its part of a video, with the key of the query", async () => {
  const sent: Sent[] = [];
  await using world = await openWorld(
    sent,
    () =>
      new Response("part", {
        status: 206,
        headers: { "content-type": "video/mp4", "content-range": "bytes 0-3/9" },
      }),
  );
  const { browser, key } = await customer(world);
  const path = `/playground/api/v1/videos/video_1/content?keyId=${key.record.id}`;
  const answer = await browser.send(path, { headers: { range: "bytes=0-3" } });
  assertEquals([answer.status, answer.text], [206, "part"]);
  assertEquals(answer.headers.get("content-range"), "bytes 0-3/9");
  assertEquals(sent[0]?.url, "https://gw.example/v1/videos/video_1/content");
  assertEquals(sent[0]?.range, "bytes=0-3");
});

Deno.test("the figures of a call are its owner's only", async () => {
  await using world = await openWorld([]);
  const ann = await customer(world, "ann@example.com");
  const bob = await customer(world, "bob@example.com");
  await topUp(world.kv, ann.account.id, fromVnd(1_000));
  const requestId = requestIdAt(world.time.nowMs());
  await world.wallet.settle(
    await mustReserve(world.wallet, ann.account.id, 1_245_000n),
    draftOf(1_245_000n, { requestId, keyId: ann.key.record.id, startedAtMs: world.time.nowMs() }),
  );
  const own = await ann.browser.get(`/playground/calls/${requestId}`);
  assertEquals(JSON.parse(own.text).cost, "₫1.25");
  assertEquals(JSON.parse(own.text).receipt, `/receipts/${requestId}`);
  assertEquals((await bob.browser.get(`/playground/calls/${requestId}`)).status, 404);
  assertEquals((await ann.browser.get("/playground/calls/nonsense")).status, 404);
});

Deno.test("without script the form makes one call and shows its answer as text", async () => {
  const sent: Sent[] = [];
  const message = { content: "<script>alert(1)</script> *hi*" };
  await using world = await openWorld(
    sent,
    () => Response.json({ choices: [{ message }] }, { headers: { "x-request-id": "req_1" } }),
  );
  const { browser } = await customer(world);
  const page = await browser.get("/playground?model=premium-1-thinking");
  const answer = await browser.submit(page, "/playground", {
    prompt: "Xin chào",
    system: "Be brief.",
    temperature: "0.5",
    effort: "low",
  });
  assertEquals(answer.status, 200);
  assertStringIncludes(answer.text, "&lt;script&gt;alert(1)&lt;/script&gt; *hi*");
  assertEquals(JSON.parse(sent[0]?.body ?? ""), {
    model: "premium-1-thinking",
    messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Xin chào" }],
    max_tokens: 2048,
    temperature: 0.5,
    reasoning_effort: "low",
  });
});

Deno.test("without script an error is in the page's language, with its field where one is wrong", async () => {
  const errors = [
    [402, "insufficient_balance", "insufficient_balance", "Your wallet cannot pay"],
    [402, "insufficient_balance", "spending_limit_reached", "reached its spending limit"],
    [429, "rate_limit_error", "rate_limit_exceeded", "A rate limit is reached"],
    [400, "invalid_request_error", "invalid_request", "The request was refused: size: too big"],
    [500, "something new", "new", "could not answer"],
  ] as const;
  let at = 0;
  await using world = await openWorld([], () => {
    const [status, type, code] = errors[at]!;
    return Response.json({ error: { type, code, message: "size: too big" } }, { status });
  });
  const { browser } = await customer(world);
  for (; at < errors.length; at++) {
    const page = await browser.get("/playground?model=image-1");
    const answer = await browser.submit(page, "/playground", { prompt: "a boat" });
    assertEquals(answer.status, 422);
    assertStringIncludes(answer.text, errors[at]![3]);
  }
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
