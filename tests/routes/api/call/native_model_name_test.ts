import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const paths: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};
const styles = ["messages", "chat", "responses"] as const;
const upstreamModel = "vendor/secret-9";
const message = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: upstreamModel,
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 2 },
};
const response = {
  id: "resp_1",
  object: "response",
  status: "completed",
  model: `${upstreamModel}-2026-08-06`,
  output: [{
    id: "i",
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "Hi" }],
  }],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
};
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const wholes: Record<BodyStyle, string> = {
  // Written as no serializer would: every byte but the name's comes back.
  messages: JSON.stringify(message, undefined, 2),
  chat: `{ "choices":[ {"index":0,"message":{"role":"assistant","content":"Hi"},` +
    `"finish_reason":"stop"}],\n"model" : "vendor\\/secret-9", "usage":${JSON.stringify(usage)} }`,
  responses: JSON.stringify(response),
};
const event = (body: { readonly type: string; readonly [member: string]: Json }) =>
  `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
const streams: Record<BodyStyle, string> = {
  messages: event({ type: "message_start", message: { ...message, content: [] } }) +
    event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "Hi" } }) +
    event({ type: "content_block_stop", index: 0 }) +
    event({
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { output_tokens: 2 },
    }) +
    event({ type: "message_stop" }),
  chat: `data: {"model":"${upstreamModel}","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n` +
    `data: {"model":"${upstreamModel}","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n` +
    "data: [DONE]\n\n",
  responses: event({ type: "response.created", response: { ...response, output: [] } }) +
    event({ type: "response.output_text.delta", delta: "Hi" }) +
    event({ type: "response.completed", response }),
};

async function openWorld() {
  let refusal: string | undefined;
  const provider = mockProvider((request) => {
    const style = styles.find((name) => paths[name] === request.path);
    assert(style !== undefined);
    assertEquals(request.json()["model"], upstreamModel);
    assertEquals(request.json()["store"], style === "responses" ? false : undefined);
    if (refusal !== undefined) return new Response(refusal, { status: 400 });
    return request.json()["stream"] === true
      ? new Response(streams[style], { headers: { "content-type": "text/event-stream" } })
      : new Response(wholes[style], { headers: { "content-type": "application/json" } });
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "premium-1",
      providers: Object.fromEntries(styles.map((style) => [style, {
        kind: "http",
        baseUrl: `http://127.0.0.1:${provider.port}`,
        apiKeyEnv: "PROVIDER_KEY",
      }])),
      models: [{
        id: "premium-1",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 8_300 },
        contextWindow: 100_000,
        maxOutputTokens: 10_000,
        aliases: ["claude-premium"],
        routes: styles.map((style) => ({
          provider: style,
          style,
          model: upstreamModel,
        })),
      }],
    }),
  });
  const { key } = await gateway.customer(10_000);
  return {
    refuse: (body: string) => refusal = body,
    ask: (style: BodyStyle, model: string, stream: boolean) =>
      gateway.fetch(apiPost(`http://gateway${paths[style]}`, key, {
        model,
        stream,
        ...(style === "responses"
          ? { input: "hi" }
          : { max_tokens: 9, messages: [{ role: "user", content: "hi" }] }),
      })),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const anyName = /vendor\\?\/secret-9(?:-2026-08-06)?/g;

Deno.test("native answers have the model name that the client sent, and are otherwise unchanged", async () => {
  await using world = await openWorld();
  for (const name of ["premium-1", "claude-premium", "claude-sonnet-9 [1m]"]) {
    for (const style of styles) {
      for (const [stream, sent] of [[false, wholes[style]], [true, streams[style]]] as const) {
        const answer = await world.ask(style, name, stream);
        assertEquals(await answer.text(), sent.replaceAll(anyName, name));
        assertEquals(answer.headers.get("x-gateway-model"), "premium-1");
      }
    }
  }
});

Deno.test("a refusal of the provider shows the client's name of the model", async () => {
  await using world = await openWorld();
  world.refuse(JSON.stringify({
    error: { type: "invalid_request_error", message: `${upstreamModel} takes no images` },
  }));
  for (const style of styles) {
    const text = await (await world.ask(style, "claude-premium", true)).text();
    assert(text.includes("claude-premium takes no images"), text);
    assert(!text.includes("secret"), text);
  }
});
