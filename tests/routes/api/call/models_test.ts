import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";

Deno.test("the model list: wrong paging is refused in the caller's style, right paging lists every model once", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000);
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://gateway.example${path}`, {
      headers: { "x-api-key": key, ...headers },
    });
    const response = await test.fetch(request);
    return { status: response.status, body: await response.json() };
  };
  const messages = { "anthropic-version": "2023-06-01" };
  for (
    const query of [
      "limit=abc",
      "limit=0",
      "limit=1001",
      "limit=1.5",
      "after_id=no-such-model",
      "before_id=",
    ]
  ) {
    const { status, body } = await get(`/v1/models?${query}`, messages);
    assertEquals([status, body.type, body.error.type], [400, "error", "invalid_request_error"]);
    assertEquals(body.error.message.split(":")[0], query.split("=")[0], query);
    assertEquals(Object.keys(body).sort(), ["error", "request_id", "type"], query);
  }
  for (const path of ["/v1/models", "/v1/models/premium-1"]) {
    const { status, body } = await get(path, { "compat-version": "2099-01-01" });
    assertEquals([status, body.error.type], [400, "invalid_request_error"], path);
    assert(body.error.message.startsWith("compat-version: unknown version"), body.error.message);
    assertEquals((await get(path, { "anthropic-version": "2099-01-01" })).status, 200, path);
  }
  const missing = await get("/v1/models/no-such-model", { "compat-version": "2023-06-01" });
  assertEquals([missing.status, typeof missing.body.request_id], [404, "string"]);
  assertEquals((await get("/v1/models/no-such-model")).body.error.code, "model_not_found");

  const all = (await get("/v1/models")).body.data.map(({ id }: { id: string }) => id);
  assertEquals(
    (await get("/v1/models?limit=abc")).body.data.length,
    all.length,
    "not of its style",
  );
  const forward: string[] = [];
  for (let after = "";;) {
    const { body } = await get(`/v1/models?limit=7${after}`, messages);
    forward.push(...body.data.map(({ id }: { id: string }) => id));
    if (!body.has_more) break;
    after = `&after_id=${encodeURIComponent(body.last_id)}`;
  }
  assertEquals(forward, all);
});

Deno.test("the model list has a row for each alias, and ends at `limit`, in either shape", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000);
  const get = async (query: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://gateway.example/v1/models${query}`, {
      headers: { "x-api-key": key, ...headers },
    });
    return await (await test.fetch(request)).json();
  };
  interface Row {
    readonly id: string;
    readonly aliases: string[];
    readonly alias_of?: string;
    readonly display_name: string;
  }
  const rows: Row[] = (await get("")).data;
  const names = rows.map(({ id }) => id);
  assertEquals(new Set(names).size, names.length);
  assert(rows.some(({ alias_of }) => alias_of !== undefined));
  for (const { id, aliases, alias_of } of rows) {
    assertEquals(names.indexOf(alias_of ?? id) <= names.indexOf(id), true);
    for (const alias of aliases) assert(names.includes(alias), alias);
    const whole = alias_of === undefined ? id : rows.find((row) => row.id === alias_of)?.id;
    assert(whole !== undefined);
  }
  assertEquals((await get("?limit=3")).data.map(({ id }: Row) => id), names.slice(0, 3));
  // As Claude Code looks for models: it offers ids that begin with `claude` or `anthropic`.
  const found = await get("?limit=1000", { "user-agent": "claude-cli/2.1.130 (external, cli)" });
  assertEquals([found.has_more, found.first_id, found.last_id], [false, names[0], names.at(-1)]);
  assertEquals(found.data.map(({ id }: Row) => id), names);
  for (const row of found.data) {
    assertEquals([row.type, typeof row.display_name], ["model", "string"]);
  }
  assert(found.data.some(({ id }: Row) => id.startsWith("claude")));
});

Deno.test("a WebSocket is refused with 426, on every path and without a key", async () => {
  await using test = await openTestGateway();
  for (const path of ["/v1/responses", "/v1/chat/completions"]) {
    const request = new Request(`http://gateway.example${path}`, {
      headers: { upgrade: "websocket", connection: "Upgrade", "sec-websocket-version": "13" },
    });
    const response = await test.fetch(request);
    assertEquals([response.status, response.headers.get("upgrade")], [426, "HTTP/1.1"]);
    assertEquals((await response.json()).error.code, "websocket_unsupported");
  }
});

Deno.test("a key that may use some models sees only those, in the list and by id", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000, { allowedModels: ["general-01"] });
  const get = async (path: string) => {
    const request = new Request(`http://gateway.example${path}`, { headers: { "x-api-key": key } });
    const response = await test.fetch(request);
    return { status: response.status, body: await response.json() };
  };
  const { body } = await get("/v1/models");
  const named = body.data.map((row: { id: string; alias_of?: string }) => row.alias_of ?? row.id);
  assertEquals(new Set(named), new Set(["general-01"]));
  assertEquals((await get("/v1/models/general-01")).status, 200);
  const other = await get("/v1/models/premium-1");
  assertEquals([other.status, other.body.error.code], [404, "model_not_found"]);
});

Deno.test("every answer that is not streamed has headers for tokens and cost: zero if nothing is charged", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer(1_000);
  const ask = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const request = new Request(`http://gateway.example${path}`, {
      headers: { "x-api-key": key, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const response = await test.fetch(request);
    await response.body?.cancel();
    const told = ["input-tokens", "output-tokens", "cost-vnd", "model", "model-mapped-from"];
    return [response.status, ...told.map((name) => response.headers.get(`x-gateway-${name}`))];
  };
  const chat = { model: "premium-1", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
  const counted = await ask("/v1/messages/count_tokens", chat);
  assertEquals(counted, [200, "0", "0", "0", "premium-1", null]);
  assertEquals(await ask("/v1/models"), [200, "0", "0", "0", null, null]);
  const wrong = { ...chat, model: "unknown", response_format: { type: "text" }, n: 3, tools: 7 };
  const refused = await ask("/v1/chat/completions", { ...wrong, max_tokens: -1 });
  assertEquals(refused, [400, "0", "0", "0", null, null]);
  const { key: poor } = await test.customer();
  const unpaid = { ...chat, model: "unknown" };
  assertEquals(await ask("/v1/chat/completions", unpaid, { "x-api-key": poor }), [
    402,
    "0",
    "0",
    "0",
    "premium-1",
    "unknown",
  ]);
  assertEquals(await ask("/v1/models", undefined, { "x-api-key": "sk-wrong" }), [
    401,
    "0",
    "0",
    "0",
    null,
    null,
  ]);
  const streamed = await ask("/v1/chat/completions", { ...chat, stream: true });
  assertEquals(streamed, [200, null, null, null, "premium-1", null]);
});
