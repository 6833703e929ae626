/** Claude Code's billing line at routes of its own style, and tool loops whose first lines change with every request. */
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const line = "x-anthropic-billing-header: cc_version=2.1.117.48f; cc_entrypoint=cli; cch=71fea;";

const answer: JsonObject = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "up",
  content: [{ type: "text", text: "ok" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 20, output_tokens: 5 },
};

async function openWorld() {
  let failures = 0;
  const first = mockProvider(() =>
    failures-- > 0 ? Response.json({}, { status: 500 }) : Response.json(answer)
  );
  const second = mockProvider(() => Response.json(answer));
  const http = ({ port }: { readonly port: number }) => ({
    kind: "http",
    baseUrl: `http://127.0.0.1:${port}`,
    apiKeyEnv: "PROVIDER_KEY",
  });
  const route = (provider: string, capabilities: JsonObject = {}) => ({
    provider,
    style: "messages",
    model: "up",
    capabilities,
  });
  const model = (id: string, routes: readonly JsonObject[]) => ({
    id,
    kind: "chat",
    family: "test",
    price: { unit: "token", vndPerMtok: 1_000, cacheReadVndPerMtok: 100 },
    contextWindow: 100_000,
    maxOutputTokens: 1_000,
    routes,
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "reads",
      providers: { a: http(first), b: http(second) },
      models: [
        model("reads", [route("a")]),
        model("reads-not", [route("a", { billing_line: false })]),
        model("two", [{ ...route("a"), priority: 0 }, { ...route("b"), priority: 1 }]),
      ],
    }),
  });
  const { key } = await gateway.customer(10_000);
  return {
    first,
    second,
    failNext: () => void (failures = 1),
    async send(body: JsonObject): Promise<void> {
      const response = await gateway.fetch(
        apiPost("http://gateway.example/v1/messages", key, { max_tokens: 90, ...body }),
      );
      assertEquals(response.status, 200, await response.text());
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

const text = (text: string): JsonObject => ({ type: "text", text });
const hello: JsonObject[] = [{ role: "user", content: "Hello" }];

Deno.test("the billing line reaches the vendor that reads it as it was sent, and no other", async () => {
  await using world = await openWorld();
  const forms: readonly (readonly [sent: JsonObject["system"], without: JsonObject["system"]])[] = [
    [[text(line), text("Be brief.")], [text("Be brief.")]],
    [`${line}\nBe brief.`, "Be brief."],
    [[text(`${line}\nBe brief.`)], [text("Be brief.")]],
    [[text("Be brief.")], [text("Be brief.")]],
  ];
  for (const [sent, without] of forms) {
    if (sent === undefined || without === undefined) continue;
    for (const [model, expected] of [["reads", sent], ["reads-not", without]] as const) {
      world.first.seen.length = 0;
      await world.send({ model, system: sent, messages: hello });
      const body = world.first.seen[0]?.json();
      assert(isJsonObject(body));
      assertEquals([body["system"], body["messages"]], [expected, hello], model);
    }
  }
});

Deno.test("a tool loop stays with its provider while the first lines of its prompt change", async () => {
  await using world = await openWorld();
  // The preferred provider fails once, so that the loop begins at the other one.
  world.failNext();
  const messages: JsonObject[] = [...hello];
  for (let step = 0; step < 5; step++) {
    await world.send({
      model: "two",
      system: [text(`${line.slice(0, -6)}${step}1fea;`), text(`It is 10:${10 + step}.`)],
      messages,
      tools: [{ name: "read", input_schema: { type: "object" } }],
    });
    messages.push(
      {
        role: "assistant",
        content: [{ type: "tool_use", id: `toolu_${step}`, name: "read", input: {} }],
      },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: `toolu_${step}`, content: "alpha" }],
      },
    );
  }
  assertEquals([world.first.seen.length, world.second.seen.length], [1, 5]);
  // Another conversation begins at the preferred one again.
  await world.send({
    model: "two",
    system: "Be brief.",
    messages: [{ role: "user", content: "Other" }],
  });
  assertEquals([world.first.seen.length, world.second.seen.length], [2, 5]);
});
