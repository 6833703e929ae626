import { assert, assertEquals, assertNotEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";
import {
  call,
  jsonOf,
  paths,
  readingOf,
  requestOf,
  styles,
  wholeReadingOf,
} from "../sandbox_calls.ts";

Deno.test("equal requests get equal answers; different ones get different ids", async () => {
  for (const style of styles) {
    for (const stream of [false, true]) {
      const body = requestOf(style, "Hello there", { stream });
      const first = await call(paths[style], body);
      assertEquals((await call(paths[style], body)).text, first.text);
      const other = await call(paths[style], requestOf(style, "Hello you", { stream }));
      const idOf = (text: string) => /"id":"([^"]+)"/.exec(text)?.[1];
      assertNotEquals(idOf(other.text), idOf(first.text));
    }
  }
});

Deno.test("a stream and a whole answer have the same content and usage", async () => {
  const thinking: Record<string, JsonObject> = {
    messages: { thinking: { type: "adaptive" } },
    chat: { reasoning_effort: "high" },
    responses: { reasoning: { effort: "high" } },
  };
  for (const style of styles) {
    for (
      const [text, rest] of [
        ["Hello there", {}],
        ["Xin chào các bạn 🙂", {}],
        ["[[sandbox:length 57]]", {}],
        ["[[sandbox:refusal]]", {}],
        ["Think about it", thinking[style] ?? {}],
      ] as const
    ) {
      const options = style === "chat" ? { stream_options: { include_usage: true } } : {};
      const body = requestOf(style, text, { ...rest, ...options });
      const streamed = await readingOf(style, body);
      const whole = await wholeReadingOf(style, body);
      assertEquals(streamed.state, "completed");
      assert(streamed.usage !== undefined, `${style} ${text}`);
      assertEquals(streamed.usage, whole.usage, `${style} ${text}`);
      assertEquals(streamed.outputBytes, whole.outputBytes, `${style} ${text}`);
      assertEquals(streamed.stopReason, whole.stopReason, `${style} ${text}`);
      assertEquals(streamed.sawOutput, !whole.empty, `${style} ${text}`);
      assertEquals(streamed.usage.reasoning > 0, text === "Think about it", `${style} ${text}`);
    }
  }
});

Deno.test("usage adds up by the rule of the documentation", async () => {
  // "Hello there" is 11 bytes: 3 tokens. The answer "You said: Hello there" is 21 bytes: 6 tokens.
  for (const style of styles) {
    const { usage } = await wholeReadingOf(style, requestOf(style, "Hello there"));
    assertEquals(usage, { input: 3, cacheRead: 0, cacheWrite: 0, output: 6, reasoning: 0 }, style);
    const { usage: long } = await wholeReadingOf(style, requestOf(style, "[[sandbox:length 57]]"));
    assertEquals(long?.output, 57, style);
  }
});

Deno.test("cache marks split the prompt into read, written and plain tokens", async () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const { usage } = await wholeReadingOf("messages", {
    model: "m",
    max_tokens: 100,
    system: [{ type: "text", text: "x".repeat(40), ...mark }, {
      type: "text",
      text: "y".repeat(8),
    }],
    messages: [
      { role: "user", content: [{ type: "text", text: "z".repeat(20), ...mark }] },
      { role: "assistant", content: "ok" },
      { role: "user", content: "Hi" },
    ],
  });
  assertEquals(usage, { input: 2, cacheRead: 10, cacheWrite: 7, output: 3, reasoning: 0 });
});

Deno.test("tools and system count as prompt, pictures count as 85 tokens", async () => {
  const bare = await jsonOf("/v1/messages/count_tokens", requestOf("messages", "Hi"));
  assertEquals(bare, { input_tokens: 1 });
  const full = await jsonOf("/v1/messages/count_tokens", {
    model: "m",
    system: "Be kind.",
    tools: [{ name: "look", description: "Looks", input_schema: { type: "object" } }],
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "Hi" },
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "A".repeat(999) },
        },
      ],
    }],
  });
  // 1 for Hi, 85 for the picture, 2 for the system, 1 + 2 for the tool's name and description.
  assertEquals(full, { input_tokens: 1 + 85 + 2 + 3 });
});

