/**
 * A thought signature belongs to one tool call and goes back onto that call, whatever became of the call's id on the
 * way: the sealed block stands directly before its call.
 */
import { assertEquals } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { readMessagesStream as readStrictMessages } from "../../../support/strict_client/strict_client_messages.ts";
import { readResponsesStream as readStrictResponses } from "../../../support/strict_client/strict_client_responses.ts";
import { converted, convertedAnswer } from "./converting.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

function signed(signature: string): JsonObject {
  return { google: { thought_signature: signature } };
}

/** A call as the upstream tells it; `id` may be missing. */
function call(id: string | undefined, signature?: string): JsonObject {
  return {
    ...(id === undefined ? {} : { id }),
    type: "function",
    function: { name: "f", arguments: '{"a":1}' },
    ...(signature === undefined ? {} : { extra_content: signed(signature) }),
  };
}

/** The turn of the assistant as a client of `style` holds it after a whole answer, and after a stream. */
function turns(style: Style, calls: readonly JsonObject[]): JsonObject[][] {
  const message = { role: "assistant", content: null, tool_calls: [...calls] };
  const body = { choices: [{ index: 0, message, finish_reason: "tool_calls" }] };
  const transcript = chatFrames([
    ...calls.map((one, index) => chunk({ tool_calls: [{ index, ...one }] })),
    chunk({}, "tool_calls"),
  ]);
  const bytes = new TextEncoder().encode(streamed("chat", style, transcript).text);
  const whole = convertedAnswer("chat", style, body);
  if (style === "messages") {
    const outcome = readStrictMessages(bytes);
    if (outcome.kind !== "message") throw new Error(outcome.text);
    return [objects(whole.content), objects(outcome.message.content)];
  }
  const outcome = readStrictResponses(bytes);
  if (outcome.kind !== "response") throw new Error(outcome.text);
  return [objects(whole.output), objects(outcome.response.output)];
}

function objects(value: unknown): JsonObject[] {
  const plain: Json = JSON.parse(JSON.stringify(value));
  return Array.isArray(plain) ? plain.filter(isJsonObject) : [];
}

/** The conversation of a Messages client that answers every call of every turn. */
function messagesHistory(answers: readonly JsonObject[][]): JsonObject {
  const messages = answers.flatMap((content): JsonObject[] => [
    { role: "assistant", content },
    {
      role: "user",
      content: content.filter((block) => block.type === "tool_use")
        .map((block) => ({ type: "tool_result", tool_use_id: block.id ?? "", content: "b" })),
    },
  ]);
  return {
    model: "m",
    max_tokens: 10,
    tools: [{ name: "f", input_schema: { type: "object" } }],
    messages: [{ role: "user", content: "a" }, ...messages],
  };
}

function responsesHistory(answers: readonly JsonObject[][]): JsonObject {
  const items = answers.flatMap((output) => [
    ...output,
    ...output.filter((item) => item.type === "function_call")
      .map((item) => ({ type: "function_call_output", call_id: item.call_id ?? "", output: "b" })),
  ]);
  return {
    model: "m",
    tools: [{ type: "function", name: "f", parameters: {} }],
    input: [{ role: "user", content: "a" }, ...items],
  };
}

const histories = { messages: messagesHistory, responses: responsesHistory };

/** What every call of the converted history carries. */
function sentBack(style: "messages" | "responses", answers: readonly JsonObject[][]): unknown[] {
  const capabilities = { reasoning_replay: "extra_content" } as const;
  const { body } = converted(style, "chat", histories[style](answers), capabilities);
  return objects(body.messages).flatMap((message) =>
    objects(message.tool_calls ?? []).map((one) => one.extra_content)
  );
}

const ids: Record<string, string | undefined> = {
  "a plain id": "function-call-1",
  "no id": undefined,
  "an empty id": "",
  "an id that other styles refuse": "functions.f:0",
  "an id that is too long to go back": "x".repeat(60),
};

for (const style of ["messages", "responses"] as const) {
  for (const [name, id] of Object.entries(ids)) {
    Deno.test(`${style}: the signature of a call with ${name} goes back onto it`, () => {
      for (const turn of turns(style, [call(id, "c2ln")])) {
        assertEquals(sentBack(style, [turn]), [signed("c2ln")]);
      }
    });

    Deno.test(`${style}: ${name} in every turn does not mix the signatures up`, () => {
      const first = turns(style, [call(id, "b25l")]);
      const second = turns(style, [call(id, "dHdv")]);
      for (const [i, turn] of first.entries()) {
        assertEquals(sentBack(style, [turn, second[i] ?? []]), [signed("b25l"), signed("dHdv")]);
      }
    });
  }

  Deno.test(`${style}: of parallel calls only those that were signed carry a signature`, () => {
    const calls = [call("a", "b25l"), call("b"), call("a", "dHdv")];
    for (const turn of turns(style, calls)) {
      assertEquals(sentBack(style, [turn]), [signed("b25l"), undefined, signed("dHdv")]);
    }
  });
}

Deno.test("signatures that a client moved to the front of its turn go to the calls in their order", () => {
  const [turn] = turns("messages", [call("a", "b25l"), call("b", "dHdv")]);
  const sorted = (turn ?? []).toSorted((a, b) =>
    Number(a.type === "tool_use") - Number(b.type === "tool_use")
  );
  assertEquals(sentBack("messages", [sorted]), [signed("b25l"), signed("dHdv")]);
});
