/** A stream converts to what the whole answer of the same content converts to, however it is split and mixed. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject } from "../../../../core/json.ts";
import { readAnswer } from "../../../../core/dialects/mod.ts";
import { chatAnswer, messagesAnswer } from "./arbitrary_answers.ts";
import { convertedAnswer } from "./converting.ts";
import { joinedDetails, readChatStream, readMessagesStream } from "./stream_clients.ts";
import { streamed } from "./streaming.ts";

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
