/** Tests rate limits at the endpoints: admission, headers of both styles, refusals, and what counts as a call. */
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type LimitSubject,
  limitTable,
  type RateLimitName,
  rateLimitNames,
} from "../../../../core/limits/limit_table.ts";
import type { AccountRateLimits, RateLimits } from "../../../../core/limits/rate_limits.ts";
import { setRateLimits } from "../../../../kv/people/accounts/rate_limits.ts";
import { listRefusedCalls } from "../../../../kv/services/calls/refused_calls.ts";
import { listReceipts, readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import { rateRefusalError } from "../../../../routes/api/call/admission.ts";
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  openTestGateway,
  servedBy,
  type TestGateway,
} from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

type Change = (file: Record<string, unknown>) => Record<string, unknown>;

/** The default file with limits. */
function withLimits(
  rateLimits: { account?: RateLimits; key?: RateLimits } | undefined,
  model: { all?: RateLimits; account?: RateLimits } | undefined = undefined,
): Change {
  return (file) => ({
    ...file,
    ...(rateLimits && { rateLimits }),
    models: (file["models"] as { id: string }[]).map((entry) =>
      entry.id === "premium-1" && model !== undefined ? { ...entry, rateLimits: model } : entry
    ),
  });
}

const paths = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
} as const;

function send(
  test: TestGateway,
  key: string,
  style: keyof typeof paths,
  { text = "Hello", headers = {}, ...more }: Record<string, unknown> & {
    text?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<Response> {
  const body = style === "responses"
    ? { model: "premium-1", max_output_tokens: 50, input: text, ...more }
    : {
      model: "premium-1",
      max_tokens: 50,
      messages: [{ role: "user", content: text }],
      ...more,
    };
  return post(test, key, paths[style], body, headers);
}

function post(
  test: TestGateway,
  key: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return test.fetch(apiPost(`http://gateway.example${path}`, key, body, headers));
}

function rateHeadersOf(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name.includes("ratelimit")));
}

async function setAccount(test: TestGateway, accountId: AccountId, limits: AccountRateLimits) {
  await setRateLimits(test.kv, accountId, limits, {
    operator: { accountId, email: "staff@example.com" },
    reason: "test",
    nowMs: test.time.nowMs(),
  });
  await test.assembled.gateway.control.refresh();
}

Deno.test("without limits no answer has headers of limits", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000);
  for (const style of ["chat", "messages", "responses"] as const) {
    const response = await send(test, key, style);
    assertEquals(response.status, 200);
    await response.body?.cancel();
    assertEquals(rateHeadersOf(response), {});
  }
});

Deno.test("a provider's headers of limits do not reach the caller", async () => {
  const limits = {
    "x-ratelimit-limit-requests": "77",
    "x-ratelimit-remaining-tokens": "78",
    "anthropic-ratelimit-requests-limit": "79",
    "anthropic-ratelimit-tokens-reset": "2026-01-01T00:00:00Z",
  };
  await using provider = mockProvider((request) => {
    if (request.path.endsWith("/audio/speech")) {
      return new Response("audio", { headers: { "content-type": "audio/mpeg", ...limits } });
    }
    const { stream } = request.json();
    const status = JSON.stringify(request.json()).includes("refused") ? 400 : 200;
    const chunk = {
      object: "chat.completion.chunk",
      id: "c",
      choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }],
    };
    if (stream === true) {
      return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream", ...limits },
      });
    }
    return Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    }, { status, headers: limits });
  });
  await using test = await openTestGateway(servedBy(provider, {
    defaultModel: "m",
    models: [{
      id: "m",
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [{ provider: "p", style: "chat" }],
    }, {
      id: "voice",
      kind: "speech",
      price: { unit: "request", vnd: 10 },
      routes: [{ provider: "p", style: "speech" }],
    }],
  }));
  const { key } = await test.customer(1_000);
  for (const style of ["chat", "messages", "responses"] as const) {
    for (const more of [{}, { stream: true }, { text: "refused" }]) {
      const response = await send(test, key, style, { model: "m", ...more });
      await response.text();
      assertEquals(rateHeadersOf(response), {}, `${style} ${response.status}`);
    }
  }
  const speech = await post(test, key, "/v1/audio/speech", {
    model: "voice",
    input: "Hello",
    voice: "alloy",
  });
  assertEquals([speech.status, rateHeadersOf(speech)], [200, {}]);
  await speech.body?.cancel();
});

