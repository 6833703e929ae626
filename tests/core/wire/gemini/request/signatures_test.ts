/**
 * Thought signatures survive a conversation of several turns through clients of every style and come back to the part
 * that they belong to; proofs of other vendors survive Gemini clients.
 */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../../core/lib/json/json.ts";
import { withoutForeignSignatures } from "../../../../../core/wire/mod.ts";
import { accepted, converted, convertedAnswer } from "../../conversion/converting.ts";

const answer: JsonObject = {
  candidates: [{
    content: {
      role: "model",
      parts: [
        { text: "I look.", thoughtSignature: "dGV4dA==" },
        { functionCall: { name: "f", args: { a: 1 } }, thoughtSignature: "Y2FsbA==" },
        { functionCall: { name: "f", args: { a: 2 } } },
      ],
    },
    finishReason: "STOP",
    index: 0,
  }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};

function list(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The parts of the model's turn, as they go back to the vendor. */
function partsOf(body: JsonObject): JsonObject[] {
  const [, turn] = list(body.contents);
  return list(turn?.parts).map(({ functionCall, text, ...rest }) =>
    functionCall === undefined ? { text: text ?? "", ...rest } : { call: true, ...rest }
  );
}

const expected = [
  { text: "I look.", thoughtSignature: "dGV4dA==" },
  { call: true, thoughtSignature: "Y2FsbA==" },
  { call: true },
];

Deno.test("a Messages client brings signatures back to their parts", () => {
  const { content } = convertedAnswer("gemini", "messages", answer);
  const { body } = accepted("messages", "gemini", {
    model: "m",
    max_tokens: 9,
    tools: [{ name: "f", input_schema: { type: "object" } }],
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: content ?? null },
      {
        role: "user",
        content: list(content).filter(({ type }) => type === "tool_use")
          .map(({ id }) => ({ type: "tool_result", tool_use_id: id ?? "", content: "b" })),
      },
    ],
  });
  assertEquals(partsOf(body), expected);
});

Deno.test("a Chat client brings signatures back to their parts", () => {
  const [choice] = list(convertedAnswer("gemini", "chat", answer).choices);
  const message = isJsonObject(choice?.message) ? choice.message : {};
  const { body } = accepted("chat", "gemini", {
    model: "m",
    tools: [{ type: "function", function: { name: "f" } }],
    messages: [
      { role: "user", content: "a" },
      message,
      ...list(message.tool_calls).map(({ id }): JsonObject => ({
        role: "tool",
        tool_call_id: id ?? "",
        content: "b",
      })),
    ],
  });
  assertEquals(partsOf(body), expected);
});

Deno.test("a Responses client brings signatures back to their parts", () => {
  const output = list(convertedAnswer("gemini", "responses", answer).output);
  const { body } = accepted("responses", "gemini", {
    model: "m",
    tools: [{ type: "function", name: "f", parameters: { type: "object" }, strict: false }],
    input: [
      { role: "user", content: "a" },
      ...output,
      ...output.filter(({ type }) => type === "function_call").map(({ call_id }): JsonObject => ({
        type: "function_call_output",
        call_id: call_id ?? "",
        output: "b",
      })),
    ],
  });
  assertEquals(partsOf(body), expected);
});

/** What a Gemini client holds of an answer; `keepsThoughts`: the vendor's own agent leaves them out. */
function geminiHistory(body: JsonObject, keepsThoughts: boolean): JsonObject {
  const [candidate] = list(body.candidates);
  const content = isJsonObject(candidate?.content) ? candidate.content : {};
  const parts = list(content.parts).filter(({ thought }) => keepsThoughts || thought !== true);
  const responses = parts.flatMap(({ functionCall: call }) =>
    isJsonObject(call)
      ? [{
        functionResponse: { id: call.id ?? "", name: call.name ?? "", response: { output: "b" } },
      }]
      : []
  );
  return {
    model: "m",
    tools: [{ functionDeclarations: [{ name: "f" }] }],
    contents: [
      { role: "user", parts: [{ text: "a" }] },
      { role: "model", parts },
      { role: "user", parts: responses },
    ],
  };
}

