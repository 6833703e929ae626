/** Marks of prompt caches (docs/internals/WIRE_FORMATS.md#cache-marks). */
import { assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, converted } from "./converting.ts";

const ephemeral = { type: "ephemeral" };
const hour = { type: "ephemeral", ttl: "1h" };

const messagesRequest: JsonObject = {
  model: "m",
  max_tokens: 10,
  system: [{ type: "text", text: "s", cache_control: hour }],
  messages: [{
    role: "user",
    content: [
      { type: "text", text: "a", cache_control: ephemeral },
      {
        type: "image",
        source: { type: "url", url: "https://example.com/a.png" },
        cache_control: ephemeral,
      },
    ],
  }],
};

Deno.test("a route without marks drops them by name", () => {
  const { body, dropped } = accepted("messages", "chat", messagesRequest);
  assertEquals(JSON.stringify(body).includes("cache"), false);
  assertEquals(dropped, [
    "system.0.cache_control",
    "messages.0.content.0.cache_control",
    "messages.0.content.1.cache_control",
  ]);
});

Deno.test("a route with cache_control gets it on every part, with its time to live", () => {
  const { body, dropped } = converted("messages", "chat", messagesRequest, {
    cache_marks: "cache_control",
  });
  assertEquals(dropped, []);
  assertEquals(body.messages, [
    { role: "system", content: [{ type: "text", text: "s", cache_control: hour }] },
    {
      role: "user",
      content: [
        { type: "text", text: "a", cache_control: ephemeral },
        {
          type: "image_url",
          image_url: { url: "https://example.com/a.png" },
          cache_control: ephemeral,
        },
      ],
    },
  ]);
});

Deno.test("a route with breakpoints gets them, but not on images, and at most four", () => {
  const { body, dropped } = accepted("messages", "chat", messagesRequest, {
    cache_marks: "breakpoint",
  });
  const prompt_cache_breakpoint = { mode: "explicit" };
  assertEquals((body.messages as JsonObject[])[0]?.content, [
    { type: "text", text: "s", prompt_cache_breakpoint },
  ]);
  assertEquals(dropped, ["messages.0.content.1.cache_control"]);
  const content = Array.from({ length: 5 }, (_, i) => ({
    type: "text",
    text: `t${i}`,
    cache_control: ephemeral,
  }));
  const five = accepted("messages", "chat", {
    model: "m",
    max_tokens: 10,
    messages: [{ role: "user", content }],
  }, { cache_marks: "breakpoint" });
  assertEquals(five.dropped, ["messages.0.content.4.cache_control"]);
});

Deno.test("marks of Chat clients reach a Messages route, in both of their forms", () => {
  const { body, dropped } = accepted("chat", "messages", {
    model: "m",
    messages: [{
      role: "user",
      content: [
        { type: "text", text: "a", cache_control: hour },
        { type: "text", text: "b", prompt_cache_breakpoint: { mode: "explicit" } },
      ],
    }],
    tools: [{ type: "function", function: { name: "f" }, cache_control: hour }],
  });
  assertEquals(dropped, []);
  assertEquals((body.messages as JsonObject[])[0]?.content, [
    { type: "text", text: "a", cache_control: hour },
    { type: "text", text: "b", cache_control: ephemeral },
  ]);
  assertEquals((body.tools as JsonObject[])[0]?.cache_control, hour);
});

Deno.test("a mark on a tool result or a tool is carried or named", () => {
  const request = {
    model: "m",
    max_tokens: 10,
    tools: [{ name: "f", input_schema: { type: "object" }, cache_control: ephemeral }],
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: {} }] },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "t",
          content: "b",
          cache_control: ephemeral,
        }],
      },
    ],
  };
  assertEquals(accepted("messages", "chat", request).dropped, [
    "messages.2.content.0.cache_control",
    "tools.0.cache_control",
  ]);
  const marked = converted("messages", "chat", request, { cache_marks: "cache_control" });
  assertEquals((marked.body.messages as JsonObject[])[2]?.content, [
    { type: "text", text: "b", cache_control: ephemeral },
  ]);
});

