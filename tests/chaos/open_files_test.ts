/**
 * More connections than the process may open files: existing ones are served, and new ones are accepted again later.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { canLimit, limitOpenFiles, startGateway } from "../support/gateways/started_gateway.ts";
import { beginStream, newPayer, withStoreFolder } from "../support/worlds/money_process.ts";
import { until } from "../support/until.ts";

Deno.test({
  name: "strangers who open connections without end neither stop the service nor cut a stream",
  ignore: !canLimit(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using gateway = await startGateway();
    const { hostname, port } = new URL(gateway.address);
    const streams = await Promise.all(
      Array.from(
        { length: 8 },
        (_, i) =>
          beginStream(gateway, gateway.key, `[[sandbox:pace 400]] of rivers and seas, ${i} of 8`),
      ),
    );
    const texts = Promise.all(streams.map((stream) => stream.text()));
    await limitOpenFiles(gateway, 20);
    const strangers = await Promise.allSettled(
      Array.from({ length: 100 }, () => Deno.connect({ hostname, port: Number(port) })),
    );
    const isTold = () => gateway.log.some((line) => line.includes("connections are refused"));
    await until(isTold, "the log tells that connections are refused");
    // The other clients still hold theirs.
    const ask = () =>
      beginStream(gateway, gateway.key, "is somebody there?").then(
        async (response) => response.ok && (await response.text()).includes("data: [DONE]"),
        () => false,
      );
    await until(ask, "a customer is served again");
    assert((await texts).every((text) => text.includes("data: [DONE]")), "all streams are whole");
    for (const stranger of strangers) {
      if (stranger.status === "fulfilled") stranger.value.close();
    }
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
    assertEquals(await gateway.end("SIGTERM"), 0);
  },
});

Deno.test({
  name: "a process that can open no connection says so, and blames no provider",
  ignore: !canLimit(),
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withStoreFolder(async (folder) => {
      const answer = { id: "1", object: "chat.completion", created: 1, model: "m" };
      const message = { role: "assistant", content: "here" };
      const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
      // A connection of its own for each call: kept ones would need no new file.
      await using provider = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
        const choices = [{ index: 0, message, finish_reason: "stop" }];
        return Response.json({ ...answer, choices, usage }, { headers: { connection: "close" } });
      });
      const file = `${folder}/gateway.json`;
      const baseUrl = `http://127.0.0.1:${provider.addr.port}`;
      await Deno.writeTextFile(
        file,
        JSON.stringify({
          defaultModel: "m",
          providers: { provider: { kind: "http", baseUrl, apiKeyEnv: "PROVIDER_KEY" } },
          models: [{
            id: "m",
            kind: "chat",
            family: "test",
            price: { unit: "token", vndPerMtok: 1_000 },
            routes: [{ provider: "provider", style: "chat" }],
          }],
        }),
      );
      const env = { GATEWAY_CONFIG: file, PROVIDER_KEY: "secret" };
      await using gateway = await startGateway({ folder, env });
      const { key } = await newPayer(gateway, 1_000);
      // One connection to the gateway, which stays.
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
      const call = async () => {
        const response = await fetch(`${gateway.address}/v1/chat/completions`, {
          client,
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "there?" }] }),
        });
        // Read to the end: only then is the connection reused.
        await response.bytes();
        return response.status;
      };
      assertEquals(await call(), 200);
      await limitOpenFiles(gateway, "none");
      for (let i = 0; i < 5; i++) assertEquals(await call(), 503);
      await limitOpenFiles(gateway, 20);
      assertEquals(await call(), 200);
    }),
});
