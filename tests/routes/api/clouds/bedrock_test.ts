/** AWS Bedrock: signatures and keys, invoke and its stream, counts, exceptions. */
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { assert, assertEquals } from "../../../support/assert.ts";
import { awsKey } from "../../../support/servers/fake_cloud.ts";
import {
  type CloudWorld,
  type CloudWorldOptions,
  heldStream,
  messagesAnswer,
  messagesEvents,
  openCloudWorld,
  textOfEvents,
  turns,
} from "./cloud_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const secret = `${awsKey.accessKeyId}:${awsKey.secretAccessKey}`;

function openBedrock(changes: Partial<CloudWorldOptions> = {}): Promise<CloudWorld> {
  return openCloudWorld({
    provider: () => ({ auth: { kind: "aws", region: "us-east-1" }, cloud: { name: "bedrock" } }),
    route: { model, style: "messages", countTokens: true },
    secrets: () => [secret],
    ...changes,
  });
}

const codec = new EventStreamCodec(
  (bytes) => typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes),
  (text) => new TextEncoder().encode(text),
);

function frame(headers: Record<string, string>, body: object): Uint8Array<ArrayBuffer> {
  return new Uint8Array(codec.encode({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, { type: "string", value }]),
    ),
    body: new TextEncoder().encode(JSON.stringify(body)),
  }));
}

function chunk(event: object): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(JSON.stringify(event)).toBase64();
  return frame({
    ":event-type": "chunk",
    ":content-type": "application/json",
    ":message-type": "event",
  }, { bytes, p: "abcdef" });
}

const exception = (name: string, message: string) =>
  frame({ ":exception-type": name, ":message-type": "exception" }, { message });

function streamOf(frames: readonly Uint8Array<ArrayBuffer>[]): Response {
  return new Response(new Blob([...frames]), {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
  });
}

Deno.test("a whole answer comes by invoke, signed, without model and stream in the body", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
  const response = await world.ask({ messages: turns, stream: false });
  assertEquals((await response.json()).content[0].text, "Chào");
  const [request] = world.cloud.requests;
  assertEquals(request?.url.pathname, `/model/${encodeURIComponent(model)}/invoke`);
  assertEquals(JSON.parse(request?.text ?? ""), {
    max_tokens: 100,
    messages: turns,
    anthropic_version: "bedrock-2023-05-31",
  });
});

Deno.test("the ARN of an inference profile and a session token are signed as AWS does", async () => {
  const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2";
  await using world = await openBedrock({
    route: { model: arn, style: "messages" },
    secrets: () => [`${secret}:session/Token+1=`],
  });
  world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
  const response = await world.ask({ messages: turns });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  assertEquals(world.cloud.requests[0]?.headers.get("x-amz-security-token"), "session/Token+1=");
});

Deno.test("an API key is sent as a bearer, and betas go into the body", async () => {
  await using world = await openBedrock({
    provider: () => ({ cloud: { name: "bedrock" } }),
    secrets: () => ["bedrock-api-key"],
  });
  world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
  const response = await world.gateway.fetch(apiPost("http://gateway.test/v1/messages", world.key, {
    model: "m",
    max_tokens: 5,
    messages: turns,
  }, { "anthropic-version": "2023-06-01", "anthropic-beta": "interleaved-thinking-2025-05-14" }));
  await response.body?.cancel();
  const [request] = world.cloud.requests;
  assertEquals(request?.headers.get("authorization"), "Bearer bedrock-api-key");
  assertEquals(request?.headers.get("anthropic-beta"), null);
  assertEquals(JSON.parse(request?.text ?? "").anthropic_beta, ["interleaved-thinking-2025-05-14"]);
});

