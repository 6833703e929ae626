import { gzipSync } from "node:zlib";
import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { apiPost } from "../../../support/api_post.ts";

const paths = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
} as const;
type ChatStyle = keyof typeof paths;
const styles: readonly ChatStyle[] = ["messages", "chat", "responses"];

const hello = [{ role: "user", content: "Hi" }];
const good: Record<ChatStyle, Record<string, unknown>> = {
  messages: { model: "premium-1", max_tokens: 20, messages: hello },
  chat: { model: "premium-1", max_tokens: 20, messages: hello },
  responses: { model: "premium-1", max_output_tokens: 20, input: "Hi" },
};

interface BadInput {
  readonly name: string;
  readonly only?: readonly ChatStyle[];
  readonly body: (style: ChatStyle) => string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
  readonly status: number;
  /** What the message must name. */
  readonly names?: string;
}

const changed = (change: Record<string, unknown>) => (style: ChatStyle) =>
  JSON.stringify({ ...good[style], ...change });
const withMessages = ["messages", "chat"] as const;

const battery: readonly BadInput[] = [
  { name: "an empty body", body: () => "", status: 400 },
  { name: "malformed JSON", body: () => '{"model":', status: 400, names: "JSON" },
  { name: "a list", body: () => "[]", status: 400 },
  {
    name: "invalid UTF-8",
    body: () => new Uint8Array([0x7b, 0xff, 0x7d]),
    status: 400,
    names: "UTF-8",
  },
  {
    name: "a number where JSON has none",
    body: () => '{"model":"m","max_tokens":NaN}',
    status: 400,
  },
  {
    name: "JSON nested 5,000 deep",
    body: () => `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    status: 400,
    names: "nested",
  },
  {
    name: "six million empty objects",
    body: () => `{"model":"premium-1","x":[${"{},".repeat(6_000_000)}{}]}`,
    status: 400,
    names: "500000 values",
  },
  {
    name: "twenty million brackets",
    body: () => `{"model":"premium-1","x":${"[".repeat(20_000_000)}`,
    status: 400,
    names: "128 levels",
  },
  { name: "a field twice", body: () => '{"model":"a","model":"b"}', status: 400, names: "model" },
  { name: "no model", body: changed({ model: undefined }), status: 400, names: "model" },
  { name: "a model that is a number", body: changed({ model: 5 }), status: 400, names: "model" },
  { name: "an empty model", body: changed({ model: "" }), status: 400, names: "model" },
  {
    name: "a model of 10,000 characters",
    body: changed({ model: "m".repeat(10_000) }),
    status: 400,
    names: "model",
  },
  {
    name: "a model of another kind",
    body: changed({ model: "image-1" }),
    status: 400,
    names: "/v1/images/generations",
  },
  {
    name: "several answers of a model that is priced per call",
    only: ["chat"],
    body: changed({ model: "low-cost-01", n: 2 }),
    status: 400,
    names: "n:",
  },
  {
    name: "a picture for a model that sees none",
    only: ["messages"],
    body: changed({
      model: "low-cost-01",
      messages: [{
        role: "user",
        content: [{ type: "image", source: { type: "url", url: "https://x.test/a.png" } }],
      }],
    }),
    status: 400,
    names: "messages.0.content.0",
  },
  {
    name: "a picture in a tool result for a model that sees none",
    only: ["messages"],
    body: changed({
      model: "low-cost-01",
      messages: [{
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "image", source: {} }],
        }],
      }],
    }),
    status: 400,
    names: "messages.0.content.0.content.0",
  },
  {
    name: "a picture part for a model that sees none",
    only: ["chat"],
    body: changed({
      model: "low-cost-01",
      messages: [{
        role: "user",
        content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }],
      }],
    }),
    status: 400,
    names: "messages.0.content.0",
  },
  {
    name: "an input picture for a model that sees none",
    only: ["responses"],
    body: changed({
      model: "low-cost-01",
      input: [{
        role: "user",
        content: [{ type: "input_image", image_url: "https://x.test/a.png" }],
      }],
    }),
    status: 400,
    names: "input.0.content.0",
  },
  {
    name: "a stream flag that is a string",
    body: changed({ stream: "yes" }),
    status: 400,
    names: "stream",
  },
  {
    name: "no messages",
    only: withMessages,
    body: changed({ messages: undefined }),
    status: 400,
    names: "messages",
  },
  {
    name: "messages that are a string",
    only: withMessages,
    body: changed({ messages: "Hi" }),
    status: 400,
    names: "messages",
  },
  {
    name: "an empty list of messages",
    only: withMessages,
    body: changed({ messages: [] }),
    status: 400,
    names: "messages",
  },
  {
    name: "a message that is null",
    only: withMessages,
    body: changed({ messages: [null] }),
    status: 400,
    names: "messages.0",
  },
  {
    name: "a message without role",
    only: withMessages,
    body: changed({ messages: [{ content: "x" }] }),
    status: 400,
    names: "messages.0.role",
  },
  {
    name: "content that is a number",
    only: withMessages,
    body: changed({ messages: [{ role: "user", content: 5 }] }),
    status: 400,
    names: "messages.0.content",
  },
  {
    name: "a part that is a string",
    only: withMessages,
    body: changed({ messages: [{ role: "user", content: ["x"] }] }),
    status: 400,
    names: "messages.0.content.0",
  },
  {
    name: "no max_tokens",
    only: ["messages"],
    body: changed({ max_tokens: undefined }),
    status: 400,
    names: "max_tokens",
  },
  {
    name: "max_tokens that is a string",
    only: withMessages,
    body: changed({ max_tokens: "20" }),
    status: 400,
    names: "max_tokens",
  },
  {
    name: "a negative max_tokens",
    only: withMessages,
    body: changed({ max_tokens: -1 }),
    status: 400,
    names: "max_tokens",
  },
  {
    name: "half a token",
    only: withMessages,
    body: changed({ max_tokens: 0.5 }),
    status: 400,
    names: "max_tokens",
  },
  {
    name: "max_tokens of 1e300",
    only: withMessages,
    body: changed({ max_tokens: 1e300 }),
    status: 400,
    names: "max_tokens",
  },
  {
    name: "max_tokens just below 2^64",
    only: withMessages,
    body: () =>
      '{"model":"premium-1","messages":[{"role":"user","content":"x"}],"max_tokens":18446744073686646784}',
    status: 400,
    names: "max_tokens",
  },
  {
    name: "a negative max_output_tokens",
    only: ["responses"],
    body: changed({ max_output_tokens: -5 }),
    status: 400,
    names: "max_output_tokens",
  },
  {
    name: "no input",
    only: ["responses"],
    body: changed({ input: undefined }),
    status: 400,
    names: "input",
  },
  {
    name: "input that is a number",
    only: ["responses"],
    body: changed({ input: 5 }),
    status: 400,
    names: "input",
  },
  {
    name: "a background answer",
    only: ["responses"],
    body: changed({ background: true }),
    status: 400,
    names: "background",
  },
  { name: "n of 0", only: ["chat"], body: changed({ n: 0 }), status: 400, names: "n" },
  {
    name: "n of a million",
    only: ["chat"],
    body: changed({ n: 1_000_000 }),
    status: 400,
    names: "n",
  },
  {
    name: "n near 2^64",
    only: ["chat"],
    body: changed({ n: 18446744073686646784 }),
    status: 400,
    names: "n",
  },
  {
    name: "stream_options that are a list",
    only: ["chat"],
    body: changed({ stream_options: [] }),
    status: 400,
    names: "stream_options",
  },
  {
    name: "a form",
    body: () => "model=premium-1",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    status: 415,
    names: "application/json",
  },
  {
    name: "plain text",
    body: (style) => JSON.stringify(good[style]),
    headers: { "content-type": "text/plain" },
    status: 415,
  },
  {
    name: "a compressed body",
    body: (style) => new Uint8Array(gzipSync(JSON.stringify(good[style]))),
    headers: { "content-encoding": "gzip" },
    status: 415,
    names: "content-encoding",
  },
  {
    name: "a wrong version",
    only: ["messages"],
    body: changed({}),
    headers: { "compat-version": "1999-01-01" },
    status: 400,
    names: "compat-version",
  },
  {
    name: "a body above 20 MB",
    body: () => JSON.stringify({ pad: "x".repeat(21 * 1024 * 1024) }),
    status: 413,
    names: "20 MB",
  },
];

async function call(
  gateway: TestGateway,
  style: ChatStyle,
  key: string,
  bad: BadInput,
): Promise<Response> {
  return await gateway.fetch(
    new Request(`http://gateway.test${paths[style]}`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json", ...bad.headers },
      body: bad.body(style),
    }),
  );
}

