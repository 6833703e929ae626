/** A whole answer as the stream of its provider's style, read by the decoders and by a strict client. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { collectAnswer } from "../../../../core/wire/convert/collected_answer.ts";
import { context, convertedAnswer } from "../conversion/converting.ts";
import { clientStyles, providerStyles, wholeAnswer } from "../conversion/provider_answers.ts";
import { pipeText } from "../native/piping.ts";

const args = '{"city":"Hà Nội"}';
const usage = { prompt: 30, cached: 20, output: 9 };

/** An answer of each style with reasoning, text and a call. */
const rich: Readonly<Record<ProviderStyle, JsonObject>> = {
  chat: {
    ...wholeAnswer("chat", { text: "", usage }),
    choices: [{
      index: 0,
      message: {
        role: "assistant",
        reasoning_content: "Hm",
        content: "Let me look.",
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: args } }],
      },
      finish_reason: "tool_calls",
    }],
  },
  messages: {
    ...wholeAnswer("messages", { text: "", reason: "tool_use", usage }),
    content: [
      { type: "thinking", thinking: "Hm", signature: "c2ln" },
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "a", name: "f", input: JSON.parse(args) },
    ],
  },
  responses: {
    ...wholeAnswer("responses", { text: "", usage }),
    output: [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm" }] },
      {
        type: "message",
        id: "m_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
      },
      { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: args },
    ],
  },
  gemini: {
    ...wholeAnswer("gemini", { text: "", usage }),
    candidates: [{
      content: {
        role: "model",
        parts: [
          { text: "Hm", thought: true },
          { text: "Let me look." },
          { functionCall: { id: "a", name: "f", args: JSON.parse(args) } },
        ],
      },
      finishReason: "STOP",
      index: 0,
    }],
  },
  converse: {
    ...wholeAnswer("converse", { text: "", reason: "tool_use", usage }),
    output: {
      message: {
        role: "assistant",
        content: [
          { reasoningContent: { reasoningText: { text: "Hm", signature: "c2ln" } } },
          { text: "Let me look." },
          { toolUse: { toolUseId: "a", name: "f", input: JSON.parse(args) } },
        ],
      },
    },
  },
};

Deno.test("the stream of a whole answer, collected again, is the same answer for every client", () => {
  for (const provider of providerStyles) {
    const frames = new TextEncoder().encode(answerFrames(provider, rich[provider]));
    for (const client of clientStyles) {
      if (client === provider) continue;
      const { body, reading } = collectAnswer(provider, client, frames, context, {});
      assertEquals(
        body,
        convertedAnswer(provider, client, rich[provider]),
        `${provider} ${client}`,
      );
      assertEquals(
        [reading.usage?.input, reading.usage?.cacheRead, reading.usage?.output],
        [10, 20, 9],
      );
    }
  }
});

Deno.test("native clients get it as it is, complete", () => {
  for (const style of clientStyles) {
    const text = answerFrames(style, rich[style]);
    const { passed, ending, reading } = pipeText(style, text);
    assertEquals([reading.state, reading.usage?.output], ["completed", 9], style);
    assert((passed + ending).includes("Let me look."), style);
  }
});

Deno.test("events of Responses are numbered in the order in which they come", () => {
  const numbers = [
    ...answerFrames("responses", rich.responses).matchAll(/"sequence_number":(\d+)/g),
  ]
    .map(([, digits]) => Number(digits));
  assertEquals(numbers, numbers.map((_, place) => place));
});
