import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { errorOf, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

const perToken = { unit: "token", vndPerMtok: 1_000_000 };

function models(kind: "chat" | "completion", ...providers: string[]) {
  return [{
    id: "write-t",
    kind,
    family: "test",
    price: perToken,
    contextWindow: 8_000,
    maxOutputTokens: 500,
    routes: providers.map((provider, priority) => ({ provider, priority, model: "write-up" })),
  }];
}

const usage = '{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}';
const whole =
  '{"id":"cmpl-1", "object":"text_completion","created":7,"model":"write-up","choices":' +
  `[ {"text":"b = 2","index":0,"logprobs":null,"finish_reason":"stop"} ],"usage":${usage}}`;

const json = (text: string) =>
  new Response(text, { headers: { "content-type": "application/json" } });

function sse(...events: readonly string[]): Response {
  return new Response(events.map((data) => `data: ${data}\n\n`).join(""), {
    headers: { "content-type": "text/event-stream" },
  });
}

const chunk = (text: string, finish: string | null = null) =>
  JSON.stringify({
    id: "cmpl-1",
    object: "text_completion",
    model: "write-t",
    choices: [{ text, index: 0, logprobs: null, finish_reason: finish }],
  });

Deno.test("a model that completes texts gets the body unchanged but for its name, suffix and all", async () => {
  await using provider = mockProvider(() => json(whole));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("completion", "p1"),
  });
  const sent =
    '{ "model":"write-t","prompt":"a = 1\\n","suffix":"\\nc = 3", "max_tokens":20,"logprobs":2}';
  const response = await world.send("/v1/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: sent,
  });
  assertEquals(await response.text(), whole.replace("write-up", "write-t"));
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "8");
  assertEquals(provider.seen[0]!.path, "/v1/completions");
  assertEquals(
    new TextDecoder().decode(provider.seen[0]!.body),
    sent.replace("write-t", "write-up"),
  );
  const receipt = await world.receiptOf(response);
  assertEquals(
    [receipt?.kind, receipt?.style, receipt?.usage?.input, receipt?.usage?.output],
    ["completion", "completions", 5, 3],
  );
  assertEquals(await world.balanceVnd(), 1_000_000 - 8);
});

Deno.test("a stream passes unchanged; its usage is asked for and hidden; half of one is counted", async () => {
  let answer: () => Response = () => sse();
  await using provider = mockProvider(() => answer());
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("completion", "p1"),
  });
  const request = { model: "write-t", prompt: "a = 1", stream: true, max_tokens: 20 };
  const events = [chunk("b "), chunk("= 2", "stop")];
  answer = () => sse(...events, `{"choices":[],"usage":${usage}}`, "[DONE]");
  const response = await world.post("/v1/completions", request);
  assertEquals(
    await response.text(),
    [...events, "[DONE]"].map((data) => `data: ${data}\n\n`).join(""),
  );
  assertEquals(provider.seen[0]!.json()["stream_options"], { include_usage: true });
  const receipt = await world.receiptOf(response);
  assertEquals([receipt?.costMicroVnd, receipt?.stream], [8_000_000n, true]);
  answer = () => sse(events[0]!);
  const cut = await world.post("/v1/completions", request);
  assertStringIncludes(await cut.text(), '"error"');
  const broken = await world.receiptOf(cut);
  assertEquals([broken?.outcome, broken?.estimated], ["broken", true]);
  assertEquals(broken?.usage?.output, 1);
});

Deno.test("a chat model gets the prompt as a message, and answers in the older form", async () => {
  const chat = (message: Record<string, unknown>) =>
    json(JSON.stringify({
      id: "chatcmpl-7",
      object: "chat.completion",
      created: 7,
      model: "write-up",
      choices: [{ index: 0, message, finish_reason: "length" }],
      usage: JSON.parse(usage),
    }));
  await using provider = mockProvider(() => chat({ role: "assistant", content: "b = 2" }));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("chat", "p1"),
  });
  const response = await world.post("/v1/completions", {
    model: "write-t",
    prompt: ["a = 1"],
    suffix: "",
    echo: false,
    best_of: 1,
    temperature: 0.5,
    stop: ["\n"],
  });
  assertEquals(await response.json(), {
    id: "cmpl-7",
    object: "text_completion",
    created: 7,
    model: "write-t",
    choices: [{ text: "b = 2", index: 0, logprobs: null, finish_reason: "length" }],
    usage: JSON.parse(usage),
  });
  assertEquals(provider.seen[0]!.path, "/v1/chat/completions");
  assertEquals(provider.seen[0]!.json(), {
    model: "write-up",
    messages: [{ role: "user", content: "a = 1" }],
    temperature: 0.5,
    stop: ["\n"],
    max_tokens: 16,
  });
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "8");
  assertEquals(await world.balanceVnd(), 1_000_000 - 8);
});

Deno.test("a chat stream becomes one of completions, wherever its bytes are split", async () => {
  await using world = await openMediaWorld();
  const request = { model: "premium-1", prompt: "Xin chào [[sandbox:split 3]]", max_tokens: 50 };
  const answer = await (await world.post("/v1/completions", request)).json();
  const response = await world.post("/v1/completions", {
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  });
  const events = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: "));
  assertEquals(events.pop(), "data: [DONE]");
  const chunks = events.map((line) => JSON.parse(line.slice(6)));
  for (const { object, id } of chunks) {
    assertEquals([object, id.startsWith("cmpl-")], ["text_completion", true]);
  }
  const text = chunks.flatMap(({ choices }) => choices.map((one: { text: string }) => one.text));
  assertEquals(text.join(""), answer.choices[0].text);
  assertEquals(chunks.at(-1).usage, answer.usage);
  const cut = await world.post("/v1/completions", {
    ...request,
    prompt: "Xin chào các bạn [[sandbox:cut-after 1]]",
    stream: true,
  });
  assertStringIncludes(await cut.text(), '"error"');
});