Deno.test("bad input gets a clear error in the caller's style and is never charged", async (t) => {
  await using gateway = await openTestGateway();
  const { accountId, key } = await gateway.customer(50_000);
  const { wallet } = gateway.assembled.gateway;
  for (const style of styles) {
    for (const bad of battery) {
      if (bad.only?.includes(style) === false) continue;
      await t.step(`${style}: ${bad.name}`, async () => {
        const response = await call(gateway, style, key, bad);
        const text = await response.text();
        assertEquals(response.status, bad.status, text);
        const body = JSON.parse(text);
        assertEquals(body.type, "error");
        assert(response.headers.get("x-request-id")?.startsWith("req_"));
        assertEquals(response.headers.get("x-should-retry"), "false");
        if (bad.names !== undefined) {
          assert(body.error.message.includes(bad.names), body.error.message);
        }
        if (style === "messages") {
          assertEquals(body.request_id, response.headers.get("x-request-id"));
        } else assert("param" in body.error && "code" in body.error, text);
        const balance = await wallet.balance(accountId);
        assertEquals(balance.totalMicroVnd, 50_000_000_000n);
        assertEquals(balance.reservedMicroVnd, 0n);
      });
    }
  }
  assertEquals(gateway.log.filter((line) => line.includes("unexpected error")), []);
});

