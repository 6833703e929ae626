import { assertEquals } from "../../../support/assert.ts";
import { chatAnswer, openCloudWorld, turns } from "./cloud_world.ts";

Deno.test("a server that is called without a key gets none, and is not taken for one whose keys rest", async () => {
  await using world = await openCloudWorld({
    provider: () => ({ preset: "vllm", apiKeyEnv: undefined }),
    route: { style: "chat" },
    secrets: () => [],
  });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  const response = await world.ask({ messages: turns }, "/v1/chat/completions");
  assertEquals((await response.json()).choices[0].message.content, "Chào");
  assertEquals(world.cloud.requests[0]?.headers.get("authorization"), null);
  assertEquals(world.credentials(), { count: 0, resting: 0, reasons: [] });
});
