/** A stream converts to what the whole answer of the same content converts to, however it is split and mixed. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../../../core/json.ts";
import { readAnswer } from "../../../../core/dialects/mod.ts";
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
      assertEquals(plain(stream.message), plain(choice.message));
    }),
    { numRuns: 500 },
  );
});

function plain(message: JsonObject): JsonObject {
  const { annotations: _, reasoning_details, ...rest } = message;
  return { ...rest, reasoning_details: joinedDetails(reasoning_details) };
}

Deno.test("Chat streams equal Chat answers for a Messages client, blocks strictly in sequence", () => {
  fc.assert(
    fc.property(chatAnswer, sizes, ({ body, transcript }, sizes) => {
      const whole = convertedAnswer("chat", "messages", body);
      const { text, reading } = streamed("chat", "messages", transcript, { sizes });
      const { message } = readMessagesStream(text);
      const { service_tier: _, ...usage } = whole.usage as JsonObject;
      assertEquals(message, { ...whole, usage });
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