Deno.test("the 404 for an endpoint that only vendors have differs from that for a wrong base address", async () => {
  await using gateway = await openTestGateway();
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const response = await gateway.fetch(
      new Request(`http://gateway.test${path}`, { method: "POST", body: "{}", headers }),
    );
    return { status: response.status, ...await response.json() };
  };
  const reasons: Readonly<Record<string, string>> = {
    "/v1/edits": "/v1/chat/completions",
    "/v1/files": "send the contents with the call",
    "/v1/files/file-1/content": "send the contents with the call",
    "/v1/uploads": "which all customers share",
    "/v1/vector_stores/vs_1/search": "which all customers share",
    "/v1/batches": "cannot be held before",
    "/v1/messages/batches": "cannot be held before",
    "/v1/responses/resp_1/cancel": "send the whole conversation",
    "/v1beta/cachedContents": "which all customers share",
    "/v1beta/files/f1": "which all customers share",
    "/upload/v1beta/files": "which all customers share",
    "/v1beta/batches/b1": "cannot be held before",
    "/v1/chat/completions/chatcmpl-1": "send the whole conversation",
    "/v1/conversations": "send the whole conversation",
    "/v1/threads/runs": "send the whole conversation",
    "/v1/fine_tuning/jobs": "which all customers share",
    "/v1/realtime": "/v1/audio/transcriptions",
    "/v1/realtime/sessions": "/v1/audio/transcriptions",
  };
  for (const [path, reason] of Object.entries(reasons)) {
    const { status, error } = await ask(path);
    const type = path.startsWith("/v1beta/") ? "NOT_FOUND" : "not_found_error";
    assertEquals([status, error.type ?? error.status], [404, type], path);
    assert(error.message.includes(`does not offer ${path}`), error.message);
    assert(error.message.includes(reason), error.message);
  }
  const long = await ask(`/v1/${"x".repeat(5_000)}`);
  assert(long.error.message.length < 500, "a path of the caller's making is not sent back whole");
  const files = await ask("/v1/files", { "anthropic-version": "2023-06-01" });
  assertEquals([typeof files.request_id, files.error.param], ["string", undefined]);
});

