/** Requests of every style for a Converse model. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { DocumentNames } from "../../../../core/wire/converse/encode_blocks.ts";
import { accepted, converted, refusal } from "../conversion/converting.ts";

const tool = {
  type: "function",
  function: {
    name: "f",
    description: "Does f.",
    parameters: { type: "object", properties: { a: { type: "string" } } },
  },
};
const user = { role: "user", content: "Hi" };
const png = "iVBORw0KGgo=";
const pdf = "JVBERi0xLjQ=";

Deno.test("a Chat request becomes the vendor's, with what cannot be carried named", () => {
  const { body, dropped } = accepted("chat", "converse", {
    model: "m",
    messages: [{ role: "system", content: "Be short." }, user],
    tools: [tool],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
    max_completion_tokens: 100,
    temperature: 1.5,
    top_p: 0.5,
    stop: ["END", ""],
    seed: 4,
    stream: true,
  });
  assertEquals(body, {
    model: "upstream-model",
    stream: true,
    system: [{ text: "Be short." }],
    messages: [{ role: "user", content: [{ text: "Hi" }] }],
    toolConfig: {
      tools: [{
        toolSpec: {
          name: "f",
          description: "Does f.",
          inputSchema: { json: tool.function.parameters },
        },
      }],
      toolChoice: { tool: { name: "f" } },
    },
    inferenceConfig: { maxTokens: 100, temperature: 1, topP: 0.5, stopSequences: ["END"] },
  });
  assertEquals(dropped.toSorted(), ["parallel_tool_calls", "seed", "stop", "temperature"]);
});

Deno.test("pictures, PDFs and results of a Messages client keep their places", () => {
  const { body, dropped } = accepted("messages", "converse", {
    model: "m",
    max_tokens: 50,
    messages: [
      { role: "user", content: "Look" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "shot", input: { at: "top" } }],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_1",
            is_error: true,
            content: [
              { type: "text", text: "half" },
              {
                type: "image",
                source: { type: "base64", media_type: "image/png", data: png },
              },
            ],
          },
          {
            type: "document",
            title: "Báo cáo.pdf",
            source: { type: "base64", media_type: "application/pdf", data: pdf },
          },
        ],
      },
    ],
    tools: [{ name: "shot", input_schema: { type: "object", properties: {} } }],
  });
  assertEquals(body.messages, [
    { role: "user", content: [{ text: "Look" }] },
    {
      role: "assistant",
      content: [{ toolUse: { toolUseId: "toolu_1", name: "shot", input: { at: "top" } } }],
    },
    {
      role: "user",
      content: [
        {
          toolResult: {
            toolUseId: "toolu_1",
            content: [{ text: "half" }, { image: { format: "png", source: { bytes: png } } }],
            status: "error",
          },
        },
        { text: "Báo cáo.pdf" },
        { document: { format: "pdf", name: "Bao cao-pdf", source: { bytes: pdf } } },
      ],
    },
  ]);
  assertEquals(dropped, []);
});

Deno.test("what the vendor refuses as empty is not sent", () => {
  const { body } = accepted("chat", "converse", {
    model: "m",
    messages: [
      { role: "system", content: " " },
      user,
      { role: "assistant", content: "", tool_calls: [call("c1")] },
      { role: "tool", tool_call_id: "c1", content: "" },
    ],
    tools: [{ type: "function", function: { name: "f", description: "" } }],
  });
  assertEquals(body.system, undefined);
  assertEquals(list(body.messages)[2], {
    role: "user",
    content: [{ toolResult: { toolUseId: "c1", content: [{ text: "(no output)" }] } }],
  });
});

function call(id: string) {
  return { id, type: "function", function: { name: "f", arguments: '{"a":1}' } };
}

function list(value: unknown): unknown[] {
  assert(Array.isArray(value));
  return value;
}

Deno.test("calls of a history without tools are told in words, since the vendor refuses them", () => {
  const messages = [
    user,
    { role: "assistant", content: null, tool_calls: [call("c1")] },
    { role: "tool", tool_call_id: "c1", content: "four" },
    user,
  ];
  for (const more of [{}, { tools: [tool], tool_choice: "none" }]) {
    const { body, dropped } = accepted("chat", "converse", { model: "m", messages, ...more });
    assertEquals(body.toolConfig, undefined);
    const text = JSON.stringify(body.messages);
    assert(text.includes('[Called tool f with {\\"a\\":1}]') && text.includes("four"), text);
    assert(dropped.includes("messages.1.tool_calls.0"), dropped.join());
  }
});

Deno.test("ids and names are what the vendor's patterns take, the same for call and result", () => {
  const id = `call:${"x".repeat(90)}`;
  const { body } = accepted("chat", "converse", {
    model: "m",
    messages: [
      user,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id, type: "function", function: { name: "a.b/c", arguments: "" } }],
      },
      { role: "tool", tool_call_id: id, content: "ok" },
    ],
    tools: [{ type: "function", function: { name: "a.b/c" } }],
  });
  const ids = [...JSON.stringify(body.messages).matchAll(/"toolUseId":"([^"]+)"/g)];
  assertEquals(ids.length, 2);
  assertEquals(ids[0]?.[1], ids[1]?.[1]);
});

Deno.test("cache marks become cache points after their blocks, four at most", () => {
  const marked = (text: string, ttl?: string) => ({
    type: "text",
    text,
    cache_control: { type: "ephemeral", ...(ttl === undefined ? {} : { ttl }) },
  });
  const request: JsonObject = {
    model: "m",
    max_tokens: 5,
    system: [marked("Rules", "1h")],
    messages: [{ role: "user", content: [marked("a"), marked("b"), marked("c"), marked("d")] }],
  };
  const { body, dropped } = accepted("messages", "converse", request, {
    cache_marks: "cache_point",
  });
  assertEquals(body.system, [{ text: "Rules" }, { cachePoint: { type: "default", ttl: "1h" } }]);
  assertEquals(JSON.stringify(body.messages).split("cachePoint").length, 4);
  assertEquals(dropped, ["messages.0.content.3.cache_control"]);
  const plain = accepted("messages", "converse", request);
  assert(!JSON.stringify(plain.body).includes("cachePoint"));
  assertEquals(plain.dropped.length, 5);
});

Deno.test("each family of models is asked to reason by its own field", () => {
  const request = { model: "m", messages: [user], reasoning_effort: "high" };
  const more = (facts: Parameters<typeof accepted>[3], body: JsonObject = request) =>
    accepted("chat", "converse", body, facts).body.additionalModelRequestFields;
  assertEquals(more({ reasoning_field: "reasoningConfig", efforts: ["low", "medium"] }), {
    reasoningConfig: { type: "enabled", maxReasoningEffort: "medium" },
  });
  assertEquals(more({ reasoning_field: "reasoning_effort" }), { reasoning_effort: "high" });
  assertEquals(more({ reasoning_field: "thinking" }), {
    thinking: { type: "enabled", budget_tokens: 16_384 },
  });
  const adaptive = accepted("chat", "converse", { ...request, temperature: 0.5 }, {
    reasoning_field: "thinking",
    thinking: "adaptive",
  });
  assertEquals(adaptive.body.outputConfig, { effort: "high" });
  assertEquals(adaptive.body.inferenceConfig, undefined);
  assertEquals(adaptive.dropped, ["temperature"]);
  const none = accepted("chat", "converse", request);
  assertEquals(none.dropped, ["reasoning_effort"]);
  assertEquals(
    more({ reasoning_field: "reasoningConfig" }, { ...request, reasoning_effort: "none" }),
    {
      reasoningConfig: { type: "disabled" },
    },
  );
});

Deno.test("reasoning goes back to the model that signed it, and to no other", () => {
  const thinking = (signature: string) => ({
    model: "m",
    max_tokens: 5,
    messages: [
      user,
      {
        role: "assistant",
        content: [{ type: "thinking", thinking: "Hm", signature }, { type: "text", text: "4" }],
      },
      user,
    ],
  });
  const signed = converted("messages", "converse", thinking("c2lnbmVk"), {
    reasoning_signer: "messages",
  });
  assertEquals(list(signed.body.messages)[1], {
    role: "assistant",
    content: [
      { reasoningContent: { reasoningText: { text: "Hm", signature: "c2lnbmVk" } } },
      { text: "4" },
    ],
  });
  const foreign = accepted("messages", "converse", thinking("c2lnbmVk"));
  assert(!JSON.stringify(foreign.body).includes("reasoningContent"));
});

Deno.test("a schema goes out as text, as a tool, or in words", () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const request = {
    model: "m",
    messages: [user],
    response_format: { type: "json_schema", json_schema: { name: "answer", schema } },
  };
  const format = accepted("chat", "converse", request);
  assertEquals(format.body.outputConfig, {
    textFormat: {
      type: "json_schema",
      structure: {
        jsonSchema: {
          schema: JSON.stringify({ ...schema, additionalProperties: false }),
          name: "answer",
        },
      },
    },
  });
  assertEquals(format.dropped, []);
  const forced = accepted("chat", "converse", request, { structured: "tool" });
  assertEquals(forced.memory.answerTool, "structured_answer");
  assert(JSON.stringify(forced.body.toolConfig).includes('"tool":{"name":"structured_answer"}'));
  const words = accepted("chat", "converse", request, { structured: "none" });
  assert(JSON.stringify(words.body.system).includes("JSON Schema"));
  assertEquals(words.dropped, ["response_format"]);
});

Deno.test("top_k has the name that the model knows, and tiers go out where the route has them", () => {
  const request = {
    model: "m",
    max_tokens: 5,
    top_k: 7,
    messages: [user],
    service_tier: "standard_only",
  };
  const more = (extra_fields: string[]) =>
    accepted("messages", "converse", request, { extra_fields }).body.additionalModelRequestFields;
  assertEquals(more(["top_k"]), { top_k: 7 });
  assertEquals(more(["k"]), { k: 7 });
  assertEquals(more(["inferenceConfig.topK"]), { inferenceConfig: { topK: 7 } });
  assertEquals(accepted("messages", "converse", request).dropped, ["top_k"]);
  const tier = accepted("chat", "converse", {
    model: "m",
    messages: [user],
    service_tier: "flex",
  }, { extra_fields: ["service_tier"] });
  assertEquals(tier.body.serviceTier, { type: "flex" });
});

Deno.test("what the style cannot carry is refused with the name of the field", () => {
  const chat = (more: JsonObject) => ({ model: "m", messages: [user], ...more });
  const file = (media_type: string) => ({
    model: "m",
    max_tokens: 5,
    messages: [{
      role: "user",
      content: [{ type: "image", source: { type: "base64", media_type, data: png } }],
    }],
  });
  const cases: [ReturnType<typeof refusal>, string][] = [
    [refusal("chat", "converse", chat({ logprobs: true })), "logprobs"],
    [refusal("messages", "converse", file("image/tiff")), "messages.0.content.0"],
    [
      refusal("chat", "converse", chat({ stop: ["1", "2", "3", "4", "5"] }), { stop_max: 3 }),
      "stop",
    ],
    [
      refusal("chat", "converse", chat({ messages: [user, { role: "assistant", content: "So" }] })),
      "messages.1",
    ],
  ];
  for (const [error, param] of cases) assertEquals(error.param, param, error.message);
});

Deno.test("two documents of one title have two names, and no name is too long", () => {
  const names = new DocumentNames();
  const made = [..."ab"].map(() => names.nameFor("x".repeat(300)));
  assertEquals(new Set(made).size, 2);
  assert(made.every((name) => name.length <= 200));
  assertEquals(names.nameFor("../etc/passwd\u0000"), "-etc-passwd-");
});
