import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";

const question: JsonObject = { role: "user", content: "Hi" };
const call: JsonObject = { type: "function_call", call_id: "c1", name: "add", arguments: "{}" };
const output: JsonObject = { type: "function_call_output", call_id: "c1", output: "2" };
const reasoning: JsonObject = {
  type: "reasoning",
  id: "rs_1",
  summary: [],
  encrypted_content: "gAAA",
};

function request(input: Json, more: JsonObject = {}): JsonObject {
  return { model: "m", input, store: false, ...more };
}

const accepted: Record<string, JsonObject> = {
  "a string": request("Hi"),
  "a tool loop with its reasoning": request([question, reasoning, call, output], {
    tools: [{
      type: "function",
      name: "add",
      parameters: { type: "object", properties: {} },
      strict: false,
    }],
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high", summary: "auto" },
  }),
  "images and files": request([{
    role: "user",
    content: [
      { type: "input_text", text: "What?" },
      { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
      {
        type: "input_file",
        filename: "a.pdf",
        file_data: "data:application/pdf;base64,AAAA",
      },
    ],
  }]),
  "a reply sent back": request([question, {
    type: "message",
    role: "assistant",
    id: "msg_1",
    status: "completed",
    content: [{ type: "output_text", text: "Hello", annotations: [] }],
  }, question]),
  "a custom tool": request(
    [
      question,
      { type: "custom_tool_call", call_id: "c1", name: "patch", input: "x" },
      { type: "custom_tool_call_output", call_id: "c1", output: "ok" },
    ],
    { tools: [{ type: "custom", name: "patch", format: { type: "text" } }] },
  ),
  "an output of a stored turn": request([output], { previous_response_id: "resp_1", store: true }),
};

for (const [name, body] of Object.entries(accepted)) {
  Deno.test(`Responses accepts ${name}`, () =>
    assertEquals(validateRequest("responses", body), undefined));
}

const refused: [name: string, body: JsonObject, message: string][] = [
  ["an unknown field", request("Hi", { messages: [] }), "Unknown parameter: 'messages'"],
  ["nothing to answer", { model: "m" }, "Missing required parameter"],
  ["a tiny cap", request("Hi", { max_output_tokens: 15 }), "integer below minimum value"],
  ["a call without output", request([question, call]), "No tool output found for function call c1"],
  ["an output without call", request([output]), "No tool call found for function call output"],
  ["an output before its call", request([output, call]), "No tool call found"],
  [
    "reasoning with nothing behind it",
    request([question, reasoning, question]),
    "was provided without its required following item",
  ],
  [
    "reasoning that nobody stored",
    request([question, { ...reasoning, encrypted_content: null }, call, output]),
    "Items are not persisted",
  ],
  [
    "a foreign item id",
    request([question, { ...call, id: "call_1" }, output]),
    "Expected an ID that begins with 'fc'",
  ],
  [
    "a long call id",
    request([question, { ...call, call_id: "a".repeat(65) }]),
    "maximum length 64",
  ],
  [
    "output text from the user",
    request([{ role: "user", content: [{ type: "output_text", text: "x" }] }]),
    "input[0].content[0].type",
  ],
  [
    "input text from the assistant",
    request([{ role: "assistant", content: [{ type: "input_text", text: "x" }] }]),
    "input[0].content[0].type",
  ],
  [
    "an image without address",
    request([{ role: "user", content: [{ type: "input_image" }] }]),
    "one of image_url and file_id",
  ],
  [
    "a file without a name",
    request([{
      role: "user",
      content: [{ type: "input_file", file_data: "data:application/pdf;base64,AAAA" }],
    }]),
    "filename is required",
  ],
  ["a forced tool without tools", request("Hi", { tool_choice: "required" }), "require 'tools'"],
  [
    "an open strict schema",
    request("Hi", {
      text: {
        format: { type: "json_schema", name: "o", strict: true, schema: { type: "object" } },
      },
    }),
    "Invalid schema for response_format 'o'",
  ],
  [
    "stream options without a stream",
    request("Hi", { stream_options: { include_obfuscation: false } }),
    "only allowed when 'stream' is enabled",
  ],
  ["background without store", request("Hi", { background: true }), "Background mode"],
];

for (const [name, body, message] of refused) {
  Deno.test(`Responses refuses ${name}`, () => {
    assertStringIncludes(validateRequest("responses", body) ?? "accepted", message);
  });
}
