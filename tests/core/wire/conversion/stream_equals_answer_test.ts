/** A stream converts to what the whole answer of the same content converts to, however it is split and mixed. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { readAnswer } from "../../../../core/wire/mod.ts";
import { chatAnswer, messagesAnswer } from "./arbitrary_answers.ts";
import { convertedAnswer } from "./converting.ts";
import { joinedDetails, readChatStream, readMessagesStream } from "./stream_clients.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 });

Deno.test("Messages streams equal Messages answers for a Chat client", () => {
  fc.assert(
    fc.property(messagesAnswer, sizes, ({ body, transcript }, sizes) => {
      const whole = convertedAnswer("messages", "chat", body);
      const stream = readChatStream(streamed("messages", "chat", transcript, { sizes }).text);
      const choice = Array.isArray(whole.choices) ? whole.choices[0] : undefined;
      assert(isJsonObject(choice) && isJsonObject(choice.message));
      assertEquals(stream.finishReason, choice.finish_reason ?? null);
      assertEquals(stream.usage, whole.usage as JsonObject);
      assertEquals(stream.serviceTier, whole.service_tier);
      assertEquals(plain(stream.message), plain(choice.message));
    }),
    { numRuns: 500 },
  );
});

function plain(message: JsonObject): JsonObject {
  const { annotations, reasoning_details, ...rest } = message;
  return {
    ...rest,
    annotations: annotations ?? [],
    reasoning_details: joinedDetails(reasoning_details),
  };
}

Deno.test("Chat streams equal Chat answers for a Messages client, blocks strictly in sequence", () => {
  fc.assert(
    fc.property(chatAnswer, sizes, ({ body, transcript }, sizes) => {
      const whole = convertedAnswer("chat", "messages", body);
      const { text, reading } = streamed("chat", "messages", transcript, { sizes });
      const { message } = readMessagesStream(text);
      assertEquals(message, whole);
      assertEquals(reading.usage, readAnswer("chat", body).usage);
      assertEquals(reading.outputBytes, readAnswer("chat", body).outputBytes);
    }),
    { numRuns: 500 },
  );
});

Deno.test("arguments that are no object reach a Messages client as in a whole answer, in whatever pieces", () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.dictionary(fc.string(), fc.string()));
  const args = fc.oneof(
    value.map((value) => JSON.stringify(value)),
    value.map((value) => JSON.stringify(JSON.stringify(value))),
    value.map((value) => ` \n${JSON.stringify(value)} `),
    fc.constantFrom("", " ", "\u00a0", "f(1)", '"{\\"x\\":', "[1,2"),
  ).filter((text) => text !== "{}");
  fc.assert(fc.property(args, fc.integer({ min: 1, max: 9 }), (text, size) => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: text } };
    const choices = [{ index: 0, message: { tool_calls: [call] }, finish_reason: "tool_calls" }];
    const { content } = convertedAnswer("chat", "messages", { choices });
    const deltas: JsonObject[] = [{ ...call, index: 0, function: { name: "f", arguments: "" } }];
    for (let at = 0; at < text.length; at += size) {
      deltas.push({ index: 0, function: { arguments: text.slice(at, at + size) } });
    }
    const frames = deltas.map((delta) => chunk({ tool_calls: [delta] }));
    const transcript = chatFrames([...frames, chunk({}, "tool_calls")]);
    const { message } = readMessagesStream(streamed("chat", "messages", transcript).text);
    assertEquals(message.content, content ?? null);
  }));
});

/** How servers write the first delta of a call and those that follow. */
const writings: readonly ((index: number, first: boolean) => JsonObject)[] = [
  (index, first) => first ? { index, id: `call_${index}` } : { index },
  (index, first) => first ? { id: `call_${index}` } : {},
  (index, _first) => ({ id: `call_${index}` }),
  (index, first) => first ? { index: 0, id: `call_${index}` } : { index: 0 },
  (_index, _first) => ({ index: 0 }),
  (_index, _first) => ({}),
];

Deno.test("calls one after another are the same calls, whatever the server says to tell them apart", () => {
  const name = fc.constantFrom("f", "g");
  const key = fc.string().filter((key) => key !== "__proto__");
  const input = fc.dictionary(key, fc.string(), { noNullPrototype: true });
  const calls = fc.array(fc.record({ name, input }, { noNullPrototype: true }), {
    minLength: 1,
    maxLength: 4,
  });
  const size = fc.integer({ min: 1, max: 9 });
  fc.assert(fc.property(calls, size, fc.constantFrom(...writings), (calls, size, writing) => {
    const deltas = calls.flatMap(({ name, input }, index) => {
      const text = JSON.stringify(input);
      const pieces: JsonObject[] = [];
      for (let at = 0; at < text.length; at += size) {
        pieces.push({
          ...writing(index, false),
          function: { arguments: text.slice(at, at + size) },
        });
      }
      return [{ ...writing(index, true), function: { name, arguments: "" } }, ...pieces];
    });
    const frames = deltas.map((delta) => chunk({ tool_calls: [delta] }));
    const transcript = chatFrames([...frames, chunk({}, "tool_calls")]);
    const { message } = readMessagesStream(streamed("chat", "messages", transcript).text);
    assert(Array.isArray(message.content));
    const blocks = message.content.filter(isJsonObject);
    assertEquals<Json>(blocks.map(({ name, input }) => ({ name, input })), calls);
  }));
});

Deno.test("any split of the bytes gives the same bytes", () => {
  fc.assert(
    fc.property(messagesAnswer, chatAnswer, sizes, (messages, chat, sizes) => {
      for (
        const [from, to, transcript] of [
          ["messages", "chat", messages.transcript],
          ["chat", "messages", chat.transcript],
        ] as const
      ) {
        const whole = streamed(from, to, transcript);
        const split = streamed(from, to, transcript, { sizes });
        assertEquals(split.text, whole.text);
        assertEquals(split.reading, whole.reading);
      }
    }),
    { numRuns: 200 },
  );
});
