/** Streams of the Web are converted as the pipe converts their bytes, and end whatever the upstream does. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { convertStream } from "../../../../core/wire/mod.ts";
import { chatAnswer, messagesAnswer } from "./arbitrary_answers.ts";
import { context } from "./converting.ts";
import { readMessagesStream } from "./stream_clients.ts";
import { chatFrames, chunk, streamed } from "./streaming.ts";

const hello = chatFrames([chunk({ content: "Hello" }), chunk({}, "stop")], false);
const done = "data: [DONE]\n\n";

/** A body of these pieces, which then ends unless `then` does otherwise. */
function bodyOf(
  pieces: readonly (string | Uint8Array)[],
  then: (controller: ReadableStreamDefaultController<Uint8Array>) => void = (it) => it.close(),
): { readonly stream: ReadableStream<Uint8Array>; readonly cancelled: unknown[] } {
  const cancelled: unknown[] = [];
  const waiting = pieces.values();
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value } = waiting.next();
      if (value === undefined) then(controller);
      else controller.enqueue(typeof value === "string" ? new TextEncoder().encode(value) : value);
    },
    cancel: (reason) => void cancelled.push(reason),
  }, { highWaterMark: 0 });
  return { stream, cancelled };
}

function convertedChat(stream: ReadableStream<Uint8Array>) {
  return convertStream("chat", "messages", stream, context, {});
}

function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  return Array.from(
    { length: Math.ceil(bytes.length / size) },
    (_, at) => bytes.subarray(at * size, (at + 1) * size),
  );
}

const size = fc.integer({ min: 1, max: 300 });

Deno.test("convertStream() gives the bytes of the pipe, for pieces of any size", async () => {
  await fc.assert(
    fc.asyncProperty(chatAnswer, messagesAnswer, size, async (chat, messages, size) => {
      const cases = [
        ["chat", "messages", chat.transcript],
        ["chat", "responses", chat.transcript],
        ["messages", "chat", messages.transcript],
      ] as const;
      for (const [from, to, transcript] of cases) {
        const upstream = bodyOf(cut(new TextEncoder().encode(transcript), size)).stream;
        const { body, reading } = convertStream(from, to, upstream, context, {});
        const whole = streamed(from, to, transcript);
        assertEquals(await new Response(body).text(), whole.text);
        assertEquals(reading, whole.reading);
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("the client's stream ends at the upstream's terminal event, and the upstream is stopped", async () => {
  const { stream, cancelled } = bodyOf([hello, done], () => {});
  const { body, reading } = convertedChat(stream);
  assertEquals(readMessagesStream(await new Response(body).text()).error, undefined);
  assertEquals([reading.state, cancelled.length], ["completed", 1]);
});

Deno.test("an upstream that breaks off, or sends no stream at all, is an error event for the client", async () => {
  const breaksOff = bodyOf([hello.slice(0, 90)]);
  const fails = bodyOf([hello], (controller) => controller.error(new TypeError("reset")));
  const sendsNoStream = bodyOf(["data: {nothing}\n\n", hello]);
  for (const { stream } of [breaksOff, fails, sendsNoStream]) {
    const { body } = convertedChat(stream);
    const { error } = readMessagesStream(await new Response(body).text());
    assertEquals(error?.["type"], "api_error");
  }
});

Deno.test("nothing is read before the client reads, and its leaving cancels the upstream", async () => {
  const { stream, cancelled } = bodyOf([hello], () => {});
  const { body, reading } = convertedChat(stream);
  const reader = body.getReader();
  assert(!reading.sawOutput);
  await reader.read();
  assert(reading.sawOutput);
  await reader.cancel("left");
  assertEquals(cancelled, ["left"]);
});

Deno.test("a client that leaves while it waits cancels the upstream", async () => {
  const { stream, cancelled } = bodyOf([], () => {});
  const reader = convertedChat(stream).body.getReader();
  const waiting = reader.read();
  await reader.cancel("left");
  assertEquals(cancelled, ["left"]);
  assertEquals((await waiting).done, true);
});

Deno.test("a stream of the client's own style is not converted", () => {
  assertThrows(() => convertStream("chat", "chat", bodyOf([]).stream, context, {}));
});
