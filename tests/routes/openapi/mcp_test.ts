/** Tests the account as tools of MCP: each says what the API says to the same key, and nothing else. */
import { type AccountId, newId } from "../../../core/lib/ids/ids.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { findAccountByEmail } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import {
  createManagementKey,
  managementRoles,
} from "../../../kv/people/management_keys/management_keys.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import { openOperatedGateway, operatorEmail } from "../../support/worlds/operated_gateway.ts";

const newestVersion = "2025-11-25";

/** A gateway with keys of each kind of one organisation, a key of another, and calls. */
async function openWorld() {
  const operated = await openOperatedGateway();
  const { gateway, address } = operated;
  const { kv, masterKeys } = gateway;
  const other = await findAccountByEmail(kv, operatorEmail);
  assert(other !== undefined);
  const nowMs = gateway.time.nowMs();
  const apiKey = async (accountId: AccountId, reads: { readonly readsOnlyOwnCalls?: true }) => {
    const options = { name: "of the test", nowMs, ...reads };
    const made = await createApiKey(kv, masterKeys, accountId, options);
    assert(made.ok);
    return made.secret;
  };
  const { accountId, key } = await gateway.customer(1_000_000);
  const secrets: Record<string, string> = {
    "all calls": key,
    "own calls": await apiKey(accountId, { readsOnlyOwnCalls: true }),
    "another account": await apiKey(other.id, {}),
  };
  for (const role of managementRoles) {
    const options = { name: role, role, memberId: accountId, nowMs };
    const made = await createManagementKey(kv, accountId, options);
    assert(made !== "too_many");
    secrets[role] = made.secret;
  }
  const send = (path: string, secret: string | undefined, init: RequestInit = {}) =>
    fetch(`${address}${path}`, {
      ...init,
      headers: {
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        "content-type": "application/json",
        ...init.headers,
      },
    });
  const requestIds: string[] = [];
  for (const name of ["all calls", "own calls"]) {
    const messages = [{ role: "user", content: "Hi" }];
    const response = await send("/v1/chat/completions", secrets[name], {
      method: "POST",
      body: JSON.stringify({ model: "premium-1", max_tokens: 5, messages }),
    });
    assertEquals(response.status, 200, await response.text());
    requestIds.push(response.headers.get("x-request-id") ?? "");
  }
  const post = async (secret: string | undefined, body: unknown, headers = {}) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await send("/mcp", secret, { method: "POST", body: text, headers });
    const answer = await response.text();
    return { status: response.status, answer: answer === "" ? undefined : JSON.parse(answer) };
  };
  return {
    secrets,
    requestIds,
    send,
    post,
    ask: (secret: string | undefined, method: string, params: JsonObject = {}) =>
      post(secret, { jsonrpc: "2.0", id: 1, method, params }),
    [Symbol.asyncDispose]: () => operated[Symbol.asyncDispose](),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** The path of each tool, written by hand: what the API is asked without the server of tools. */
const paths: Readonly<Record<string, string>> = {
  listModels: "/v1/models",
  getModel: "/v1/models/{id}",
  getStatus: "/v1/status",
  getUsage: "/v1/usage",
  getUsageSeries: "/v1/usage/series",
  listReceipts: "/v1/receipts",
  getReceipt: "/v1/receipts/{id}",
  getGeneration: "/v1/generation",
  getReceiptProof: "/v1/receipts/{id}/proof",
  listStatements: "/v1/statements",
  getStatement: "/v1/statements/{month}",
  getStatementProof: "/v1/statements/{month}/proof",
  listSignedDays: "/v1/proofs/days",
  getProofKeys: "/.well-known/gateway-proof-keys.json",
  listCalls: "/v1/calls",
  getCall: "/v1/calls/{id}",
  listActivity: "/v1/activity",
  getBalance: "/v1/balance",
};

function pathOf(name: string, given: JsonObject): string {
  let path = paths[name];
  assert(path !== undefined, name);
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(given)) {
    const text = String(value);
    if (path.includes(`{${key}}`)) path = path.replace(`{${key}}`, encodeURIComponent(text));
    else query.set(key, text);
  }
  return `${path}?${query}`;
}

/** An argument of this name, as a client may choose it. */
function argumentOf({ requestIds }: World, name: string): fc.Arbitrary<Json> {
  const values: Readonly<Record<string, readonly Json[]>> = {
    id: [...requestIds, "premium-1", newId("request", 0), "../usage", "a b/ü?x=1"],
    month: ["2026-11", "2026-10", "2026-13", "soon"],
    from: ["2026-11-01", "2026-12-01", "yesterday"],
    to: ["2026-11-30", "2026-10-01"],
    limit: [1, 2, 200, 0, -1, 1.5, "1"],
    group_by: ["day", "key", "model", "tag:team", "nothing"],
    model: ["premium-1", "no such model"],
    status: ["ok", "error", "refused", "5xx", "402"],
    metric: ["cost", "calls", "first"],
    interval: ["hour", "day", "month"],
  };
  return fc.constantFrom(...values[name] ?? ["x", "team:search"]);
}

/** An answer without the id of its request, which an error repeats. */
function withoutRequestId(text: string): string {
  return text.includes('"error"') ? text.replace(/req_\w+/g, "req") : text;
}

