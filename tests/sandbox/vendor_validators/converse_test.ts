import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";

const png = "iVBORw0KGgo=";
const user = (...content: Json[]): JsonObject => ({ role: "user", content });
const hi = user({ text: "Hi" });
const calls = (...ids: string[]): JsonObject => ({
  role: "assistant",
  content: ids.map((toolUseId) => ({ toolUse: { toolUseId, name: "add", input: { a: 1 } } })),
});
const result = (toolUseId: string, more: JsonObject = {}): JsonObject => ({
  toolResult: { toolUseId, content: [{ text: "2" }], ...more },
});
const document = (name: string): JsonObject => ({
  document: { format: "pdf", name, source: { bytes: png } },
});
const tool = { toolSpec: { name: "add", inputSchema: { json: { type: "object" } } } };
const toolConfig = { tools: [tool] };

function request(messages: Json, more: JsonObject = {}): JsonObject {
  return { model: "m", messages, ...more };
}

const accepted: Record<string, JsonObject> = {
  "a plain question": request([hi]),
  "every optional field at once": request([hi], {
    stream: true,
    system: [{ text: "Be short." }, { cachePoint: { type: "default", ttl: "1h" } }],
    inferenceConfig: { maxTokens: 5, temperature: 1, topP: 0.5, stopSequences: ["a"] },
    toolConfig: { tools: [tool], toolChoice: { tool: { name: "add" } } },
    outputConfig: {
      effort: "low",
      textFormat: { type: "json_schema", structure: { jsonSchema: { schema: "{}", name: "n" } } },
    },
    additionalModelRequestFields: { top_k: 5 },
    serviceTier: { type: "flex" },
  }),
  "a loop of calls, and what follows it": request([
    hi,
    calls("a", "b"),
    user(result("b"), result("a", { status: "error" }), { text: "And?" }),
  ], { toolConfig }),
  "pictures, documents and reasoning": request([
    user({ image: { format: "png", source: { bytes: png } } }, document("A (1)"), { text: "Hi" }),
    {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "Hm", signature: "c2ln" } } },
        { reasoningContent: { redactedContent: png } },
        { text: "Yes" },
      ],
    },
    hi,
  ]),
};

for (const [name, body] of Object.entries(accepted)) {
  Deno.test(`Converse accepts ${name}`, () => {
    assertEquals(validateRequest("converse", body), undefined);
  });
}

const five = Array.from({ length: 5 }, () => ({ cachePoint: { type: "default" } }));

const refused: readonly (readonly [what: string, body: JsonObject, words: string])[] = [
  ["an unknown field", request([hi], { temperature: 1 }), "temperature"],
  ["a blank text", request([user({ text: " " })]), "blank"],
  ["a block of two kinds", request([user({ text: "a", image: {} })]), "messages.0.content.0"],
  ["the model first", request([{ role: "assistant", content: [{ text: "a" }] }, hi]), "start with"],
  ["two turns of one role", request([hi, hi]), "alternate"],
  ["calls without tools", request([hi, calls("a"), user(result("a"))]), "toolConfig"],
  [
    "a call without a result",
    request([hi, calls("a", "b"), user(result("a"))], { toolConfig }),
    "b",
  ],
  ["a result without a call", request([user(result("a"))], { toolConfig }), "exceeds"],
  [
    "two calls of one id",
    request([hi, calls("a"), user(result("a")), calls("a"), user(result("a"))], { toolConfig }),
    "duplicate Id",
  ],
  [
    "a result after a text",
    request([hi, calls("a"), user({ text: "x" }, result("a"))], { toolConfig }),
    "first",
  ],
  [
    "an empty result",
    request([hi, calls("a"), user(result("a", { content: [] }))], { toolConfig }),
    "content",
  ],
  ["a long id", request([hi, calls("a".repeat(65))], { toolConfig }), "toolUseId"],
  ["a document alone", request([user(document("A"))]), "text block"],
  [
    "two documents of one name",
    request([user(document("A"), document("A"), { text: "a" })]),
    "duplicate",
  ],
  ["a name with a dot", request([user(document("a.pdf"), { text: "a" })]), "file name"],
  ["a name with two spaces", request([user(document("a  b"), { text: "a" })]), "file name"],
  [
    "a picture by media type",
    request([user({ image: { format: "image/png", source: { bytes: png } } })]),
    "format",
  ],
  [
    "a temperature above 1",
    request([hi], { inferenceConfig: { temperature: 1.1 } }),
    "temperature",
  ],
  [
    "a schema that is no object",
    request([hi], {
      toolConfig: {
        tools: [{ toolSpec: { name: "f", inputSchema: { json: { type: "string" } } } }],
      },
    }),
    "object",
  ],
  [
    "a choice of no tool",
    request([hi], { toolConfig: { tools: [tool], toolChoice: { tool: { name: "g" } } } }),
    "toolChoice",
  ],
  ["five cache points", request([user({ text: "a" }, ...five)]), "cache points"],
];

for (const [what, body, words] of refused) {
  Deno.test(`Converse refuses ${what}`, () => {
    assertStringIncludes(validateRequest("converse", body) ?? "accepted", words);
  });
}
