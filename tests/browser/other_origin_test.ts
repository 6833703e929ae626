/**
 * A page of another origin in a real browser, with the OpenAI SDK and without: calls, streams, headers and errors reach
 * the page.
 */
import { createRequire } from "node:module";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";

/** The published package: its modules import only each other. */
const sdk = createRequire(import.meta.url).resolve("openai").replace(/[^/]*$/, "");

/** Serves a page and the modules of the SDK at an origin of their own. */
function servePage() {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/openai/")) {
      return new Response("<!doctype html><title>Page</title>", {
        headers: { "content-type": "text/html" },
      });
    }
    return new Response(await Deno.readTextFile(sdk + pathname.slice("/openai/".length)), {
      headers: { "content-type": "text/javascript" },
    });
  });
}

interface Asked {
  readonly address: string;
  readonly key: string;
}

/** Runs in the page. */
async function useOpenai({ address, key }: Asked) {
  const { default: OpenAI } = await import(`${location.origin}/openai/index.mjs`);
  const options = { baseURL: `${address}/v1`, dangerouslyAllowBrowser: true, maxRetries: 0 };
  const client = new OpenAI({ ...options, apiKey: key });
  const body = {
    model: "premium-1",
    max_tokens: 50,
    messages: [{ role: "user", content: "Hello" }],
  };
  const { data, response } = await client.chat.completions.create(body).withResponse();
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) {
    streamed += chunk.choices[0]?.delta?.content ?? "";
  }
  const refusal = await new OpenAI({ ...options, apiKey: "sk-wrong" }).models.list()
    .then(() => "", (error: Error) => error.constructor.name);
  return {
    whole: data.choices[0].message.content,
    streamed,
    cost: response.headers.get("x-gateway-cost-vnd"),
    refusal,
  };
}

/** Runs in the page. The SDK of this style needs a bundler, so the request is written by hand. */
async function useMessages({ address, key }: Asked) {
  const ask = (stream: boolean) =>
    fetch(`${address}/v1/messages`, {
      method: "POST",
      headers: {
        "x-api-key": key,
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "anthropic-dangerous-direct-browser-access": "true",
        "x-stainless-lang": "js",
      },
      body: JSON.stringify({
        model: "premium-1",
        max_tokens: 50,
        messages: [{ role: "user", content: "Hello" }],
        stream,
      }),
    });
  const whole = await ask(false);
  const streamed = await ask(true);
  return {
    whole: (await whole.json()).content[0].text,
    cost: whole.headers.get("x-gateway-cost-vnd"),
    type: streamed.headers.get("content-type"),
    streamed: await streamed.text(),
  };
}

await browserTest("a page of another origin may call the API", async (browser) => {
  await using gateway = await startGateway();
  await using server = servePage();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.addr.port}`);
  const asked = { address: gateway.address, key: gateway.key };

  const openai = await page.evaluate(useOpenai, asked);
  assert(openai.whole.length > 0);
  assertEquals(openai.streamed, openai.whole);
  assert(Number(openai.cost) > 0, `the cost that the page sees: ${openai.cost}`);
  assertEquals(openai.refusal, "AuthenticationError");

  const messages = await page.evaluate(useMessages, asked);
  assert(messages.whole.length > 0);
  assert(Number(messages.cost) > 0);
  assertEquals(messages.type, "text/event-stream; charset=utf-8");
  assert(messages.streamed.includes("event: message_stop"));
});