Deno.test("a Gemini client brings a Messages signature back with its thought", () => {
  const thinking = { type: "thinking", thinking: "Hm.", signature: "EqQBCkgIAR" };
  const use = { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } };
  const there = convertedAnswer("messages", "gemini", {
    type: "message",
    content: [thinking, use],
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const { body } = converted("gemini", "messages", geminiHistory(there, true));
  const messages = list(body.messages);
  assertEquals(messages[1]?.content, [thinking, use]);
});

Deno.test("a client that keeps each chunk as a content of its own brings the signature to its thought", () => {
  const signature = "EqQBCkgIAR";
  const there = convertedAnswer("messages", "gemini", {
    type: "message",
    content: [
      { type: "thinking", thinking: "Hm.", signature },
      { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const history = geminiHistory(there, true);
  const contents = list(history.contents).flatMap((content) =>
    content.role === "model"
      ? list(content.parts).map((part) => ({ role: "model", parts: [part] }))
      : [content]
  );
  assert(contents.length > 3);
  const { body } = converted("gemini", "messages", { ...history, contents });
  const messages = list(body.messages);
  assertEquals(messages.length, 3);
  assertEquals(messages[1]?.content, [
    { type: "thinking", thinking: "Hm.", signature },
    { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
  ]);
});

Deno.test("a Gemini client that drops thoughts still brings encrypted reasoning back", () => {
  const item = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "f",
    arguments: "{}",
    status: "completed",
  };
  const there = convertedAnswer("responses", "gemini", {
    object: "response",
    status: "completed",
    output: [item, call],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  });
  const { body } = converted("gemini", "responses", geminiHistory(there, false));
  const kinds = list(body.input).map(({ type, encrypted_content }) => [type, encrypted_content]);
  assert(JSON.stringify(kinds).includes('["reasoning","gAAA"]'), JSON.stringify(kinds));
});

Deno.test("a native request loses only the signatures that this gateway made", () => {
  const there = convertedAnswer("messages", "gemini", {
    type: "message",
    content: [
      { type: "thinking", thinking: "Hm.", signature: "EqQBCkgIAR" },
      { type: "tool_use", id: "toolu_1", name: "f", input: {} },
    ],
    stop_reason: "tool_use",
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const { contents } = geminiHistory(there, true);
  const own = JSON.stringify(withoutForeignSignatures(contents, true));
  assert(own.includes("skip_thought_signature_validator") && !own.includes("dWd3MS"), own);
  assertEquals(withoutForeignSignatures(geminiHistory(answer, true).contents, true), undefined);
});

const used = { input_tokens: 1, output_tokens: 1 };

/** Answers with two calls and without reasoning, of each other style. */
const unsigned = {
  messages: {
    type: "message",
    content: [
      { type: "tool_use", id: "toolu_1", name: "f", input: {} },
      { type: "tool_use", id: "toolu_2", name: "f", input: {} },
    ],
    stop_reason: "tool_use",
    usage: used,
  },
  chat: {
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        content: null,
        tool_calls: ["call_1", "call_2"].map((id) => ({
          id,
          type: "function",
          function: { name: "f", arguments: "{}" },
        })),
      },
      finish_reason: "tool_calls",
    }],
  },
  responses: {
    object: "response",
    status: "completed",
    output: ["call_1", "call_2"].map((call_id) => ({
      type: "function_call",
      id: `fc_${call_id}`,
      call_id,
      name: "f",
      arguments: "{}",
      status: "completed",
    })),
    usage: { ...used, total_tokens: 2 },
  },
  converse: {
    output: {
      message: {
        role: "assistant",
        content: ["t1", "t2"].map((toolUseId) => ({
          toolUse: { toolUseId, name: "f", input: {} },
        })),
      },
    },
    stopReason: "tool_use",
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  },
} as const;

Deno.test("calls of another vendor are accepted by a native route that checks signatures", () => {
  for (const style of ["messages", "chat", "responses", "converse"] as const) {
    const wholes = convertedAnswer(style, "gemini", JSON.parse(JSON.stringify(unsigned[style])));
    const { contents } = geminiHistory(wholes, true);
    const [, turn] = list(contents);
    assertEquals(
      list(turn?.parts).map(({ thoughtSignature }) => thoughtSignature),
      ["skip/thought/signature/validator", undefined],
      style,
    );
    const [, sent] = withoutForeignSignatures(contents, true) ?? [];
    assertEquals(
      list(isJsonObject(sent) ? sent.parts : undefined).map((part) => part.thoughtSignature),
      ["skip_thought_signature_validator", undefined],
      style,
    );
    const unchecked = JSON.stringify(withoutForeignSignatures(contents, false));
    assert(!unchecked.includes("thoughtSignature"), unchecked);
  }
});