Deno.test("answers and refusals of each style tell the limits as its vendor does", async () => {
  await using test = await openTestGateway({
    file: withLimits({ account: { requestsPerMinute: 3, tokensPerMinute: 50_000 } }),
  });
  const { key, accountId } = await test.customer(1_000);
  const chat = await send(test, key, "chat");
  assertEquals(chat.status, 200);
  const usage = (await chat.json()).usage.total_tokens;
  assertEquals(chat.headers.get("x-ratelimit-limit-requests"), "3");
  assertEquals(chat.headers.get("x-ratelimit-remaining-requests"), "2");
  assertMatch(chat.headers.get("x-ratelimit-reset-requests") ?? "", /^1m\d(\.\d+)?s$/);
  assertEquals(chat.headers.get("x-ratelimit-limit-tokens"), "50000");
  assertMatch(chat.headers.get("x-ratelimit-reset-tokens") ?? "", /^1m\d(\.\d+)?s$/);
  assertEquals(Object.keys(rateHeadersOf(chat)).length, 6);

  const messages = await send(test, key, "messages", { stream: true });
  assertEquals(messages.status, 200);
  await messages.text();
  const told = rateHeadersOf(messages);
  assertEquals(Object.keys(told).sort(), [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-tokens-remaining",
    "anthropic-ratelimit-tokens-reset",
  ]);
  assertEquals(told["anthropic-ratelimit-requests-remaining"], "1");
  assertMatch(
    told["anthropic-ratelimit-requests-reset"] ?? "",
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  );
  // The first call counts with what it used, the second with its prompt and what calls had of late.
  const remaining = Number(told["anthropic-ratelimit-tokens-remaining"]);
  assert(remaining < 50_000 - usage && remaining > 50_000 - usage - 150, String(remaining));

  assertEquals((await (await send(test, key, "responses")).json()).status, "completed");
  for (const style of ["chat", "messages", "responses"] as const) {
    const refused = await send(test, key, style);
    assertEquals(refused.status, 429);
    const { error } = await refused.json();
    assertEquals(error.type, "rate_limit_error");
    assertMatch(
      error.message,
      /^Rate limit reached: 3 requests per minute for this account\. Try again in \d\d s$/,
    );
    const retryAfter = Number(refused.headers.get("retry-after"));
    assert(retryAfter > 55 && retryAfter <= 61, String(retryAfter));
    assertEquals(refused.headers.get("x-should-retry"), "true");
    const name = style === "messages"
      ? "anthropic-ratelimit-requests-remaining"
      : "x-ratelimit-remaining-requests";
    assertEquals(refused.headers.get(name), "0");
  }
  await test.assembled.gateway.refusedCalls.close();
  const rows = await Array.fromAsync(listRefusedCalls(test.kv, accountId));
  assertEquals(rows.map(({ status, code }) => [status, code]), [
    [429, "rate_limit_reached"],
    [429, "rate_limit_reached"],
    [429, "rate_limit_reached"],
  ]);
  assertEquals((await listReceipts(test.kv, accountId, { limit: 10 })).receipts.length, 3);
});

Deno.test("tokens are expected at admission and corrected when the call ends", async () => {
  await using test = await openTestGateway({
    file: withLimits({ key: { tokensPerMinute: 2_000 } }),
  });
  const { key } = await test.customer(1_000);
  const first = await send(test, key, "chat", { max_tokens: 1_900 });
  assertEquals(first.status, 200);
  const { usage } = await first.json();
  const second = await send(test, key, "chat", { max_tokens: 10 });
  await second.body?.cancel();
  assertEquals(second.status, 200);
  const left = Number(second.headers.get("x-ratelimit-remaining-tokens"));
  assert(left > 1_900 - usage.total_tokens && left < 2_000 - usage.total_tokens, String(left));
  const long = await send(test, key, "messages", { text: "word ".repeat(3_000) });
  assertEquals(long.status, 429);
  assertEquals(long.headers.get("x-should-retry"), "false");
  assertEquals(long.headers.get("retry-after"), null);
  assertMatch(
    (await long.json()).error.message,
    /^Request too large: the prompt needs about \d,\d{3} tokens, and the rate limit is 2,000 tokens per minute for this API key/,
  );
});

