import { type AccountId, parseId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { revokeApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  listAllRefusedCalls,
  readRefusedCall,
} from "../../../../kv/services/calls/refused_calls.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { setMaintenance } from "../../../../kv/people/operators/switches.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { changeEmail } from "../../../../kv/people/accounts/account_credentials.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { outboxQueuePrefix } from "../../../../kv/engine/schema/keys.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost } from "../../../support/api_post.ts";

const prompt = "a secret prompt";

Deno.test("every refused call has a log line with its id, and no prompt or key", async () => {
  await using test = await openTestGateway();
  const poor = await test.customer();
  const rich = await test.customer(1_000, { allowedModels: ["general-01"] });
  const send = async (path: string, key: string, body: unknown) => {
    const response = await test.fetch(apiPost(`http://gateway.example${path}`, key, body));
    await response.body?.cancel();
    const requestId = response.headers.get("x-request-id");
    const lines = test.log.map((line) => JSON.parse(line))
      .filter((line) => line.request_id === requestId);
    assertEquals(lines.length, 1, `${response.status} ${path}`);
    assertEquals(lines[0].status, response.status);
    return lines[0];
  };
  const chat = {
    model: "general-01",
    max_tokens: 9,
    messages: [{ role: "user", content: prompt }],
  };
  const noMoney = await send("/v1/chat/completions", poor.key, chat);
  assertEquals(noMoney.message, "call refused: insufficient_balance");
  assertEquals(noMoney.account_id, poor.accountId);
  const wrong = await send("/v1/messages", rich.key, { ...chat, max_tokens: "many" });
  assertEquals(wrong.message, "call refused: invalid_request");
  const forbidden = await send("/v1/responses", rich.key, { model: "premium-1", input: prompt });
  assertEquals(forbidden.message, "call refused: permission_denied");
  const stranger = await send("/v1/messages", "sk-unknown", chat);
  assertEquals(stranger.message, "call refused: invalid_api_key");
  assertEquals(stranger.key_id, undefined);
  const image = await send("/v1/images/generations", poor.key, {
    model: "image-1",
    prompt,
  });
  assertEquals([image.message, image.endpoint], [
    "call refused: insufficient_balance",
    "/v1/images/generations",
  ]);
  // A call that was admitted has the line of its receipt, and no other.
  const failed = {
    ...chat,
    messages: [{ role: "user", content: "[[sandbox:error-500]]" }],
  };
  assertEquals((await send("/v1/chat/completions", rich.key, failed)).message, "call");
  const log = test.log.join("\n");
  for (const secret of [prompt, poor.key, rich.key, "sk-unknown"]) assert(!log.includes(secret));
});

Deno.test("a flood of refusals of one kind does not hide those of another", async () => {
  await using test = await openTestGateway();
  const { key } = await test.customer();
  const send = async (secret: string) => {
    const request = apiPost("http://gateway.example/v1/messages", secret, {
      model: "general-01",
      max_tokens: 1,
      messages: [],
    });
    await (await test.fetch(request)).body?.cancel();
  };
  for (let i = 0; i < 500; i++) await send("sk-unknown");
  const flood = test.log.length;
  assertEquals(flood, 60, "as many lines as a kind may have in a minute");
  await send(key);
  assertEquals(test.log.length, flood + 1);
});

Deno.test("every refused call of a known key can be read by its id, as the client got it", async () => {
  await using test = await openTestGateway();
  const { kv, assembled: { gateway } } = test;
  const poor = await test.customer();
  const limited = await test.customer(1_000, { allowedModels: ["general-01"] });
  const elsewhere = await test.customer(1_000, { allowedIps: ["192.0.2.0/24"] });
  const revoked = await test.customer(1_000);
  const blocked = await test.customer(1_000);
  const capped = await test.customer(1_000, { dailyLimitMicroVnd: 1n });
  const [revokedKey] = await listApiKeys(kv, revoked.accountId);
  assert(revokedKey !== undefined);
  const nowMs = test.time.nowMs();
  await revokeApiKey(kv, revoked.accountId, revokedKey.id, nowMs);
  await block(kv, blocked.accountId);
  await gateway.control.refresh();

  const chat = {
    model: "general-01",
    max_tokens: 9,
    messages: [{ role: "user", content: prompt }],
  };
  const tooLarge = "x".repeat(21 * 1024 * 1024);
  const cases: readonly (readonly [number, { accountId: string; key: string }, string, unknown])[] =
    [
      [400, limited, "/v1/messages", { ...chat, max_tokens: "many" }],
      [400, limited, "/v1/chat/completions", {
        ...chat,
        messages: prompt,
      }],
      [401, revoked, "/v1/chat/completions", chat],
      [403, blocked, "/v1/chat/completions", chat],
      [402, poor, "/v1/chat/completions", chat],
      [402, capped, "/v1/chat/completions", chat],
      [403, limited, "/v1/responses", { model: "premium-1", input: prompt }],
      [403, elsewhere, "/v1/chat/completions", chat],
      [413, limited, "/v1/messages", { ...chat, system: tooLarge }],
    ];
  const seen: [RequestId, AccountId, number, { message: string; code?: string }][] = [];
  for (const [status, { accountId, key }, path, body] of cases) {
    const response = await test.fetch(apiPost(`http://gateway.example${path}`, key, body));
    assertEquals(response.status, status, path);
    const requestId = parseId("request", response.headers.get("x-request-id") ?? "");
    const account = parseId("account", accountId);
    assert(requestId !== undefined && account !== undefined);
    seen.push([requestId, account, status, (await response.json()).error]);
  }
  await gateway.refusedCalls.close();
  for (const [requestId, accountId, status, error] of seen) {
    const row = await readRefusedCall(kv, requestId);
    assertEquals(
      [row?.accountId, row?.status, row?.message, row?.latencyMs !== undefined],
      [accountId, status, error.message, true],
    );
    if (error.code !== undefined) assertEquals(row?.code, error.code);
    assert(!Deno.inspect(row, { depth: 9 }).includes(prompt), "the row has text of the prompt");
    if (accountId === capped.accountId) {
      const { figures } = row ?? {};
      assert(figures?.kind === "spending_limit", Deno.inspect(figures));
      assertEquals([figures.limitName, figures.limitMicroVnd], ["dailyLimit", 1n]);
    }
  }
});