Deno.test("the token limit is obeyed and reported", async () => {
  const bound: Record<string, [string, string]> = {
    messages: ["max_tokens", "max_tokens"],
    chat: ["max_completion_tokens", "length"],
    responses: ["max_output_tokens", "max_output_tokens"],
  };
  for (const style of styles) {
    const [field, reason] = bound[style] ?? ["", ""];
    for (const limit of [1, 4, 5]) {
      const body = requestOf(style, "Hello there", { [field]: limit });
      const whole = await wholeReadingOf(style, body);
      assertEquals([whole.usage?.output, whole.stopReason], [limit, reason], `${style} ${limit}`);
      const streamed = await readingOf(style, body);
      assertEquals([streamed.outputBytes, streamed.stopReason], [whole.outputBytes, reason]);
    }
    const enough = await wholeReadingOf(style, requestOf(style, "Hello there", { [field]: 6 }));
    assertNotEquals(enough.stopReason, reason, style);
  }
  const warm = await wholeReadingOf("messages", requestOf("messages", "Hello", { max_tokens: 0 }));
  assertEquals([warm.usage?.output, warm.stopReason, warm.empty], [0, "max_tokens", true]);
});

Deno.test("the first stop sequence cuts the text and is not part of it", async () => {
  const messages = await jsonOf(
    paths.messages,
    requestOf("messages", "one two three", { stop_sequences: ["three", "two"] }),
  );
  assertEquals(messages["content"], [{ type: "text", text: "You said: one " }]);
  assertEquals([messages["stop_reason"], messages["stop_sequence"]], ["stop_sequence", "two"]);
  const chat = await wholeReadingOf("chat", requestOf("chat", "one two three", { stop: " two" }));
  assertEquals([chat.outputBytes, chat.stopReason], [13, "stop"]);
});

Deno.test("chat: a stream has usage only on request, and the requested number of choices", async () => {
  const silent = await call(paths.chat, requestOf("chat", "Hi", { stream: true }));
  assert(!silent.text.includes("usage"));
  const asked = requestOf("chat", "Hi", { stream: true, stream_options: { include_usage: true } });
  const events = (await call(paths.chat, asked)).text.trimEnd().split("\n\n");
  assertEquals(events.at(-1), "data: [DONE]");
  assert(events.at(-2)?.includes('"choices":[],"usage":{'));
  assert(events.slice(0, -2).every((event) => event.endsWith('"usage":null}')));
  const two = await jsonOf(paths.chat, requestOf("chat", "Hi", { n: 2 }));
  assertEquals(Array.isArray(two["choices"]) && two["choices"].length, 2);
});

Deno.test("structured output fits the schema", async () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer", minimum: 4 } },
    required: ["n"],
  };
  const texts = [
    await call(
      paths.messages,
      requestOf("messages", "Hi", { output_config: { format: { type: "json_schema", schema } } }),
    ),
    await call(
      paths.chat,
      requestOf("chat", "Hi", {
        response_format: { type: "json_schema", json_schema: { name: "n", schema } },
      }),
    ),
    await call(
      paths.responses,
      requestOf("responses", "Hi", {
        text: { format: { type: "json_schema", name: "n", schema } },
      }),
    ),
  ];
  for (const { text } of texts) assert(text.includes(JSON.stringify('{"n":4}').slice(1, -1)), text);
  const object = await call(
    paths.chat,
    requestOf("chat", "JSON", { response_format: { type: "json_object" } }),
  );
  assert(object.text.includes('{\\"answer\\":\\"answer\\"}'), object.text);
});

Deno.test("an unreadable body gets a 400 in the vendor's own form", async () => {
  const cases: [string, unknown, string][] = [
    [paths.messages, "{", "JSON object"],
    [paths.messages, "[]", "JSON object"],
    [paths.messages, { model: "m", messages: [{ role: "user", content: "a" }] }, "max_tokens"],
    [paths.chat, { messages: [{ role: "user", content: "a" }] }, "model"],
    [paths.chat, { model: "m", messages: [] }, "messages"],
    [paths.chat, requestOf("chat", "a", { n: 1_000 }), "n:"],
    [paths.responses, { model: "m" }, "input"],
    [paths.chat, requestOf("chat", "[[sandbox:explode]]"), "explode"],
  ];
  for (const [path, body, named] of cases) {
    const { status, text } = await call(path, body);
    const parsed = JSON.parse(text);
    assertEquals(status, 400, text);
    assert(parsed.error.message.includes(named), text);
    assertEquals(parsed.type, path === paths.messages ? "error" : undefined, text);
  }
  assertEquals((await call("/v1/nothing", {})).status, 404);
});

Deno.test("any base URL and any query reach the endpoint", async () => {
  assertEquals(
    (await call("/some/base/v1/messages?beta=true", requestOf("messages", "Hi"))).status,
    200,
  );
});

Deno.test("a strict sandbox refuses what the vendor would refuse", async () => {
  const body = requestOf("chat", "Hi", { tool_choice: "auto" });
  assertEquals((await call(paths.chat, body)).status, 200);
  const strict = await call(paths.chat, body, { validate: validateRequest });
  assertEquals(strict.status, 400, strict.text);
  assertEquals(
    (await call(paths.chat, requestOf("chat", "Hi"), { validate: validateRequest })).status,
    200,
  );
});