Deno.test("a tool says to each key what the API says to it, for any arguments", async () => {
  await using world = await openWorld();
  const { answer: { result } } = await world.ask(world.secrets["all calls"], "tools/list");
  const tools: readonly JsonObject[] = result.tools;
  const argumentsOf = ({ inputSchema }: JsonObject) => {
    assert(isJsonObject(inputSchema));
    const { properties, required } = inputSchema;
    assert(isJsonObject(properties) && Array.isArray(required));
    const values: Record<string, fc.Arbitrary<Json>> = {};
    for (const name of Object.keys(properties)) values[name] = argumentOf(world, name);
    return fc.record(values, { requiredKeys: required.map(String) });
  };
  const answered = new Set<string>();
  // Each tool has cases of its own, however few a run draws.
  for (const tool of tools) {
    const name = String(tool["name"]);
    const who = fc.constantFrom(...Object.keys(world.secrets));
    await fc.assert(
      fc.asyncProperty(argumentsOf(tool), who, async (given, who) => {
        const secret = world.secrets[who];
        const { status, answer } = await world.ask(secret, "tools/call", {
          name,
          arguments: given,
        });
        assertEquals(status, 200);
        const [{ text }] = answer.result.content;
        const direct = await world.send(pathOf(name, given), secret);
        assertEquals(withoutRequestId(text), withoutRequestId(await direct.text()), who + name);
        assertEquals(answer.result.isError, !direct.ok);
        if (direct.ok) answered.add(name);
      }),
      { numRuns: 50 },
    );
  }
  assert(answered.size >= 3, [...answered].join());
});

Deno.test("the tools are the operations that only read, and say so", async () => {
  await using world = await openWorld();
  const { answer } = await world.ask(world.secrets["all calls"], "tools/list");
  const tools: readonly JsonObject[] = answer.result.tools;
  assertEquals(tools.map(({ name }) => String(name)).sort(), Object.keys(paths).sort());
  for (const { annotations, description, inputSchema } of tools) {
    assert(isJsonObject(annotations) && annotations["readOnlyHint"] === true);
    assert(typeof description === "string" && description !== "");
    assert(isJsonObject(inputSchema) && inputSchema["additionalProperties"] === false);
  }
});

Deno.test("a client is greeted in its version or the newest, and a notification has no answer", async () => {
  await using world = await openWorld();
  const key = world.secrets["all calls"];
  for (
    const [protocolVersion, spoken] of [
      ["2025-06-18", "2025-06-18"],
      ["1999-01-01", newestVersion],
    ] as const
  ) {
    const { answer } = await world.ask(key, "initialize", { protocolVersion });
    assertEquals(answer.result.protocolVersion, spoken);
    assertEquals(answer.result.capabilities, { tools: {} });
  }
  const notified = { jsonrpc: "2.0", method: "notifications/initialized" };
  assertEquals(await world.post(key, notified), { status: 202, answer: undefined });
  assertEquals((await world.ask(key, "ping")).answer.result, {});
});

Deno.test("whoever has no key, or another method, version or size, gets an error of HTTP", async () => {
  await using world = await openWorld();
  const key = world.secrets["all calls"];
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  for (const secret of [undefined, "sk-unknown", `${key}x`]) {
    assertEquals((await world.post(secret, ping)).status, 401);
  }
  assertEquals((await world.post(key, ping, { "mcp-protocol-version": "1999-01-01" })).status, 400);
  assertEquals((await world.post(key, JSON.stringify(ping).padEnd(70_000))).status, 413);
  for (const method of ["GET", "DELETE", "PUT"]) {
    const response = await world.send("/mcp", key, { method });
    assertEquals([response.status, response.headers.get("allow")], [405, "POST"]);
    await response.body?.cancel();
  }
});

Deno.test("any other message is an error of JSON-RPC, and no message breaks the server", async () => {
  await using world = await openWorld();
  const key = world.secrets["all calls"];
  const member = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom("2.0", "tools/call", "tools/list", "initialize", "getUsage", "constructor"),
  );
  const params = fc.record({
    name: member,
    arguments: fc.oneof(fc.dictionary(fc.string(), member), member),
  });
  const message = fc.oneof(
    fc.jsonValue(),
    fc.record({
      jsonrpc: fc.oneof(fc.constant("2.0"), member),
      id: fc.oneof(fc.integer(), fc.string(), member),
      method: fc.oneof(fc.constantFrom("tools/call", "tools/list", "resources/list"), member),
      params: fc.oneof(params, member),
    }, { requiredKeys: [] }),
  );
  await fc.assert(
    fc.asyncProperty(message, async (sent) => {
      const { status, answer } = await world.post(key, JSON.stringify(sent));
      assert(status === 200 || status === 202, `${status}`);
      if (status === 202) return;
      assertEquals(answer.jsonrpc, "2.0");
      assert((answer.result === undefined) !== (answer.error === undefined));
      if (answer.error !== undefined) assert([-32600, -32601, -32602].includes(answer.error.code));
    }),
    { numRuns: 300 },
  );
  assertEquals((await world.post(key, '{"jsonrpc":')).answer.error.code, -32700);
  for (const id of ["", ".", ".."]) {
    const { answer } = await world.ask(key, "tools/call", { name: "getModel", arguments: { id } });
    assertEquals(answer.error, { code: -32602, message: "id: is no id" });
  }
});