Deno.test("a key that meets its limit of a day leads to one mail, after its calls were answered", async () => {
  await using test = await openTestGateway();
  const { kv, assembled: { gateway } } = test;
  const { key, accountId } = await test.customer(1_000, { dailyLimitMicroVnd: 1n });
  const owner = parseId("account", accountId);
  assert(owner !== undefined);
  await changeEmail(kv, owner, { from: undefined, to: "ann@example.com" });
  const queued = async () => {
    const rows = kv.list<{ payload: unknown }>({ prefix: outboxQueuePrefix(mailQueue.name) });
    return await Array.fromAsync(rows, ({ value }) => mailQueue.parse(value.payload));
  };
  for (let call = 0; call < 3; call++) {
    const response = await test.fetch(apiPost("http://gateway.example/v1/chat/completions", key, {
      model: "general-01",
      max_tokens: 9,
      messages: [{ role: "user", content: prompt }],
    }));
    await response.body?.cancel();
    assertEquals(response.status, 402);
    assertEquals(await queued(), [], "no call waits for a mail");
  }
  await gateway.refusedCalls.close();
  const [mail, ...more] = await queued();
  assert(mail?.kind === "limit_reached" && more.length === 0, Deno.inspect([mail, ...more]));
  assertEquals([mail.to, mail.window, mail.limit], ["ann@example.com", "day", 1n]);
});

Deno.test("a call with a receipt, and one with an unknown key, have no row of a refusal", async () => {
  await using test = await openTestGateway();
  const { kv, assembled: { gateway } } = test;
  const { key, accountId } = await test.customer(1_000);
  for (const [secret, content] of [[key, "Hi"], [key, "[[sandbox:error-500]]"], ["sk-x", "Hi"]]) {
    const response = await test.fetch(apiPost("http://gateway.example/v1/messages", secret ?? "", {
      model: "general-01",
      max_tokens: 9,
      messages: [{ role: "user", content }],
    }));
    await response.body?.cancel();
  }
  await gateway.refusedCalls.close();
  assertEquals(await Array.fromAsync(listAllRefusedCalls(kv)), []);
  assertEquals((await listReceipts(kv, accountId, { limit: 10 })).receipts.length, 2);
});

Deno.test("refused calls are counted by endpoint, status and code, without anything of the caller", async () => {
  await using test = await openTestGateway();
  const poor = await test.customer();
  const rich = await test.customer(1_000);
  const { metrics, control, clock } = test.assembled.gateway;
  const send = async (key: string, path: string, init: RequestInit) => {
    const headers = { "x-api-key": key, "content-type": "application/json", ...init.headers };
    const request = new Request(`http://gateway.example${path}`, {
      method: "POST",
      ...init,
      headers,
    });
    const response = await test.fetch(request);
    await response.body?.cancel();
    return response.status;
  };
  const body = JSON.stringify({
    model: "general-01",
    max_tokens: 9,
    messages: [{ role: "user", content: prompt }],
  });
  assertEquals(await send("sk-unknown", "/v1/messages", { body }), 401);
  assertEquals(await send(poor.key, "/v1/messages", { body }), 402);
  const asText = { body, headers: { "content-type": "text/plain" } };
  assertEquals(await send(rich.key, "/v1/images/edits", asText), 415);
  await setMaintenance(control, "soon", { operator: commandLine, nowMs: clock.nowMs() });
  assertEquals(await send(rich.key, "/v1/chat/completions", { body }), 503);
  const lines = metrics.text().split("\n")
    .filter((line) => line.startsWith("gateway_refused_calls_total{"));
  assertEquals(lines.sort(), [
    'gateway_refused_calls_total{endpoint="/v1/chat/completions",status="503",code="maintenance"} 1',
    'gateway_refused_calls_total{endpoint="/v1/images/edits",status="415",code="unsupported_media_type"} 1',
    'gateway_refused_calls_total{endpoint="/v1/messages",status="401",code="invalid_api_key"} 1',
    'gateway_refused_calls_total{endpoint="/v1/messages",status="402",code="insufficient_balance"} 1',
  ]);
});
