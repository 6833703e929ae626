import { assert, assertEquals } from "../../../support/assert.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const options = { sanitizeOps: false, sanitizeResources: false };
const json = { headers: { "content-type": "application/json" } };

const thought = { type: "thinking", thinking: "Read it", signature: "EqQBCkgIAR" };

/** A model with a route of each style, Messages first. The vendors refuse what the real ones would. */
async function openWorld() {
  const asked: string[] = [];
  let messagesIsDown = false;
  let calls = 0;
  const provider = mockProvider((request) => {
    const style = request.path.endsWith("/messages") ? "messages" : "chat";
    asked.push(style);
    const body = request.json();
    const refusal = validateRequest(style, body as JsonObject);
    if (refusal !== undefined) {
      return Response.json({ error: { type: "invalid_request_error", message: refusal } }, {
        status: 400,
      });
    }
    if (style === "messages" && messagesIsDown) return new Response("{}", { ...json, status: 500 });
    calls++;
    return style === "messages"
      ? Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "up",
        content: [
          ...((body["thinking"] as JsonObject | undefined)?.["type"] === "enabled"
            ? [thought]
            : []),
          { type: "tool_use", id: `toolu_${calls}`, name: "read", input: {} },
        ],
        stop_reason: "tool_use",
        usage: { input_tokens: 3, output_tokens: 2 },
      })
      : Response.json({
        choices: [{
          index: 0,
          message: {
            role: "assistant",
            content: null,
            tool_calls: [{
              id: `call_${calls}`,
              type: "function",
              function: { name: "read", arguments: "{}" },
            }],
          },
          finish_reason: "tool_calls",
        }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      });
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "m",
      providers: {
        a: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${provider.port}`,
          apiKeyEnv: "PROVIDER_KEY",
        },
        b: {
          kind: "http",
          baseUrl: `http://127.0.0.1:${provider.port}`,
          apiKeyEnv: "PROVIDER_KEY",
        },
      },
      models: [{
        id: "m",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 8_300 },
        routes: [
          { provider: "a", model: "up", style: "messages", priority: 0 },
          { provider: "b", model: "up", style: "chat", priority: 1 },
        ],
      }],
    }),
  });
  let { key } = await gateway.customer(100_000);
  const history: JsonObject[] = [{ role: "user", content: "Read all files" }];
  return {
    asked,
    history,
    customer: (vnd: number) => gateway.customer(vnd),
    useKey: (other: string) => void (key = other),
    setDown: (down: boolean) => void (messagesIsDown = down),
    /** One round of the loop: a call, and the results of the tools that it asks for. */
    async round(): Promise<Response> {
      const response = await gateway.fetch(apiPost("http://gateway/v1/messages", key, {
        model: "m",
        max_tokens: 4096,
        thinking: { type: "enabled", budget_tokens: 2048 },
        tools: [{ name: "read", input_schema: { type: "object" } }],
        messages: history,
      }));
      const answer = await response.json();
      assertEquals(response.status, 200, JSON.stringify(answer));
      const results = answer.content.filter((block: JsonObject) => block["type"] === "tool_use")
        .map(({ id }: JsonObject) => ({ type: "tool_result", tool_use_id: id, content: "text" }));
      assert(results.length > 0);
      history.push({ role: "assistant", content: answer.content });
      history.push({ role: "user", content: results });
      return response;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test(
  "a tool loop that had to move stays on its new route, and the next question returns to the preferred one",
  options,
  async () => {
    await using world = await openWorld();
    await world.round();
    world.setDown(true);
    await world.round();
    world.setDown(false);
    await world.round();
    assertEquals(world.asked, ["messages", "messages", "chat", "chat"]);
    world.history.push({ role: "assistant", content: "Done" }, { role: "user", content: "More" });
    await world.round();
    assertEquals(world.asked.at(-1), "messages");
  },
);

Deno.test(
  "a tool loop that must return to the Messages route continues without thinking, which is named",
  options,
  async () => {
    await using world = await openWorld();
    await world.round();
    world.setDown(true);
    await world.round();
    world.setDown(false);
    // Routes are remembered by key, so that another key finds none, as another instance would.
    world.useKey((await world.customer(100_000)).key);
    const response = await world.round();
    assertEquals(world.asked.at(-1), "messages");
    assertEquals(response.headers.get("x-gateway-conversion"), "dropped=thinking");
    // The loop goes on like this, and thinks again with the next question.
    await world.round();
    world.history.push({ role: "assistant", content: "Done" }, { role: "user", content: "More" });
    const next = await world.round();
    assertEquals(next.headers.get("x-gateway-conversion"), null);
    const last = world.history.at(-2)?.["content"];
    assert(Array.isArray(last) && JSON.stringify(last[0]) === JSON.stringify(thought));
  },
);
