/** Providers that answer in another form than they were asked for, or with a success that holds no answer. */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import {
  clientStyles,
  streamedAnswer,
  wholeAnswer,
} from "../../core/wire/conversion/provider_answers.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { bearerPost } from "../../support/api_post.ts";

/** What the first route's provider sends; the second one's answer is whole, with the text `second route`. */
type First = (stream: boolean) => Response | Promise<Response>;

async function openWorld() {
  let first: First = () => new Response("{}");
  let style: Style = "chat";
  const isStream = (path: string, body: Record<string, unknown>) =>
    body["stream"] === true || path.includes("streamGenerateContent");
  await using stack = new AsyncDisposableStack();
  const provider = stack.use(
    mockProvider((request) => first(isStream(request.path, request.json()))),
  );
  const spare = stack.use(mockProvider((request) => {
    const answer = { text: "second route" };
    return isStream(request.path, request.json())
      ? events(streamedAnswer(style, answer).join(""))
      : Response.json(wholeAnswer(style, answer));
  }));
  const http = ({ port }: { port: number }) => ({
    kind: "http",
    baseUrl: `http://127.0.0.1:${port}`,
    apiKeyEnv: "PROVIDER_KEY",
  });
  const model = (id: string, routeStyle: Style, hasSpare: boolean) => ({
    id,
    kind: "chat",
    family: "test",
    price: { unit: "token", vndPerMtok: 1_000 },
    contextWindow: 100_000,
    maxOutputTokens: 10_000,
    routes: [
      { provider: "first", style: routeStyle, model: "m" },
      ...hasSpare ? [{ provider: "spare", style: routeStyle, model: "m", priority: 1 }] : [],
    ],
  });
  const gateway = stack.use(
    await openTestGateway({
      env: { PROVIDER_KEY: "provider-secret-1234567890" },
      file: () => ({
        defaultModel: "one-chat",
        providers: { first: http(provider), spare: http(spare) },
        models: clientStyles.flatMap((
          each,
        ) => [model(`one-${each}`, each, false), model(`two-${each}`, each, true)]),
      }),
    }),
  );
  const { key, accountId } = await gateway.customer(1_000_000);
  const resources = stack.move();
  return {
    async ask(
      { from, client, stream, routes = "one" }: {
        readonly from: Style;
        readonly client: Style;
        readonly stream: boolean;
        readonly routes?: "one" | "two";
      },
      answer: First,
    ) {
      first = answer;
      style = from;
      const model = `${routes}-${from}`;
      const { path, body } = requestOf(client, model, stream);
      const response = await gateway.fetch(bearerPost(`http://gateway${path}`, key, body));
      const text = await response.text();
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      return { status: response.status, text, receipt };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function requestOf(client: Style, model: string, stream: boolean) {
  const messages = [{ role: "user", content: "hi" }];
  switch (client) {
    case "chat":
      return { path: "/v1/chat/completions", body: { model, messages, stream, max_tokens: 100 } };
    case "messages":
      return { path: "/v1/messages", body: { model, messages, stream, max_tokens: 100 } };
    case "responses":
      return {
        path: "/v1/responses",
        body: { model, input: "hi", stream, max_output_tokens: 100 },
      };
    case "gemini":
      return {
        path: `/v1beta/models/${model}:${
          stream ? "streamGenerateContent?alt=sse" : "generateContent"
        }`,
        body: {
          contents: [{ role: "user", parts: [{ text: "hi" }] }],
          generationConfig: { maxOutputTokens: 100 },
        },
      };
  }
}

const events = (text: string) =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });

/** Each style of a provider with each of a client, whole and streamed. */
function* table() {
  for (const from of clientStyles) {
    for (const client of clientStyles) {
      for (const stream of [false, true]) {
        yield {
          from,
          client,
          stream,
          name: `${from} to ${client}, ${stream ? "streamed" : "whole"}`,
        };
      }
    }
  }
}

Deno.test("a whole answer for a stream, and a stream for a whole answer, reach the client in the form it asked for", async () => {
  await using world = await openWorld();
  for (const { name, ...call } of table()) {
    const answer = { text: "Xin chào, whole answer", usage: { prompt: 40, cached: 30, output: 8 } };
    const { status, text, receipt } = await world.ask(
      call,
      (stream) =>
        stream
          ? Response.json(wholeAnswer(call.from, answer))
          : events(streamedAnswer(call.from, answer).join("")),
    );
    assertEquals(status, 200, `${name}: ${text}`);
    assert(text.includes("Xin chào, whole answer"), `${name}: ${text}`);
    assertEquals(/^(?:data|event): /m.test(text), call.stream, `${name}: ${text}`);
    assertEquals(
      [receipt?.outcome, receipt?.usage?.input, receipt?.usage?.cacheRead, receipt?.usage?.output],
      ["completed", 10, 30, 8],
      name,
    );
    assertEquals(receipt?.estimated, false, name);
  }
});

Deno.test("an answer that was compressed in spite of the request is read", async () => {
  await using world = await openWorld();
  const packed = async (response: Response, format: "gzip" | "deflate") => {
    const stream = response.body?.pipeThrough(new CompressionStream(format));
    const headers = new Headers(response.headers);
    headers.set("content-encoding", format);
    const { status } = response;
    return new Response(await new Response(stream).bytes(), { status, headers });
  };
  for (const { name, ...call } of table()) {
    for (const format of ["gzip", "deflate"] as const) {
      const answer = { text: "Xin chào, packed" };
      const { status, text, receipt } = await world.ask(call, (stream) =>
        packed(
          stream
            ? events(streamedAnswer(call.from, answer).join(""))
            : Response.json(wholeAnswer(call.from, answer)),
          format,
        ));
      assertEquals([status, receipt?.outcome], [200, "completed"], `${name}: ${text}`);
      assert(text.includes("Xin chào, packed"), `${name}: ${text}`);
    }
  }
  const refusal = { error: { message: "tools.0: no such type", type: "invalid_request_error" } };
  const refused = await world.ask(
    { from: "chat", client: "chat", stream: false },
    () => packed(Response.json(refusal, { status: 400 }), "gzip"),
  );
  assertEquals(refused.status, 400);
  assert(refused.text.includes("no such type"), refused.text);
  const broken = await world.ask(
    { from: "chat", client: "chat", stream: false },
    () => new Response("not packed", { headers: { "content-encoding": "gzip" } }),
  );
  assertEquals(broken.status, 502);
});

/** Bodies of a success that hold no answer of any style. */
const noAnswers: readonly Json[] = [
  {},
  { message: "ok" },
  { code: 429, msg: "busy", success: false, data: null },
  { code: 500, msg: "internal" },
  { status: "success" },
  { choices: [] },
  { choices: [{}] },
  { choices: null },
  { candidates: [] },
  { candidates: [{}] },
  { content: [] },
  { output: [] },
  { type: "message" },
];

Deno.test("a success without an answer is a failure of its route: the next one answers, or the client gets an error, free", async () => {
  await using world = await openWorld();
  for (const { name, ...call } of table()) {
    for (const body of noAnswers) {
      const said = `${name}: ${JSON.stringify(body)}`;
      // Streams get it as a body, and as an event before their end.
      const forms: First[] = [() => Response.json(body)];
      if (call.stream) {
        forms.push(() => events(`data: ${JSON.stringify(body)}\n\n`));
        forms.push(() => events(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`));
      }
      for (const form of forms) {
        const alone = await world.ask(call, form);
        assert(alone.status === 502 || alone.status === 429, `${said} -> ${alone.status}`);
        assertEquals(alone.receipt?.costMicroVnd, 0n, said);
      }
    }
  }
});

Deno.test("the second route answers where the first sends a success without an answer", async () => {
  for (const body of noAnswers) {
    // The route rests after some failures, so that each body has its own gateway.
    await using world = await openWorld();
    for (const from of clientStyles) {
      const call = { from, client: from, stream: false, routes: "two" } as const;
      const { status, text } = await world.ask(call, () => Response.json(body));
      assertEquals(status, 200, `${from}: ${JSON.stringify(body)}`);
      assert(text.includes("second route"), `${from}: ${text}`);
    }
  }
});

Deno.test("answers that the model spoiled move to the next route, and take the first one from nobody", async () => {
  const good = wholeAnswer("chat", { text: "first route" });
  for (const [reason, isMarked] of [["malformed_function_call", false], ["error", true]] as const) {
    await using world = await openWorld();
    const call = { from: "chat", client: "chat", stream: false, routes: "two" } as const;
    for (let i = 0; i < 10; i++) {
      const { text } = await world.ask(
        call,
        () => Response.json(wholeAnswer("chat", { text: "Half", reason })),
      );
      assert(text.includes("second route"), text);
    }
    const { text } = await world.ask(call, () => Response.json(good));
    assertEquals(text.includes("second route"), isMarked, `${reason}: ${text}`);
  }
});
