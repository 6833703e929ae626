/** Section 9.6 of the wire notes: marks of prompt caches. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../core/json.ts";
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