Deno.test("calls at once are released on every path", async () => {
  await using test = await openTestGateway({
    file: withLimits({ account: { callsAtOnce: 1 } }),
  });
  const { key, accountId } = await test.customer(1_000);
  const running = async () => (await test.assembled.gateway.rates.use([accountId]))[0]?.callsAtOnce;
  // A stream counts until it has ended.
  const stream = await send(test, key, "chat", { stream: true });
  assertEquals(stream.status, 200);
  const meanwhile = await send(test, key, "messages");
  assertEquals([meanwhile.status, await running()], [429, 1]);
  assertMatch(
    (await meanwhile.json()).error.message,
    /^Rate limit reached: 1 call at once for this account\. Try again when one of them has ended$/,
  );
  assertEquals(meanwhile.headers.get("retry-after"), "1");
  await stream.text();
  assertEquals(await running(), 0);
  // The client leaves.
  const left = await send(test, key, "chat", { stream: true, text: "[[sandbox:slow]]" });
  await left.body?.cancel();
  await test.assembled.gateway.calls.idle();
  assertEquals(await running(), 0);
  // The provider fails, the request is refused, there is nothing to pay with.
  for (const text of ["[[sandbox:error-500]]", "[[sandbox:error-400]]"]) {
    const failed = await send(test, key, "chat", { text });
    assert(failed.status >= 400, String(failed.status));
    await failed.body?.cancel();
    assertEquals(await running(), 0, text);
  }
  const poor = await test.customer();
  assertEquals((await send(test, poor.key, "chat")).status, 402);
  assertEquals(await test.assembled.gateway.rates.use([poor.accountId]), [
    { requestsPerMinute: 0, tokensPerMinute: 0, vndPerHour: 0, callsAtOnce: 0 },
  ]);
});

Deno.test("repeats of an idempotency key, token counts and lists of models are no calls", async () => {
  await using test = await openTestGateway({
    file: withLimits({ account: { requestsPerMinute: 2 } }),
  });
  const { key, accountId } = await test.customer(1_000);
  const headers = { "idempotency-key": "one" };
  const first = await send(test, key, "chat", { headers });
  assertEquals(first.headers.get("x-ratelimit-remaining-requests"), "1");
  await first.body?.cancel();
  const repeated = await send(test, key, "chat", { headers });
  assertEquals(repeated.headers.get("idempotent-replayed"), "true");
  assertEquals(rateHeadersOf(repeated), {});
  await repeated.body?.cancel();
  const counted = await post(test, key, "/v1/messages/count_tokens", {
    model: "premium-1",
    messages: [{ role: "user", content: "Hello" }],
  });
  assertEquals(counted.status, 200);
  await counted.body?.cancel();
  const models = await test.fetch(
    new Request("http://gateway.example/v1/models", { headers: { "x-api-key": key } }),
  );
  assertEquals(models.status, 200);
  await models.body?.cancel();
  assertEquals((await test.assembled.gateway.rates.use([accountId]))[0]?.requestsPerMinute, 1);
  // A refused keyed call frees its key.
  await (await send(test, key, "chat")).body?.cancel();
  assertEquals(
    (await send(test, key, "chat", { headers: { "idempotency-key": "two" } })).status,
    429,
  );
  assertEquals(
    (await send(test, key, "chat", { headers: { "idempotency-key": "two" } })).status,
    429,
  );
});

Deno.test("media calls count as calls and have the headers", async () => {
  await using test = await openTestGateway({
    file: withLimits({ account: { requestsPerMinute: 1, tokensPerMinute: 9_000 } }),
  });
  const { key } = await test.customer(100_000);
  const body = { model: "image-1", prompt: "a cat" };
  const image = await post(test, key, "/v1/images/generations", body);
  assertEquals([image.status, image.headers.get("x-ratelimit-remaining-requests")], [200, "0"]);
  await image.body?.cancel();
  const refused = await post(test, key, "/v1/images/generations", body);
  assertEquals([refused.status, (await refused.json()).error.code], [429, "rate_limit_reached"]);
});

Deno.test("an operator's limits of one account replace the defaults, and lift them", async () => {
  await using test = await openTestGateway({
    file: withLimits({ account: { requestsPerMinute: 1 }, key: { requestsPerMinute: 100 } }),
  });
  const { key, accountId } = await test.customer(1_000);
  assertEquals((await send(test, key, "chat")).status, 200);
  assertEquals((await send(test, key, "chat")).status, 429);
  await setAccount(test, accountId, { requestsPerMinute: 2 });
  assertEquals((await send(test, key, "chat")).status, 200);
  assertEquals((await send(test, key, "chat")).status, 429);
  await setAccount(test, accountId, { requestsPerMinute: "none" });
  const free = await send(test, key, "chat");
  assertEquals([free.status, free.headers.get("x-ratelimit-limit-requests")], [200, "100"]);
  await setAccount(test, accountId, {
    requestsPerMinute: "none",
    models: { "premium-1": { requestsPerMinute: 4 } },
  });
  assertEquals((await send(test, key, "chat")).status, 200);
});