Deno.test("frames become events of the Messages style, without the operator's metrics", async () => {
  await using world = await openBedrock();
  const metrics = { "amazon-bedrock-invocationMetrics": { inputTokenCount: 3 } };
  world.cloud.answer = () =>
    streamOf(
      messagesEvents.map((event, i) =>
        chunk(i === messagesEvents.length - 1 ? { ...event, ...metrics } : event)
      ),
    );
  const native = await world.ask({ messages: turns, stream: true });
  assertEquals(native.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const text = await native.text();
  assertEquals(textOfEvents(text), "Chào bạn");
  assert(text.includes("event: message_stop") && !text.includes("amazon"), text);
  const converted = await world.ask({ messages: turns, stream: true }, "/v1/chat/completions");
  assert((await converted.text()).includes("[DONE]"));
  for (const { url, text } of world.cloud.requests) {
    assert(url.pathname.endsWith("/invoke-with-response-stream"));
    assertEquals(JSON.parse(text).stream, undefined);
  }
});

Deno.test("an exception before the output leads to the next route", async () => {
  await using world = await openBedrock({ hasSecondRoute: true });
  world.cloud.answer = () => streamOf([exception("throttlingException", "Too many")]);
  const early = await (await world.ask({ messages: turns, stream: true })).text();
  assert(early.includes("event: message_stop") && !early.includes("event: error"), early);
});

Deno.test("an exception after the output ends the stream with an error of the style", async () => {
  await using world = await openBedrock({ hasSecondRoute: true });
  const begun = messagesEvents.slice(0, 4).map(chunk);
  const late = await heldStream(world, begun, [exception("throttlingException", "Too many")]);
  assert(late.includes("Chào") && late.includes("event: error"), late);
  assert(late.includes("rate_limit_error") && !late.includes("message_stop"), late);
});

Deno.test("a damaged and a cut stream are no clean ends", async () => {
  const whole = messagesEvents.map(chunk);
  const damaged = whole.map((bytes, i) => {
    if (i !== 4) return bytes;
    const copy = bytes.slice();
    copy[copy.length - 6] = (copy[copy.length - 6] ?? 0) ^ 1;
    return copy;
  });
  const last = whole.at(-1) ?? new Uint8Array();
  for (const frames of [damaged, [...whole.slice(0, -1), last.slice(0, -3)]]) {
    await using world = await openBedrock();
    const text = await heldStream(world, frames.slice(0, 3), frames.slice(3));
    assert(text.includes("event: error"), text);
    assert(!text.includes("message_stop"), text);
  }
});

Deno.test("tokens are counted with the body of a call in base64", async () => {
  await using world = await openBedrock();
  world.cloud.answer = () => Response.json({ inputTokens: 42 });
  const response = await world.ask({ messages: turns }, "/v1/messages/count_tokens");
  assertEquals(await response.json(), { input_tokens: 42 });
  const [request] = world.cloud.requests;
  assert(request?.url.pathname.endsWith("/count-tokens"));
  const inner = JSON.parse(request?.text ?? "").input.invokeModel.body;
  assertEquals(JSON.parse(atob(inner)), {
    max_tokens: 100,
    messages: turns,
    anthropic_version: "bedrock-2023-05-31",
  });
});

Deno.test("a clock that is wrong by an hour is corrected by the cloud's date, once", async () => {
  await using world = await openBedrock();
  world.cloud.aheadSeconds = 3600;
  world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
  for (let call = 0; call < 2; call++) {
    const response = await world.ask({ messages: turns });
    await response.body?.cancel();
    assertEquals(response.status, 200);
  }
  assertEquals(world.credentials().resting, 0);
});

Deno.test("a revoked key and a text that is none rest, and are shown nowhere", async () => {
  const cases = [
    ["AKIDREVOKED00000000:some/Secret", "status 403"],
    [`${awsKey.accessKeyId}:other/Secret`, "status 403"],
    ["no-key-at-all", "not_an_aws_key"],
  ] as const;
  for (const [wrong, reason] of cases) {
    await using world = await openBedrock({ secrets: () => [wrong] });
    const response = await world.ask({ messages: turns });
    const text = await response.text();
    assertEquals([response.status, world.credentials().reasons], [502, [reason]]);
    assert(!/AKID|Secret|no-key/.test(text + world.log()), text);
  }
});

const noAccess = "You don't have access to the model with the specified model ID.";
const refusals: readonly [
  name: string,
  status: number,
  message: string,
  wanted: number,
  resting: number,
][] = [
  ["ThrottlingException", 429, "Too many tokens, please wait", 429, 1],
  ["ServiceQuotaExceededException", 400, "Quota", 429, 1],
  ["ModelNotReadyException", 429, "not ready", 503, 0],
  ["ModelTimeoutException", 408, "timeout", 504, 0],
  ["ModelErrorException", 424, "failed", 502, 0],
  ["AccessDeniedException", 403, noAccess, 502, 0],
  ["AccessDeniedException", 403, "Please make sure your API Key is valid.", 502, 1],
  ["ExpiredTokenException", 403, "The security token included in the request is expired", 502, 1],
  ["ValidationException", 400, "The provided model identifier is invalid.", 502, 0],
  [
    "ValidationException",
    400,
    `Invocation of model ID x with on-demand throughput isn’t supported.`,
    502,
    0,
  ],
  ["ValidationException", 400, "messages: at least one message is required", 400, 0],
];

for (const [name, status, message, wanted, resting] of refusals) {
  Deno.test(`exceptions of Bedrock: ${name}, ${message}`, async () => {
    await using world = await openBedrock();
    world.cloud.answer = () =>
      Response.json({ message }, {
        status,
        headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` },
      });
    const response = await world.ask({ messages: turns });
    await response.body?.cancel();
    assertEquals([response.status, world.credentials().resting], [wanted, resting]);
  });
}