Deno.test("wrong paths are 404 before a key is required, wrong methods are 405", async () => {
  await using gateway = await openTestGateway();
  const send = async (method: string, path: string) => {
    const response = await gateway.fetch(
      new Request(`http://gateway.test${path}`, {
        method,
        ...(method === "POST" ? { body: "{}" } : {}),
      }),
    );
    return {
      status: response.status,
      body: await response.json(),
      allow: response.headers.get("allow"),
    };
  };
  for (
    const path of [
      "/messages",
      "/chat/completions",
      "/v1/chat",
      "/v2/messages",
      "/v1/v1/v1/messages",
    ]
  ) {
    const { status, body } = await send("POST", path);
    assertEquals([status, body.type, body.error.type], [404, "error", "not_found_error"], path);
  }
  assert((await send("POST", "/messages")).body.error.message.includes("/v1/messages"));
  // A base address that ends in the version too.
  assertEquals((await send("POST", "/v1/v1/messages?beta=true")).status, 401);
  assertEquals((await send("POST", "/v1/v1/messages/count_tokens")).status, 401);
  assertEquals((await send("GET", "/v1/v1/models")).status, 401);
  assertEquals((await send("GET", "/v1/v1/messages")).allow, "POST");
  for (
    const [path, meant] of [
      ["/v1/chat/completions/chat/completions", "/v1/chat/completions"],
      ["/v1/chat/completions/", "/v1/chat/completions"],
      ["/v1//messages", "/v1/messages"],
      ["/api/v1/responses", "/v1/responses"],
    ] as const
  ) {
    const { message } = (await send("POST", path)).body.error;
    assert(message.includes(`did you mean ${meant}?`), `${path}: ${message}`);
  }
  const wrong = await send("GET", "/v1/messages");
  assertEquals([wrong.status, wrong.allow], [405, "POST"]);
  const list = await send("POST", "/v1/models");
  assertEquals([list.status, list.allow], [405, "GET"]);
  // A query string never changes the way.
  assertEquals((await send("POST", "/v1/messages?beta=true")).status, 401);
});

Deno.test("without a valid key every endpoint answers 401 authentication_error in its style", async () => {
  await using gateway = await openTestGateway();
  const attempts: [string, Record<string, string>][] = [
    ["none", {}],
    ["empty", { "x-api-key": "" }],
    ["invented", { "x-api-key": `sk-${"a".repeat(49)}` }],
    ["a vendor's", { authorization: "Bearer sk-proj-abcdef" }],
    ["basic", { authorization: "Basic abc" }],
    ["oversized", { "x-api-key": "x".repeat(8_000) }],
  ];
  for (const [name, headers] of attempts) {
    for (const style of styles) {
      const response = await gateway.fetch(
        new Request(`http://gateway.test${paths[style]}`, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify(good[style]),
        }),
      );
      const body = await response.json();
      assertEquals(
        [response.status, body.error.type],
        [401, "authentication_error"],
        `${name} ${style}`,
      );
    }
  }
});

Deno.test("under maintenance every call is 503 with retry-after, and succeeds after it", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(50_000);
  const { control } = gateway.assembled.gateway;
  const send = () => gateway.fetch(apiPost(`http://gateway.test${paths.chat}`, key, good.chat));
  await control.update(({ routes }) => ({
    routes,
    maintenance: { message: "Back at nine", sinceMs: 0 },
  }));
  const closed = await send();
  assertEquals([closed.status, closed.headers.get("retry-after")], [503, "60"]);
  const body = await closed.json();
  assertEquals([body.error.type, body.error.message], ["service_unavailable", "Back at nine"]);
  await control.update(({ routes }) => ({ routes }));
  const open = await send();
  assertEquals(open.status, 200);
  await open.body?.cancel();
});

Deno.test("prompts, answers and keys appear in no log line and in no row of the store", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(50_000);
  const secretPrompt = "the-secret-prompt-7381";
  for (const style of styles) {
    for (const stream of [false, true]) {
      const body = JSON.stringify(good[style]).replace('"Hi"', `"${secretPrompt}"`);
      const response = await gateway.fetch(
        apiPost(`http://gateway.test${paths[style]}`, key, { ...JSON.parse(body), stream }),
      );
      assert((await response.text()).includes("secret"), "the sandbox quotes the prompt");
    }
  }
  await gateway.assembled.gateway.wallet.indexOnce();
  const rows: string[] = [];
  for await (const entry of gateway.kv.list({ prefix: [] })) {
    rows.push(Deno.inspect(entry, { depth: 10, strAbbreviateSize: 1e6 }));
  }
  const everything = gateway.log.join("\n") + rows.join("\n");
  assert(everything.includes("premium-1"), "the search looks at something");
  assert(!everything.includes(secretPrompt), "a prompt was kept");
  assert(!everything.includes(key), "a key was kept");
  assertEquals((await verifyStore(gateway.kv)).problems, []);
});