Deno.test("an automatic mark goes where its vendor would put it, or is named", () => {
  const request = {
    model: "m",
    max_tokens: 100,
    cache_control: hour,
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "b" },
      {
        role: "user",
        content: [
          { type: "text", text: "c" },
          { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        ],
      },
      { role: "assistant", content: "d" },
    ],
  };
  for (const to of ["chat", "responses"] as const) {
    assertEquals(accepted("messages", to, request).dropped.at(0), "cache_control");
    const marked = JSON.stringify(accepted("messages", to, request, { cache_marks: "breakpoint" }));
    assertEquals(marked.match(/"c","prompt_cache_breakpoint":{"mode":"explicit"}/)?.length, 1);
    assertEquals(marked.includes("cache_control"), false);
  }
  const { body } = converted("messages", "chat", request, { cache_marks: "cache_control" });
  const [part] = (body.messages as JsonObject[])[2]?.content as JsonObject[];
  assertEquals(part, { type: "text", text: "c", cache_control: hour });
});

Deno.test("a fifth mark is named, also when it is the automatic one", () => {
  const content = Array.from({ length: 5 }, (_, i) => ({
    type: "text",
    text: `t${i}`,
    ...(i < 4 ? { cache_control: ephemeral } : {}),
  }));
  const request = {
    model: "m",
    max_tokens: 100,
    cache_control: ephemeral,
    messages: [{ role: "user", content }],
  };
  const { dropped } = accepted("messages", "chat", request, { cache_marks: "breakpoint" });
  assertEquals(dropped, ["cache_control"]);
});

Deno.test("the mark of a document of several parts goes onto its last part, or is named", () => {
  const document = (parts: readonly JsonObject[]): JsonObject => ({
    model: "m",
    max_tokens: 100,
    messages: [{
      role: "user",
      content: [{
        type: "document",
        title: "T",
        source: { type: "content", content: [...parts] },
        cache_control: ephemeral,
      }],
    }],
  });
  const text = { type: "text", text: "a" };
  const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const place = "messages.0.content.0.cache_control";
  for (const to of ["chat", "responses"] as const) {
    assertEquals(accepted("messages", to, document([text])).dropped, [place]);
    const marked = accepted("messages", to, document([text]), { cache_marks: "breakpoint" });
    assertEquals([JSON.stringify(marked.body).includes("breakpoint"), marked.dropped], [true, []]);
    const onImage = accepted("messages", to, document([text, image]), {
      cache_marks: "breakpoint",
    });
    assertEquals(onImage.dropped, [place]);
  }
  const { body, dropped } = converted("messages", "chat", document([text, image]), {
    cache_marks: "cache_control",
  });
  assertEquals(dropped, []);
  const parts = (body.messages as JsonObject[])[0]?.content as JsonObject[];
  assertEquals(parts.map((part) => part.cache_control), [undefined, undefined, ephemeral]);
});

Deno.test("a mark beside a message's content or inside a function means what it stands at", () => {
  const request = {
    model: "m",
    messages: [
      { role: "system", content: "s", cache_control: hour },
      { role: "user", content: "a", cache_control: ephemeral },
      { role: "assistant", content: "b" },
      { role: "user", content: [{ type: "text", text: "c" }], cache_control: ephemeral },
    ],
    tools: [{ type: "function", function: { name: "f", cache_control: hour } }],
  };
  const { body, dropped } = accepted("chat", "messages", request);
  assertEquals(dropped, []);
  assertEquals(body.system, [{ type: "text", text: "s", cache_control: hour }]);
  const contents = (body.messages as JsonObject[]).map((message) => message.content);
  assertEquals(contents, [
    [{ type: "text", text: "a", cache_control: ephemeral }],
    "b",
    [{ type: "text", text: "c", cache_control: ephemeral }],
  ]);
  assertEquals((body.tools as JsonObject[])[0]?.cache_control, hour);
  assertEquals(accepted("chat", "responses", request).dropped.toSorted(), [
    "messages.0.cache_control",
    "messages.1.cache_control",
    "messages.3.cache_control",
    "tools.0.function.cache_control",
  ]);
});