Deno.test("a model has limits for all customers together, and for each", async () => {
  await using test = await openTestGateway({
    file: withLimits(undefined, {
      all: { requestsPerMinute: 3 },
      account: { requestsPerMinute: 2 },
    }),
  });
  const [one, two] = [await test.customer(1_000), await test.customer(1_000)];
  for (let call = 0; call < 2; call++) {
    assertEquals((await send(test, one.key, "chat")).status, 200);
  }
  const ofAccount = await send(test, one.key, "chat");
  assertEquals(ofAccount.status, 429);
  assertMatch((await ofAccount.json()).error.message, /for this account on the model premium-1/);
  assertEquals((await send(test, two.key, "chat")).status, 200);
  const ofAll = await send(test, two.key, "chat");
  assertEquals(ofAll.status, 429);
  assertMatch((await ofAll.json()).error.message, /for the model premium-1/);
  const other = await post(test, two.key, paths.chat, {
    model: "general-01",
    max_tokens: 9,
    messages: [{ role: "user", content: "Hello" }],
  });
  assertEquals(other.status, 200);
});

Deno.test("owners of keys set lower limits than the operator's, not higher ones", async () => {
  await using test = await openTestGateway({ file: withLimits({ key: { requestsPerMinute: 2 } }) });
  const low = await test.customer(1_000, { rateLimits: { requestsPerMinute: 1 } });
  const high = await test.customer(1_000, { rateLimits: { requestsPerMinute: 1_000 } });
  const limitOf = async (key: string) =>
    (await send(test, key, "chat")).headers.get("x-ratelimit-limit-requests");
  assertEquals([await limitOf(low.key), await limitOf(high.key)], ["1", "2"]);
  const refused = await send(test, low.key, "messages");
  assertMatch((await refused.json()).error.message, /1 request per minute for this API key/);
});

Deno.test("what calls of a model cost in an hour is limited for all customers together", async () => {
  const time = new ManualTime(Date.UTC(2026, 10, 20, 5));
  await using test = await openTestGateway({
    file: withLimits(undefined, { all: { vndPerHour: 100 } }),
    time,
  });
  const [one, other] = [await test.customer(100_000), await test.customer(100_000)];
  const spent = async () =>
    (await test.assembled.gateway.rates.use(["model premium-1"]))[0]?.vndPerHour;
  let costVnd = 0;
  for (const style of ["chat", "messages", "responses"] as const) {
    const answer = await send(test, one.key, style);
    assertEquals(answer.status, 200);
    costVnd += Number(answer.headers.get("x-gateway-cost-vnd"));
    await answer.body?.cancel();
    assertEquals(await spent(), Math.ceil(costVnd), "the cost replaces what was expected");
    assertEquals(rateHeadersOf(answer), {}, "no vendor has a header for it");
  }
  const text = "word ".repeat(2_000);
  for (let calls = 0; costVnd < 100 && calls < 100; calls++) {
    const answer = await send(test, one.key, "chat", { text });
    if (answer.status === 429) break;
    costVnd += Number(answer.headers.get("x-gateway-cost-vnd"));
    await answer.body?.cancel();
  }
  assert(costVnd > 0 && costVnd <= 100, `calls of one after another never exceed it: ${costVnd}`);
  for (const style of ["chat", "messages", "responses"] as const) {
    for (const stream of [false, true]) {
      const refused = await send(test, other.key, style, { text, stream });
      assertEquals(refused.status, 429);
      assertMatch(
        (await refused.json()).error.message,
        /^Rate limit reached: 100 VND per hour for the model premium-1; this call is expected to cost \d+ VND\. Try again in \d+ s$/,
      );
      const retryAfter = Number(refused.headers.get("retry-after"));
      assert(retryAfter > 3_500 && retryAfter <= 3_660, String(retryAfter));
    }
  }
  const elsewhere = await post(test, other.key, "/v1/chat/completions", {
    model: "general-01",
    max_tokens: 50,
    messages: [{ role: "user", content: text }],
  });
  assertEquals(elsewhere.status, 200, "other models have their own");
  await elsewhere.body?.cancel();
  await test.advance(61 * 60_000);
  assertEquals(await spent(), 0);
  const answer = await send(test, other.key, "chat", { text });
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
});

