/** AWS Bedrock by Converse: requests as the vendor takes them, frames, exceptions, counts, moves to the next route. */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  converseFrame,
  exceptionFrame,
  streamOfFrames,
} from "../../../support/servers/converse_cloud.ts";
import { awsKey } from "../../../support/servers/fake_cloud.ts";
import {
  type CloudWorld,
  type CloudWorldOptions,
  heldStream,
  openCloudWorld,
  textOfEvents,
  turns,
} from "./cloud_world.ts";

const model = "meta.llama4-maverick-17b-instruct-v1:0";

function openBedrock(changes: Partial<CloudWorldOptions> = {}): Promise<CloudWorld> {
  return openCloudWorld({
    provider: () => ({ auth: { kind: "aws", region: "us-east-1" }, cloud: { name: "bedrock" } }),
    route: { model, style: "converse", countTokens: true },
    secrets: () => [`${awsKey.accessKeyId}:${awsKey.secretAccessKey}`],
    ...changes,
  });
}

const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };

const answer = {
  output: { message: { role: "assistant", content: [{ text: "Chào bạn" }] } },
  stopReason: "end_turn",
  usage,
  metrics: { latencyMs: 4 },
};

const frames = [
  converseFrame("messageStart", { role: "assistant", p: "ab" }),
  converseFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "Chào " }, p: "a" }),
  converseFrame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "bạn" }, p: "abc" }),
  converseFrame("contentBlockStop", { contentBlockIndex: 0 }),
  converseFrame("messageStop", { stopReason: "end_turn" }),
  converseFrame("metadata", { usage, metrics: { latencyMs: 4 } }),
];

Deno.test("a whole answer comes by converse, signed, without model and stream in the body", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () => Response.json(answer);
  const response = await world.ask({ messages: turns, stream: false, top_k: 3 });
  const body = await response.json();
  assertEquals(body.content, [{ type: "text", text: "Chào bạn" }]);
  assertEquals([body.usage.input_tokens, body.usage.output_tokens], [3, 2]);
  assertEquals(response.headers.get("x-gateway-conversion"), "dropped=top_k");
  const [request] = world.cloud.requests;
  assertEquals(request?.url.pathname, `/model/${encodeURIComponent(model)}/converse`);
  assertEquals(JSON.parse(request?.text ?? ""), {
    messages: [{ role: "user", content: [{ text: "Hi" }] }],
    inferenceConfig: { maxTokens: 100 },
  });
});

Deno.test("frames reach clients of each style", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () => streamOfFrames(frames);
  const messages = await (await world.ask({ messages: turns, stream: true })).text();
  assertEquals(textOfEvents(messages), "Chào bạn");
  assert(messages.includes("event: message_stop"), messages);
  const chat = await world.ask({ messages: turns, stream: true }, "/v1/chat/completions");
  assert((await chat.text()).includes("[DONE]"));
  const responses = await world.ask({ input: "Hi", stream: true }, "/v1/responses");
  assert((await responses.text()).includes("response.completed"));
  for (const { url, text } of world.cloud.requests) {
    assert(url.pathname.endsWith("/converse-stream"));
    assertEquals(JSON.parse(text).stream, undefined);
  }
});

Deno.test("an API key is sent as a bearer", async () => {
  await using world = await openBedrock({
    provider: () => ({ cloud: { name: "bedrock" } }),
    secrets: () => ["bedrock-api-key"],
  });
  world.cloud.answer = () => Response.json(answer);
  await (await world.ask({ messages: turns })).body?.cancel();
  assertEquals(
    world.cloud.requests[0]?.headers.get("authorization"),
    "Bearer bedrock-api-key",
  );
});

const exceptions = [
  ["throttlingException", "rate_limit_error"],
  ["serviceUnavailableException", "service_unavailable"],
  ["internalServerException", "api_error"],
  ["modelStreamErrorException", "api_error"],
  ["validationException", "invalid_request_error"],
] as const;

for (const [name, type] of exceptions) {
  Deno.test(`${name} within a stream ends it, or leads to the next route before output`, async () => {
    await using world = await openBedrock({ hasSecondRoute: true });
    world.cloud.answer = () => streamOfFrames([exceptionFrame(name, "Sorry")]);
    const early = await (await world.ask({ messages: turns, stream: true })).text();
    // A request that is wrong is wrong on every route.
    const moved = early.includes("event: message_stop") && !early.includes("event: error");
    assert(moved || name === "validationException", early);
    const text = await heldStream(world, frames.slice(0, 3), [exceptionFrame(name, "Sorry")]);
    assert(text.includes("Chào") && text.includes("event: error"), text);
    assert(text.includes(type) && !text.includes("message_stop"), text);
  });
}

