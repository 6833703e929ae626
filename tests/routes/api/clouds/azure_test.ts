/** Azure: deployments path and v1 path, keys and Entra credentials. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { entraSecret } from "../../../support/servers/fake_cloud.ts";
import { chatAnswer, openCloudWorld, turns } from "./cloud_world.ts";

const deployments = { name: "azure", apiVersion: "2024-10-21" };
const entra = (authority: string) => ({
  kind: "entra",
  tenant: "tenant-1",
  clientId: "client-1",
  authority,
});
const route = { model: "my-deployment", style: "chat" };
const chat = { messages: turns };

Deno.test("a deployment is called by its path, with api-version and the key in its header", async () => {
  await using world = await openCloudWorld({
    provider: () => ({ auth: "api-key", cloud: deployments }),
    route,
    secrets: () => ["azure-key"],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  const response = await world.ask(chat, "/v1/chat/completions");
  assertEquals((await response.json()).choices[0].message.content, "Chào");
  const [request] = world.cloud.requests;
  assertEquals(
    `${request?.url.pathname}${request?.url.search}`,
    "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21",
  );
  assertEquals(request?.headers.get("api-key"), "azure-key");
  assertEquals(request?.headers.get("authorization"), null);
});

Deno.test("the v1 path needs no cloud, and names the deployment in the body", async () => {
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: "api-key", baseUrl: `${cloud.origin}/openai` }),
    route,
    secrets: () => ["azure-key"],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  await (await world.ask(chat, "/v1/chat/completions")).body?.cancel();
  const [request] = world.cloud.requests;
  assertEquals(request?.url.pathname, "/openai/v1/chat/completions");
  assertEquals(JSON.parse(request?.text ?? "").model, "my-deployment");
});

Deno.test("one Entra token serves calls that arrive at once and after it", async () => {
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => [entraSecret],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  const statusOf = async () => {
    const response = await world.ask(chat, "/v1/chat/completions");
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await Promise.all([statusOf(), statusOf(), statusOf()]), [200, 200, 200]);
  assertEquals(await statusOf(), 200);
  assertEquals(world.cloud.tokenRequests, 1);
  assertEquals(world.cloud.requests[0]?.headers.get("authorization"), "Bearer token-1");
});

Deno.test("a wrong secret rests with its reason, shows it nowhere, and the next route answers", async () => {
  const wrong = "wrong~Secret.Value";
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => [wrong],
    hasSecondRoute: true,
  });
  const response = await world.ask(chat, "/v1/chat/completions");
  assertEquals(response.status, 200);
  await response.body?.cancel();
  assertEquals(world.cloud.requests, []);
  assertEquals(world.credentials(), {
    count: 1,
    resting: 1,
    reasons: ["token_refused: invalid_client"],
  });
  assert(!world.log().includes(wrong));
});

Deno.test("without another route, the client learns nothing of the refused secret", async () => {
  const wrong = "wrong~Secret.Value";
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => [wrong],
  });
  const response = await world.ask(chat, "/v1/chat/completions");
  const text = await response.text();
  assertEquals(response.status, 502);
  assert(!/wrong|client|127\.0\.0\.1/.test(text), text);
});

Deno.test("with a second credential, a refused one costs the client nothing", async () => {
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => ["wrong~Secret.Value", entraSecret],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  // The first turn decides which of the keys is asked first.
  for (let turn = 0; turn < 16; turn++) {
    const messages = [{ role: "user", content: `turn ${turn}` }];
    const response = await world.ask({ ...chat, messages }, "/v1/chat/completions");
    assertEquals(response.status, 200);
    await response.body?.cancel();
  }
  assertEquals(world.credentials().resting, 1);
});

Deno.test("a revoked token is replaced and the call sent once more", async () => {
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => [entraSecret],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  await (await world.ask(chat, "/v1/chat/completions")).body?.cancel();
  world.cloud.tokens.clear();
  const response = await world.ask(chat, "/v1/chat/completions");
  assertEquals(response.status, 200);
  await response.body?.cancel();
  assertEquals(world.cloud.tokenRequests, 2);
  assertEquals(world.credentials().resting, 0);
});

Deno.test("a token that expires during a stream does not end the stream", async () => {
  await using world = await openCloudWorld({
    provider: (cloud) => ({ auth: entra(cloud.origin), cloud: deployments }),
    route,
    secrets: () => [entraSecret],
  });
  const { cloud } = world;
  cloud.lifeSeconds = 1;
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  cloud.answer = () => {
    const { readable, writable } = new TransformStream<string, string>();
    const writer = writable.getWriter();
    void (async () => {
      await writer.write(chunk({ role: "assistant", content: "before " }));
      cloud.tokens.clear();
      await writer.write(chunk({ content: "after" }));
      await writer.write(chunk({}, "stop"));
      await writer.write("data: [DONE]\n\n");
      await writer.close();
    })();
    return new Response(readable.pipeThrough(new TextEncoderStream()), {
      headers: { "content-type": "text/event-stream" },
    });
  };
  const response = await world.ask({ ...chat, stream: true }, "/v1/chat/completions");
  const text = await response.text();
  assert(text.includes("before") && text.includes("after") && text.includes("[DONE]"), text);
  assertEquals(cloud.tokenRequests, 1);
});

Deno.test("an unknown deployment and a busy one lead to the next route, without rest of the key", async () => {
  for (
    const [status, code, resting] of [[404, "DeploymentNotFound", 0], [429, "429", 1]] as const
  ) {
    await using world = await openCloudWorld({
      provider: () => ({ auth: "api-key", cloud: deployments }),
      route,
      secrets: () => ["azure-key"],
      hasSecondRoute: true,
    });
    world.cloud.answer = () =>
      Response.json({
        error: { code, message: "The API deployment for this resource does not exist." },
      }, { status });
    const response = await world.ask(chat, "/v1/chat/completions");
    assertEquals(response.status, 200);
    await response.body?.cancel();
    assertEquals(world.credentials().resting, resting, code);
  }
});