Deno.test("what a chat model cannot carry is named, at no cost", async () => {
  await using provider = mockProvider(() => json(whole));
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("chat", "p1"),
  });
  await using _ = world;
  const cases: [change: Record<string, unknown>, param: string][] = [
    [{ suffix: "x" }, "suffix"],
    [{ echo: true }, "echo"],
    [{ logprobs: 0 }, "logprobs"],
    [{ best_of: 2 }, "best_of"],
    [{ prompt: undefined }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: ["a", "b"] }, "prompt"],
    [{ prompt: [1, 2] }, "prompt"],
    [{ messages: [] }, "messages"],
    [{ n: 17 }, "n"],
    [{ max_tokens: 0 }, "max_tokens"],
  ];
  for (const [change, param] of cases) {
    const request = { model: "write-t", prompt: "x", ...change };
    const error = await errorOf(await world.post("/v1/completions", request));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(change));
  }
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 1_000_000]);
});

Deno.test("bad requests for a model that completes texts name their field, at no cost", async () => {
  await using provider = mockProvider(() => json(whole));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("completion", "p1"),
  });
  const cases: [change: Record<string, unknown>, param: string][] = [
    [{ prompt: undefined }, "prompt"],
    [{ prompt: { text: "x" } }, "prompt"],
    [{ prompt: ["x", 7] }, "prompt"],
    [{ prompt: Array(129).fill("x") }, "prompt"],
    [{ n: 17 }, "n"],
    [{ best_of: 0 }, "best_of"],
    [{ max_tokens: -1 }, "max_tokens"],
    [{ echo: true }, "echo"],
    [{ stream: "yes" }, "stream"],
  ];
  for (const [change, param] of cases) {
    const request = { model: "write-t", prompt: "x", ...change };
    const error = await errorOf(await world.post("/v1/completions", request));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(change));
  }
  const messages = [{ role: "user", content: "x" }];
  const chat = await world.post("/v1/chat/completions", { model: "write-t", messages });
  assertStringIncludes((await errorOf(chat)).message, "/v1/completions");
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 1_000_000]);
});

Deno.test("the next route is tried for what is no completion; a call that fails is free", async () => {
  const faults = [
    () => new Response("x", { status: 503 }),
    () => json('{"error":{"message":"broken"}}'),
    () => json('{"text":"b"}'),
    () => json("nothing"),
  ];
  let fault = faults[0]!;
  await using first = mockProvider(() => fault());
  await using second = mockProvider(() => json(whole));
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    models: models("completion", "p1", "p2"),
  });
  await using alone = await openMediaWorld({
    providers: { p1: first.port },
    models: models("completion", "p1"),
  });
  const request = { model: "write-t", prompt: "a = 1", max_tokens: 20 };
  for (const [index, one] of faults.entries()) {
    fault = one;
    const response = await world.post("/v1/completions", request);
    assertEquals(response.status, 200, `fault ${index}: ${await response.text()}`);
    const failed = await alone.post("/v1/completions", request);
    assert(failed.status >= 500, `fault ${index}: ${failed.status}`);
    await failed.body?.cancel();
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 8 * faults.length);
  assertEquals(await alone.balanceVnd(), 1_000_000);
});

Deno.test("a completion on a wallet below its worst case gets the limit that is paid for", async () => {
  await using provider = mockProvider(() => json(whole));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("completion", "p1"),
    vnd: 300,
  });
  const response = await world.post("/v1/completions", { model: "write-t", prompt: "a = 1" });
  const named = response.headers.get("x-gateway-output-limit") ?? "";
  assertEquals([response.status, await response.text()], [
    200,
    whole.replace("write-up", "write-t"),
  ]);
  const tokens = Number(/^tokens=(\d+); reason=balance$/.exec(named)?.[1]);
  assert(tokens > 100 && tokens < 300, named);
  assertEquals(provider.seen[0]!.json()["max_tokens"], tokens);
});

Deno.test("a stream of nothing is no completion, unless its few tokens are those of an end", async () => {
  let events: readonly string[] = [];
  await using first = mockProvider(() => sse(...events));
  await using second = mockProvider(() => sse(chunk("b = 2", "stop"), "[DONE]"));
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    models: models("completion", "p1", "p2"),
  });
  const usageOf = (completion_tokens: number) =>
    JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens } });
  const streams: readonly (readonly [events: readonly string[], seconds: number])[] = [
    [["[DONE]"], 1],
    [[chunk("", "stop"), "[DONE]"], 1],
    [[chunk("", "stop"), usageOf(9), "[DONE]"], 1],
    [[chunk("", "stop"), usageOf(1), "[DONE]"], 0],
  ];
  for (const [given, seconds] of streams) {
    events = given;
    second.seen.length = 0;
    const request = { model: "write-t", prompt: "a = 1", stream: true, max_tokens: 20 };
    const text = await (await world.post("/v1/completions", request)).text();
    assertEquals([second.seen.length, text.includes("b = 2")], [seconds, seconds === 1], text);
  }
});
