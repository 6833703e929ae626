/** Requests of other styles for a Gemini model, and of Gemini clients for other models. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import type { JsonObject } from "../../../../../core/lib/json/json.ts";
import { accepted, converted, refusal } from "../../conversion/converting.ts";

const tool = {
  type: "function",
  function: {
    name: "f",
    parameters: { type: "object", properties: { a: { type: "string", pattern: "^x" } } },
  },
};
const user = { role: "user", content: "Hi" };

Deno.test("a Chat request becomes the vendor's, with what cannot be carried named", () => {
  const { body, dropped } = accepted("chat", "gemini", {
    model: "m",
    messages: [{ role: "system", content: "Be short." }, user],
    tools: [tool],
    tool_choice: { type: "function", function: { name: "f" } },
    parallel_tool_calls: false,
    max_completion_tokens: 100,
    temperature: 0.5,
    stop: ["END"],
    seed: 4,
    logit_bias: { "1": 1 },
    stream: true,
  });
  assertEquals(body, {
    model: "upstream-model",
    stream: true,
    systemInstruction: { parts: [{ text: "Be short." }] },
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
    tools: [{
      functionDeclarations: [{
        name: "f",
        parametersJsonSchema: {
          type: "object",
          properties: { a: { type: "string", pattern: "^x" } },
        },
      }],
    }],
    toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["f"] } },
    generationConfig: { maxOutputTokens: 100, temperature: 0.5, stopSequences: ["END"], seed: 4 },
  });
  assertEquals(dropped.toSorted(), ["logit_bias", "parallel_tool_calls"]);
});

Deno.test("results name their function and follow in the order of the calls", () => {
  const call = (id: string, name: string) => ({
    id,
    type: "function",
    function: { name, arguments: '{"a":1}' },
  });
  const { body } = accepted("chat", "gemini", {
    model: "m",
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: [call("c1", "f"), call("c2", "g")] },
      { role: "tool", tool_call_id: "c2", content: "two" },
      { role: "tool", tool_call_id: "c1", content: "" },
    ],
    tools: [tool],
  }, { empty_tool_result: "(empty)" });
  const contents = JSON.parse(JSON.stringify(body.contents));
  // Another model made the calls: the vendor documents a signature for that.
  assertEquals(contents[1].parts[0].thoughtSignature, "skip_thought_signature_validator");
  assertEquals(contents[1].parts[1].thoughtSignature, undefined);
  assertEquals(contents[2].parts, [
    { functionResponse: { id: "c1", name: "f", response: { output: "(empty)" } } },
    { functionResponse: { id: "c2", name: "g", response: { output: "two" } } },
  ]);
});

Deno.test("thinking is asked for by level or by budget, as the route's models have it", () => {
  const asked = (body: JsonObject, capabilities = {}) =>
    accepted("chat", "gemini", { model: "m", messages: [user], ...body }, capabilities).body
      .generationConfig;
  const high = { reasoning_effort: "high" };
  assertEquals(asked(high), { thinkingConfig: { includeThoughts: true, thinkingLevel: "HIGH" } });
  assertEquals(asked(high, { thinking: "budget" }), {
    thinkingConfig: { includeThoughts: true, thinkingBudget: 16_384 },
  });
  assertEquals(asked(high, { thinking: "none" }), undefined);
  const off = { thinking: { type: "disabled" } };
  assertEquals(asked(off, { thinking: "budget" }), { thinkingConfig: { thinkingBudget: 0 } });
  assertEquals(asked(off), { thinkingConfig: { thinkingLevel: "LOW" } });
});

Deno.test("a schema goes as the vendor's part of JSON Schema, the rest in words", () => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: {
      kind: { const: "a", default: "a" },
      n: { type: "integer", exclusiveMinimum: 0 },
      s: { type: "string", pattern: "^a", minLength: 1, maxLength: 9 },
      l: { type: "array", items: {}, uniqueItems: true },
    },
    definitions: { x: { type: "string" } },
    allOf: [{ required: ["n"] }],
  };
  const { body, dropped } = accepted("chat", "gemini", {
    model: "m",
    messages: [user],
    response_format: { type: "json_schema", json_schema: { name: "o", schema } },
  });
  assertEquals(body.generationConfig, {
    responseMimeType: "application/json",
    responseJsonSchema: {
      type: "object",
      properties: {
        kind: { enum: ["a"], description: 'default: "a"' },
        n: { type: "integer", description: "exclusiveMinimum: 0" },
        s: { type: "string", pattern: "^a", minLength: 1, maxLength: 9 },
        l: { type: "array", items: {}, uniqueItems: true },
      },
      $defs: { x: { type: "string" } },
      description: 'allOf: [{"required":["n"]}]',
    },
  });
  assertEquals(dropped, ["response_format"]);
});

Deno.test("pictures and PDFs go as data; an address needs a route that takes them", () => {
  const content = (url: string) => ({
    model: "m",
    messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
  });
  const data = "data:image/png;base64,iVBORw0KGgo=";
  const { body } = accepted("chat", "gemini", content(data));
  assert(JSON.stringify(body).includes('"inlineData":{"mimeType":"image/png"'));
  const web = "https://example.com/a.webp";
  assertEquals(refusal("chat", "gemini", content(web)).param, "messages.0.content.0");
  const { body: named } = accepted("chat", "gemini", content(web), { images: "url" });
  assert(JSON.stringify(named).includes('"fileUri":"https://example.com/a.webp"'));
});

Deno.test("the vendor's examples in snake case mean the same", () => {
  const camel = converted("gemini", "chat", {
    model: "m",
    contents: [{
      parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }, { text: "a" }],
    }],
    systemInstruction: { parts: [{ text: "s" }] },
    generationConfig: { maxOutputTokens: 9, stopSequences: ["x"] },
  });
  const snake = converted("gemini", "chat", {
    model: "m",
    contents: [{
      parts: [{ inline_data: { mime_type: "image/png", data: "iVBORw0KGgo=" } }, { text: "a" }],
    }],
    system_instruction: { parts: [{ text: "s" }] },
    generation_config: { max_output_tokens: 9, stop_sequences: ["x"] },
  });
  assertEquals(snake.body, camel.body);
  assertEquals(snake.dropped, []);
  const both = { model: "m", contents: [], generation_config: {}, generationConfig: {} };
  assertEquals(refusal("gemini", "chat", both).code, "invalid_request");
});

Deno.test("files that only the vendor holds are refused by name", () => {
  const file = (fileUri: string, mimeType = "image/png") => ({
    model: "m",
    contents: [{ role: "user", parts: [{ fileData: { fileUri, mimeType } }] }],
  });
  const own = "https://generativelanguage.googleapis.com/v1beta/files/abc";
  const at = "contents.0.parts.0.fileData.fileUri";
  assertEquals(refusal("gemini", "messages", file(own)).param, at);
  assertEquals(refusal("gemini", "messages", file("gs://bucket/a.png")).param, at);
  assertEquals(refusal("gemini", "chat", file("https://youtu.be/x", "")).param, at);
});
