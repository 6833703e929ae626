/** Tiers of service with factors: offered, reserved, charged by what the provider reports, natively and converted. */
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { answerOf, streamOf } from "../../../support/hosted_answers.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const price = {
  unit: "token",
  vndPerMtok: 1_000_000,
  serviceTiers: { flex: 0.5, priority: 2.5 },
};
/** Every answer has 30 tokens. */
const usualVnd = 30;
const styles = ["messages", "chat", "responses"] as const;
type Caller = typeof styles[number];

const paths: Record<Caller, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

/** Where each style reports the tier. */
function reporting(style: Style, tier: string | undefined) {
  if (tier === undefined) return {};
  return style === "messages"
    ? { usage: { service_tier: tier } }
    : style === "gemini"
    ? { usage: { serviceTier: tier } }
    : { more: { service_tier: tier } };
}

async function openWorld(creditVnd = 100_000) {
  let now: { readonly style: Style; readonly tier: string | undefined } | undefined;
  const provider = mockProvider((request) => {
    assert(now !== undefined, "not expected to be asked");
    const { style } = now;
    const answer = reporting(style, now.tier);
    return request.json()["stream"] === true
      ? new Response(streamOf(style, answer), { headers: { "content-type": "text/event-stream" } })
      : Response.json(answerOf(style, answer));
  });
  const model = (id: string, style: Style, more: object = {}) => ({
    id,
    kind: "chat",
    family: "test",
    price,
    maxOutputTokens: 100,
    ...more,
    routes: [{ provider: "p", style, model: "m" }],
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [
      ...styles.map((style) => model(style, style)),
      model("plain", "chat", { price: { unit: "token", vndPerMtok: 1_000_000 } }),
    ],
  }));
  const { key, accountId } = await gateway.customer(creditVnd);
  const send = async (caller: Caller, model: string, body: object) =>
    await gateway.fetch(apiPost(`http://gateway${paths[caller]}`, key, {
      model,
      ...(caller === "responses"
        ? { input: "hi", max_output_tokens: 50 }
        : { messages: [{ role: "user", content: "hi" }], max_tokens: 50 }),
      ...body,
    }));
  return {
    send,
    seen: provider.seen,
    async ask(caller: Caller, style: Style, body: object, tier: string | undefined) {
      now = { style, tier };
      const response = await send(caller, style, body);
      const text = await response.text();
      assertEquals(response.status, 200, text);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assertEquals(receipt?.requestId, response.headers.get("x-request-id"));
      assert(receipt !== undefined);
      return [Number(receipt.costMicroVnd) / 1_000_000, receipt.serviceTier] as const;
    },
    async spentVnd() {
      const balance = await gateway.assembled.gateway.wallet.balance(accountId);
      assertEquals(balance.reservedMicroVnd, 0n);
      assert((await verifyStore(gateway.kv)).ok);
      return creditVnd - Number(balance.totalMicroVnd) / 1_000_000;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a call costs the factor of the tier that ran it, in each style, whole and streamed", async () => {
  await using world = await openWorld();
  let spent = 0;
  for (const style of styles) {
    for (const stream of [false, true]) {
      const name = `${style}, ${stream ? "streamed" : "whole"}`;
      const cases = [
        ["priority", "priority", 2.5, "priority"],
        ["priority", style === "messages" ? "standard" : "default", 1, undefined],
        ["priority", undefined, 2.5, "priority"],
        ["flex", "flex", 0.5, "flex"],
        ["auto", "priority", 1, undefined],
      ] as const;
      for (const [asked, reported, factor, tier] of cases) {
        const body = { stream, service_tier: asked };
        const charged = await world.ask(style, style, body, reported);
        assertEquals(charged, [usualVnd * factor, tier], `${name}: ${asked} as ${reported}`);
        spent += usualVnd * factor;
      }
    }
  }
  assertEquals(await world.spentVnd(), spent);
});

Deno.test("a converted call pays for a tier only if its route was asked for it", async () => {
  await using world = await openWorld();
  const asked = { service_tier: "priority" };
  assertEquals(await world.ask("chat", "responses", asked, "priority"), [75, "priority"]);
  assertEquals(world.seen.at(-1)?.json()["service_tier"], "priority");
  const streamed = { ...asked, stream: true };
  assertEquals(await world.ask("responses", "chat", streamed, "priority"), [75, "priority"]);
  // The Messages vendor has no such request; what it reports of itself is no one's wish.
  assertEquals(await world.ask("chat", "messages", asked, undefined), [30, undefined]);
  assert(world.seen.at(-1)?.json()["service_tier"] !== "priority");
  assertEquals(await world.spentVnd(), 180);
});

Deno.test("a tier without a factor is refused, and the highest factor of a call is reserved", async () => {
  await using world = await openWorld(1_000);
  for (const [model, service_tier] of [["chat", "scale"], ["plain", "priority"]] as const) {
    const refused = await world.send("chat", model, { service_tier });
    assertEquals(refused.status, 400);
    assertMatch(await refused.text(), /service_tier: this service tier costs extra/);
  }
  const body = { max_tokens: 100, messages: [{ role: "user", content: "x".repeat(400) }] };
  const poor = await world.send("chat", "chat", { ...body, service_tier: "priority" });
  assertEquals(poor.status, 402);
  await poor.body?.cancel();
  assertEquals(await world.ask("chat", "chat", body, "default"), [30, undefined]);
  assertEquals(await world.spentVnd(), 30);
});
