/** POST /v1/responses/compact: passed to the providers that have it, metered and billed; a summary for other models. */
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { wholeAnswer } from "../../core/wire/conversion/provider_answers.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const sealed = {
  id: "cmp_1",
  type: "compaction",
  encrypted_content: "c2VhbGVk".repeat(20),
};
const message = { type: "message", role: "user", content: "Build a page", status: "completed" };
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 10 },
  total_tokens: 140,
};

function compaction(changes: JsonObject = {}): Response {
  return Response.json({
    id: "resp_1",
    object: "response.compaction",
    created_at: 1,
    output: [message, sealed],
    usage,
    ...changes,
  });
}

const prompt = {
  input: [{ role: "user", content: "Build a page" }, { role: "assistant", content: "Done" }],
  instructions: "Be brief.",
};

async function openWorld({ balanceVnd = 100_000, debtVnd = 0 } = {}) {
  const vendor = { answer: () => compaction() };
  const provider = mockProvider(() => vendor.answer());
  const route = (style: string, more: JsonObject = {}) => ({
    provider: "vendor",
    style,
    model: "vendor-9",
    ...more,
  });
  const routes = {
    "compacts": [route("responses", { compactResponses: true })],
    "second": [route("chat", { model: "first" }), route("responses", { compactResponses: true })],
    "responses-only": [route("responses")],
    "chat-only": [route("chat", { compactResponses: true })],
    "messages-only": [route("messages")],
  };
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "compacts",
      wallet: { debtVnd: { others: debtVnd, toppedUp: debtVnd } },
      providers: {
        vendor: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${provider.port}`,
          apiKeyEnv: "PROVIDER_KEY",
        },
        sandbox: { kind: "sandbox" },
      },
      models: [
        ...Object.entries(routes).map(([id, list]) => ({ id, routes: list })),
        { id: "in-sandbox", routes: [{ provider: "sandbox", style: "responses" }] },
      ].map((model) => ({
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 1_000_000 },
        contextWindow: 100_000,
        maxOutputTokens: 10_000,
        ...model,
      })),
    }),
  });
  const { key, accountId } = await gateway.customer(balanceVnd);
  return {
    vendor,
    seen: provider.seen,
    async ask(body: JsonObject, headers: Readonly<Record<string, string>> = {}) {
      const response = await gateway.fetch(
        apiPost("http://gateway.example/v1/responses/compact", key, body, headers),
      );
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    goOn: async (body: JsonObject) =>
      await (await gateway.fetch(apiPost("http://gateway.example/v1/responses", key, body))).body
        ?.cancel(),
    receipts: async () => (await listReceipts(gateway.kv, accountId, { limit: 10 })).receipts,
    problems: async () => (await verifyStore(gateway.kv)).problems,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

for (const model of ["compacts", "second"]) {
  Deno.test(`a conversation is compacted by a provider that can, as it was sent, and billed: ${model}`, async () => {
    await using world = await openWorld();
    const { status, headers, body } = await world.ask({ model, ...prompt });
    assertEquals(status, 200);
    assertEquals(body, await compaction().json());
    assertEquals(
      world.seen.map(({ path, body }) => [path, JSON.parse(new TextDecoder().decode(body))]),
      // No limit, no `store`, no `include`: the endpoint has none of them.
      [["/v1/responses/compact", { model: "vendor-9", ...prompt }]],
    );
    assertEquals(headers.get("x-gateway-cost-vnd"), "140");
    const [receipt] = await world.receipts();
    assertEquals(
      [receipt?.style, receipt?.outcome, receipt?.costMicroVnd, receipt?.usage?.output],
      ["responses", "completed", fromVnd(140), 40],
    );
    assertEquals(await world.problems(), []);
  });
}

const summary = "Build a page: done.";
const summaries: Readonly<Record<string, () => Response>> = {
  "responses-only": () => Response.json(wholeAnswer("responses", { text: summary })),
  "chat-only": () => Response.json(wholeAnswer("chat", { text: summary })),
  "messages-only": () => Response.json(wholeAnswer("messages", { text: summary })),
};

for (const [model, answer] of Object.entries(summaries)) {
  Deno.test(`where no provider compacts, the gateway asks for a summary, which is billed: ${model}`, async () => {
    await using world = await openWorld();
    world.vendor.answer = answer;
    const { status, body } = await world.ask({ model, ...prompt });
    assertEquals([status, body.object], [200, "response.compaction"]);
    assertEquals(body.output.map(({ type }: { type: string }) => type), ["message", "compaction"]);
    assertEquals(body.output[0].content, [{ type: "input_text", text: "Build a page" }]);
    const { path, body: bytes } = world.seen[0]!;
    assert(!path.endsWith("/compact"), path);
    assertStringIncludes(new TextDecoder().decode(bytes), "Write a summary of the conversation");
    const [receipt] = await world.receipts();
    assertEquals([receipt?.outcome, receipt?.usage?.output], ["completed", 5]);
    const next = { model, input: [...body.output, { role: "user", content: "Go on" }] };
    await world.goOn(next);
    assertStringIncludes(new TextDecoder().decode(world.seen.at(-1)!.body), summary);
    assertEquals(await world.problems(), []);
  });
}

Deno.test("what cannot be compacted is refused by its field", async () => {
  await using world = await openWorld();
  for (
    const [param, changes] of [
      ["stream", { stream: true }],
      ["previous_response_id", { previous_response_id: "resp_1" }],
      ["input", { input: null }],
      ["model", { model: "" }],
    ] as const
  ) {
    const { status, body } = await world.ask({ model: "compacts", ...prompt, ...changes });
    assertEquals([status, body.error.param], [400, param]);
  }
  assertEquals(world.seen.length, 0);
});

Deno.test("without a report the sealed summary is estimated, and not the user's own messages", async () => {
  await using world = await openWorld();
  world.vendor.answer = () =>
    compaction({
      usage: null,
      output: [{ ...message, content: [{ type: "input_text", text: "x".repeat(50_000) }] }, sealed],
    });
  assertEquals((await world.ask({ model: "compacts", ...prompt })).status, 200);
  const [receipt] = await world.receipts();
  assertEquals(receipt?.estimated, true);
  const output = receipt?.usage?.output ?? 0;
  assert(output > 20 && output <= 160, `${output}`);
});

Deno.test("a provider that fails is free", async () => {
  await using world = await openWorld();
  world.vendor.answer = () => Response.json({ error: { message: "down" } }, { status: 503 });
  assertEquals((await world.ask({ model: "compacts", ...prompt })).status, 503);
  assertEquals((await world.receipts()).map(({ costMicroVnd }) => costMicroVnd), [0n]);
  assertEquals(await world.problems(), []);
});

Deno.test("a small wallet pays what is usual: no limit is sent, and the rest is debt within its bound", async () => {
  // The worst case is 10,000 tokens for 10,000 VND, and more for the prompt.
  await using world = await openWorld({ balanceVnd: 9_000, debtVnd: 5_000 });
  world.vendor.answer = () => compaction({ usage: { ...usage, output_tokens: 9_900 } });
  const { status } = await world.ask({ model: "compacts", ...prompt });
  assertEquals(status, 200);
  const [receipt] = await world.receipts();
  assertEquals((receipt?.costMicroVnd ?? 0n) + (receipt?.shortfallMicroVnd ?? 0n), fromVnd(10_000));
  const [seen] = world.seen;
  assertEquals(JSON.parse(new TextDecoder().decode(seen?.body)), { model: "vendor-9", ...prompt });
  assertEquals(await world.problems(), []);
});

Deno.test("the same idempotency key is charged once, and is not that of a Responses call", async () => {
  await using world = await openWorld();
  const keyed = { "idempotency-key": "once" };
  const first = await world.ask({ model: "compacts", ...prompt }, keyed);
  const again = await world.ask({ model: "compacts", ...prompt }, keyed);
  assertEquals([again.status, again.body], [200, first.body]);
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals([world.seen.length, (await world.receipts()).length], [1, 1]);
});

Deno.test("the sandbox compacts, and takes what it made", async () => {
  await using world = await openWorld();
  const { status, body } = await world.ask({ model: "in-sandbox", ...prompt });
  assertEquals([status, body.object], [200, "response.compaction"]);
  assertEquals(body.output.map(({ type }: JsonObject) => type), ["message", "compaction"]);
  const again = await world.ask({
    model: "in-sandbox",
    input: [...body.output, { role: "user", content: "Go on" }],
  });
  assertEquals(again.status, 200);
  assertEquals((await world.receipts()).every(({ costMicroVnd }) => costMicroVnd > 0n), true);
});