Deno.test("a damaged and a cut stream are no clean ends", async () => {
  const damaged = frames.map((bytes, i) => {
    if (i !== 3) return bytes;
    const copy = bytes.slice();
    copy[copy.length - 6] = (copy[copy.length - 6] ?? 0) ^ 1;
    return copy;
  });
  const stop = frames[4] ?? new Uint8Array();
  for (const broken of [damaged, [...frames.slice(0, 4), stop.slice(0, -3)], frames.slice(0, 4)]) {
    await using world = await openBedrock();
    const text = await heldStream(world, broken.slice(0, 3), broken.slice(3));
    assert(text.includes("event: error") && !text.includes("message_stop"), text);
  }
});

Deno.test("tokens are counted by the vendor in the form of a Converse request", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () => Response.json({ inputTokens: 42 });
  const response = await world.ask({
    messages: turns,
    system: "Be short.",
    tools: [{ name: "f", input_schema: { type: "object", properties: {} } }],
  }, "/v1/messages/count_tokens");
  assertEquals(await response.json(), { input_tokens: 42 });
  assertEquals(response.headers.get("x-gateway-estimate"), null);
  const [request] = world.cloud.requests;
  assertEquals(request?.url.pathname, `/model/${encodeURIComponent(model)}/count-tokens`);
  assertEquals(JSON.parse(request?.text ?? ""), {
    input: {
      converse: {
        system: [{ text: "Be short." }],
        messages: [{ role: "user", content: [{ text: "Hi" }] }],
        toolConfig: {
          tools: [{
            toolSpec: { name: "f", inputSchema: { json: { type: "object", properties: {} } } },
          }],
        },
      },
    },
  });
});

Deno.test("a model that the vendor cannot count is estimated", async () => {
  await using world = await openBedrock();
  const message = "The provided model doesn't support counting tokens.";
  world.cloud.answer = () =>
    Response.json({ message }, {
      status: 400,
      headers: { "x-amzn-errortype": "ValidationException" },
    });
  const response = await world.ask({ messages: turns }, "/v1/messages/count_tokens");
  assertEquals(response.status, 200);
  assertEquals(response.headers.get("x-gateway-estimate"), "true");
  assert((await response.json()).input_tokens > 0);
});

const noAccess = "You don't have access to the model with the specified model ID.";
const refusals: readonly [string, number, string, number, number][] = [
  ["ThrottlingException", 429, "Too many tokens, please wait", 429, 1],
  ["ModelNotReadyException", 429, "not ready", 503, 0],
  ["ServiceUnavailableException", 503, "Try again", 503, 0],
  ["AccessDeniedException", 403, noAccess, 502, 0],
  ["AccessDeniedException", 403, "Please make sure your API Key is valid.", 502, 1],
  ["ValidationException", 400, "This model doesn't support tool use.", 400, 0],
  // Of the account, of the operation, of the model: nothing that a caller can change.
  ["ValidationException", 400, "Operation not allowed", 502, 0],
  ["ValidationException", 400, "This action doesn't support the model that you provided.", 502, 0],
  ["ValidationException", 400, "The model is unsupported for streaming.", 502, 0],
  ["ResourceNotFoundException", 404, "Could not resolve the foundation model", 502, 0],
];

Deno.test("a prompt that is too long is told in the words that agents know", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () =>
    Response.json({
      message:
        "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
    }, { status: 400, headers: { "x-amzn-errortype": "ValidationException" } });
  const { error } = await (await world.ask({ messages: turns })).json();
  assertEquals(error.message, "prompt is too long: 200049 tokens > 200000 maximum");
});

for (const [name, status, message, wanted, resting] of refusals) {
  Deno.test(`exceptions of Converse: ${name}, ${message}`, async () => {
    await using world = await openBedrock();
    world.cloud.answer = () =>
      Response.json({ message }, { status, headers: { "x-amzn-errortype": name } });
    const response = await world.ask({ messages: turns });
    await response.body?.cancel();
    assertEquals([response.status, world.credentials().resting], [wanted, resting]);
    if (wanted === 400) return;
    await using second = await openBedrock({ hasSecondRoute: true });
    second.cloud.answer = world.cloud.answer;
    const moved = await second.ask({ messages: turns });
    assertEquals(moved.status, 200, await moved.text());
  });
}
