/** A provider that reports what cannot be: its customer does not pay for it, it is a claim, and the route rests. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";

const operatorKey = "operator-key-of-this-test-1";

Deno.test("after three false reports calls go to the next route, and operators see why", async () => {
  const answer = (prompt_tokens: number) =>
    Response.json({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{
        index: 0,
        message: { role: "assistant", content: "Hà Nội" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens, completion_tokens: 5, total_tokens: prompt_tokens + 5 },
    });
  await using liar = mockProvider(() => answer(2_000_000));
  await using truthful = mockProvider(() => answer(28));
  const provider = (port: number) => ({
    kind: "http",
    baseUrl: `http://127.0.0.1:${port}`,
    apiKeyEnv: "PROVIDER_KEY",
  });
  await using gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890", GATEWAY_OPERATOR_KEY: operatorKey },
    file: () => ({
      defaultModel: "chat",
      providers: { liar: provider(liar.port), truthful: provider(truthful.port) },
      models: [{
        id: "chat",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 8_300 },
        contextWindow: 2_000_000,
        routes: [
          { provider: "liar", style: "chat", model: "m", priority: 0 },
          { provider: "truthful", style: "chat", model: "m", priority: 1 },
        ],
      }],
    }),
  });
  const { key, accountId } = await gateway.customer(100_000);
  const body = JSON.stringify({
    model: "chat",
    max_tokens: 100,
    messages: [{ role: "user", content: "What is the capital of Vietnam?" }],
  });
  for (let i = 0; i < 4; i++) {
    const response = await gateway.fetch(
      new Request("http://gateway/v1/chat/completions", {
        method: "POST",
        headers: { "x-api-key": key, "content-type": "application/json" },
        body,
      }),
    );
    assertEquals(response.status, 200, await response.text());
  }
  const { receipts } = await listReceipts(gateway.kv, accountId, { limit: 9 });
  assertEquals(receipts.map(({ route }) => route).toSorted(), [
    "liar/m",
    "liar/m",
    "liar/m",
    "truthful/m",
  ]);
  for (const { route, usage, estimated, costMicroVnd, claimMicroVnd } of receipts) {
    const lies = route === "liar/m";
    assert(costMicroVnd < BigInt(body.length) * 8_300n, `${costMicroVnd}`);
    assertEquals([usage?.output, estimated], [5, lies]);
    assertEquals(claimMicroVnd, lies ? 2_000_005n * 8_300n - costMicroVnd : undefined);
  }
  const ask = async (path: string) => {
    const response = await gateway.fetch(
      new Request(`http://gateway${path}`, {
        headers: { authorization: `Bearer ${operatorKey}` },
      }),
    );
    assertEquals(response.status, 200, path);
    return await response.json();
  };
  const { data: routes } = await ask("/operator/routes");
  const health = routes.find(({ id }: { id: string }) => id === "liar/m").operations.chat;
  assertEquals([health.state, health.reason], ["open", "false_reports"]);
  const claimed = receipts.reduce((sum, { claimMicroVnd }) => sum + (claimMicroVnd ?? 0n), 0n);
  const { data: claims, partial } = await ask("/operator/provider-claims");
  assertEquals(partial, false);
  assertEquals(claims, [{
    day: vietnamDay(receipts[0]!.startedAtMs),
    provider: "liar",
    route: "liar/m",
    calls: 3,
    claim_vnd: formatVnd(claimed),
  }]);
  const metrics = await gateway.fetch(
    new Request("http://gateway/metrics", { headers: { authorization: `Bearer ${operatorKey}` } }),
  );
  assertStringIncludes(
    await metrics.text(),
    `gateway_provider_claims_vnd_total{route="liar/m"} ${formatVnd(claimed)}`,
  );
  const warnings = gateway.log.filter((line) => line.includes("reported implausible usage"));
  assertEquals(warnings.length, 3);
  assert((await verifyStore(gateway.kv)).ok);
});
