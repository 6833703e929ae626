import { assertEquals } from "../support/assert.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

const configuration = {
  defaultModel: "m",
  providers: {
    provider: { kind: "http", baseUrl: "http://127.0.0.1:9", apiKeyEnv: "PROVIDER_KEY" },
  },
  models: [{
    id: "m",
    kind: "chat",
    family: "test",
    contextWindow: 1_000,
    maxOutputTokens: 100,
    price: { unit: "token", vndPerMtok: 1_000 },
    routes: [{ provider: "provider", style: "chat" }],
  }],
};

async function statusWith({ address }: StartedGateway, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${address}/v1/models`, { headers });
  await response.body?.cancel();
  return response.status;
}

Deno.test("a store that was used with a sandbox accepts no play money when it is started for production", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-test-" });
  try {
    const sandbox = await startGateway({ folder });
    const { key } = sandbox;
    assertEquals(await statusWith(sandbox, key), 200);
    assertEquals(await sandbox.end("SIGTERM"), 0);
    const file = `${folder}/gateway.json`;
    await Deno.writeTextFile(file, JSON.stringify(configuration));
    await using production = await startGateway({
      folder,
      env: { GATEWAY_CONFIG: file, PROVIDER_KEY: "secret" },
    });
    assertEquals(await statusWith(production, key), 401);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
