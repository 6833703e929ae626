import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";

const prompt = "a secret prompt";

Deno.test("every refused call has a log line with its id, and no prompt or key", async () => {
  await using test = await openTestGateway();
  const poor = await test.customer();
  const rich = await test.customer(1_000, { allowedModels: ["general-01"] });
  const send = async (path: string, key: string, body: unknown) => {
    const response = await test.fetch(
      new Request(`http://gateway.example${path}`, {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
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
    const request = new Request("http://gateway.example/v1/messages", {
      method: "POST",
      headers: { "x-api-key": secret, "content-type": "application/json" },
      body: JSON.stringify({ model: "general-01", max_tokens: 1, messages: [] }),
    });
    await (await test.fetch(request)).body?.cancel();
  };
  for (let i = 0; i < 500; i++) await send("sk-unknown");
  const flood = test.log.length;
  assert(flood <= 61, `${flood} lines`);
  await send(key);
  assertEquals(test.log.length, flood + 1);
});