Deno.test("calls of every kind and every end count with their cost", async () => {
  await using test = await openTestGateway({
    file: (file) => ({
      ...file,
      models: (file["models"] as object[]).map((entry) => ({
        ...entry,
        rateLimits: { all: { vndPerHour: 1_000_000 } },
      })),
    }),
  });
  const { key } = await test.customer(1_000_000);
  const messages = [{ role: "user", content: "Hello" }];
  const calls: [path: string, body: Record<string, unknown> & { readonly model: string }][] = [
    ["/v1/messages", { model: "premium-1", max_tokens: 50, messages }],
    ["/v1/chat/completions", { model: "mid-top-1", messages, stream: true }],
    ["/v1/images/generations", { model: "image-1", prompt: "A cat", n: 2 }],
    ["/v1/audio/speech", { model: "speech-1", input: "Hello", voice: "lan" }],
    ["/v1/embeddings", { model: "example-embedding", input: "Hello" }],
    ["/v1/rerank", { model: "example-rerank", query: "cat", documents: ["cat", "dog"] }],
    ["/v1/moderations", { model: "example-moderation", input: "Hello" }],
    ["/v1/completions", { model: "example-completion", prompt: "Hello", max_tokens: 9 }],
    ["/v1/videos", { model: "video-a", prompt: "A cat" }],
  ];
  for (const [path, body] of calls) {
    const answer = await post(test, key, path, body);
    assertEquals(answer.status, 200, `${path} ${answer.status}`);
    await answer.arrayBuffer();
    const requestId = parseId("request", answer.headers.get("x-request-id") ?? "");
    assert(requestId !== undefined, path);
    const [use] = await test.assembled.gateway.rates.use([`model ${body.model}`]);
    const receipt = await readReceipt(test.kv, requestId);
    assert(receipt !== undefined, path);
    const costVnd = Number((receipt.costMicroVnd + 999_999n) / 1_000_000n);
    assertEquals(use?.vndPerHour, costVnd, path);
    assertEquals(use?.callsAtOnce, 0);
  }
  const failed = { model: "general-02", max_tokens: 50, messages };
  const refused = await post(test, (await test.customer()).key, "/v1/messages", failed);
  assertEquals(refused.status, 402);
  const [use] = await test.assembled.gateway.rates.use(["model general-02"]);
  assertEquals(use?.vndPerHour, 0, "a call that cannot pay counts nothing");
});

Deno.test("every limit is named to whoever exceeds it, with its value and whom it binds", () => {
  const model = { id: "premium-1" };
  const subjects: Record<LimitSubject, string> = {
    account: "this account",
    key: "this API key",
    model: "the model premium-1",
    account_model: "this account on the model premium-1",
  };
  const units: Record<RateLimitName, readonly [one: string, more: string, then: string]> = {
    requestsPerMinute: ["1 request per minute", "2,000 requests per minute", "Try again in 2 s"],
    tokensPerMinute: ["1 token per minute", "2,000 tokens per minute", "Try again in 2 s"],
    vndPerHour: ["1 VND per hour", "2,000 VND per hour", "Try again in 2 s"],
    callsAtOnce: [
      "1 call at once",
      "2,000 calls at once",
      "Try again when one of them has ended",
    ],
  };
  const figures = { tokens: { limit: 2_000, remaining: 1_200, resetMs: 5 } };
  for (const limitName of rateLimitNames) {
    const [one, more, then] = units[limitName];
    const left = {
      calls: "",
      tokens: "; 1,200 are left and this call is expected to need 3,456",
      money: "; this call is expected to cost 3,456 VND",
    }[limitTable[limitName].meter];
    for (const scope of limitTable[limitName].subjects) {
      for (const [limit, rule] of [[1, one], [2_000, more]] as const) {
        const refusal = { ok: false, scope, limitName, limit, needed: 3_456, figures } as const;
        const error = rateRefusalError({ ...refusal, retryAfterMs: 1_500 }, model);
        assertEquals(
          [error.message, error.code, error.retryAfterSeconds],
          [
            `Rate limit reached: ${rule} for ${subjects[scope]}${left}. ${then}`,
            "rate_limit_reached",
            2,
          ],
        );
      }
    }
  }
});
