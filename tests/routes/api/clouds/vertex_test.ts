/** Google Vertex AI: service accounts, Messages-style models by rawPredict. */
import { exportPKCS8, generateKeyPair } from "jose";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  chatAnswer,
  type CloudWorld,
  type CloudWorldOptions,
  messagesAnswer,
  messagesEvents,
  openCloudWorld,
  textOfEvents,
  turns,
} from "./cloud_world.ts";

const base = "/v1/projects/project-1/locations/us-east5";

function openVertex(changes: Partial<CloudWorldOptions> = {}): Promise<CloudWorld> {
  return openCloudWorld({
    provider: () => ({
      auth: { kind: "google" },
      cloud: { name: "vertex", project: "project-1", location: "us-east5" },
    }),
    route: { model: "claude-sonnet-4-5@20250929", style: "messages", countTokens: true },
    secrets: (cloud) => [cloud.serviceAccount()],
    ...changes,
  });
}

Deno.test("a whole answer comes by rawPredict, with the version in the body and no model", async () => {
  await using world = await openVertex();
  world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
  const response = await world.ask({ messages: turns });
  const answer = await response.json();
  assertEquals([answer.content[0].text, answer.model], ["Chào", "m"]);
  const [request] = world.cloud.requests;
  assertEquals(
    decodeURIComponent(request?.url.pathname ?? ""),
    `${base}/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`,
  );
  assertEquals(JSON.parse(request?.text ?? ""), {
    max_tokens: 100,
    messages: turns,
    anthropic_version: "vertex-2023-10-16",
  });
  assertEquals(request?.headers.get("authorization"), "Bearer token-1");
});

Deno.test("a stream comes by streamRawPredict, for clients of the style and of another", async () => {
  await using world = await openVertex();
  const sse = messagesEvents.map((event) =>
    `event: ${Reflect.get(event, "type")}\ndata: ${JSON.stringify(event)}\n\n`
  ).join("");
  world.cloud.answer = () =>
    new Response(sse, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  const native = await world.ask({ messages: turns, stream: true });
  assertEquals(textOfEvents(await native.text()), "Chào bạn");
  const converted = await world.ask({ messages: turns, stream: true }, "/v1/chat/completions");
  assert((await converted.text()).includes("[DONE]"));
  for (const { url, text } of world.cloud.requests) {
    assert(url.pathname.endsWith(":streamRawPredict"), url.pathname);
    const body = JSON.parse(text);
    assertEquals([body.stream, body.model], [true, undefined]);
  }
});

Deno.test("tokens are counted by the model that counts for all", async () => {
  await using world = await openVertex();
  world.cloud.answer = () => Response.json({ input_tokens: 42 });
  const response = await world.ask({ messages: turns }, "/v1/messages/count_tokens");
  assertEquals(await response.json(), { input_tokens: 42 });
  const [request] = world.cloud.requests;
  assertEquals(
    request?.url.pathname,
    `${base}/publishers/anthropic/models/count-tokens:rawPredict`,
  );
  assertEquals(JSON.parse(request?.text ?? "").model, "claude-sonnet-4-5@20250929");
});

Deno.test("tokens of the Gemini style are counted by the model itself, without a wrapper", async () => {
  await using world = await openVertex({
    route: { model: "gemini-x", style: "gemini", countTokens: true },
  });
  world.cloud.answer = () => Response.json({ totalTokens: 42 });
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const response = await world.gateway.fetch(
    new Request("http://gateway/v1beta/models/m:countTokens", {
      method: "POST",
      headers: { "content-type": "application/json", "x-goog-api-key": world.key },
      body: JSON.stringify({ contents }),
    }),
  );
  assertEquals(await response.json(), { totalTokens: 42 });
  const [request] = world.cloud.requests;
  assertEquals(
    request?.url.pathname,
    `${base}/publishers/google/models/gemini-x:countTokens`,
  );
  assertEquals(JSON.parse(request?.text ?? ""), { contents });
});

Deno.test("models of the Chat style are called at the endpoint for all of them", async () => {
  await using world = await openVertex({ route: { model: "google/gemini-x", style: "chat" } });
  world.cloud.answer = () => Response.json(chatAnswer("Chào"));
  await (await world.ask({ messages: turns }, "/v1/chat/completions")).body?.cancel();
  const [request] = world.cloud.requests;
  assertEquals(request?.url.pathname, `${base}/endpoints/openapi/chat/completions`);
  assertEquals(JSON.parse(request?.text ?? "").model, "google/gemini-x");
});

Deno.test("a clock that is wrong by hours is corrected by the issuer's date", async () => {
  for (const aheadSeconds of [7200, -7200]) {
    await using world = await openVertex();
    world.cloud.aheadSeconds = aheadSeconds;
    world.cloud.answer = () => Response.json(messagesAnswer("Chào"));
    const response = await world.ask({ messages: turns });
    await response.body?.cancel();
    assertEquals([response.status, world.cloud.tokenRequests], [200, 2], String(aheadSeconds));
  }
});

Deno.test("a revoked account key and a text that is none rest with their reasons", async () => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const revoked = await exportPKCS8(privateKey);
  const cases: [(own: string) => string, string][] = [
    [
      (own) => JSON.stringify({ ...JSON.parse(own), private_key: revoked }),
      "token_refused: invalid_grant",
    ],
    [
      (own) => own.replace("BEGIN PRIVATE KEY", "BEGIN RSA PRIVATE KEY"),
      "private_key_not_readable",
    ],
    [() => '{"type":"service_account"}', "not_a_service_account_key"],
  ];
  for (const [change, reason] of cases) {
    await using world = await openVertex({
      secrets: (cloud) => [change(cloud.serviceAccount())],
    });
    const response = await world.ask({ messages: turns });
    const text = await response.text();
    assertEquals([response.status, world.credentials().reasons], [502, [reason]]);
    assert(!/PRIVATE|project-1|grant/.test(text + world.log()), text);
  }
});

Deno.test("an issuer out of order lets the key rest for a short time only", async () => {
  await using world = await openVertex();
  world.cloud.tokenAnswer = () => new Response("no", { status: 503 });
  const response = await world.ask({ messages: turns });
  await response.body?.cancel();
  assertEquals(response.status, 502);
  assertEquals(world.credentials().reasons, ["token_refused: status 503"]);
});

const quota =
  "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model";
const refusals = [
  {
    name: "quota",
    status: 429,
    body: [{ error: { code: 429, message: quota, status: "RESOURCE_EXHAUSTED" } }],
    wanted: [429, "rate_limit_error"],
  },
  {
    name: "a model of another region",
    status: 404,
    body: {
      error: {
        code: 404,
        message: "Publisher Model `projects/project-1/locations/x` was not found",
        status: "NOT_FOUND",
      },
    },
    wanted: [502, "api_error"],
  },
  {
    name: "a model that the project may not use",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "Project `project-1` is not allowed to use Publisher Model `x`",
        status: "FAILED_PRECONDITION",
      },
    },
    wanted: [502, "api_error"],
  },
  {
    name: "the caller's mistake",
    status: 400,
    body: { type: "error", error: { type: "invalid_request_error", message: "messages: empty" } },
    wanted: [400, "invalid_request_error"],
  },
] as const;

for (const { name, status, body, wanted } of refusals) {
  Deno.test(`refusals of Vertex: ${name}`, async () => {
    await using world = await openVertex();
    world.cloud.answer = () => Response.json(body, { status });
    const response = await world.ask({ messages: turns });
    const text = await response.text();
    assertEquals([response.status, JSON.parse(text).error.type], [...wanted]);
    assert(!/project-1|googleapis/.test(text), text);
  });
}
