/**
 * Every recorded stream converts, however its bytes are split, to what a strict client of every other style accepts,
 * and to the same answer as its content does in one piece.
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { StreamReading, Style } from "../../core/dialects/contract.ts";
import { convertAnswer } from "../../core/dialects/convert.ts";
import { createConvertingPipe } from "../../core/dialects/converting_pipe.ts";
import type { JsonObject } from "../../core/json.ts";
import { concatBytes } from "../support/strict_client.ts";
import { context, essence, readStream, readWhole } from "./clients.ts";
import { wholeChatAnswer } from "./lenient_chat.ts";
import { cutBytes, describeRecordings, otherStyles, type Recording } from "./recordings.ts";

/** The cap on tokens cut this one inside the arguments of a call: what they would have been nobody knows. */
const cutInsideArguments = "messages/incomplete-tool-json-stream";

interface Converted {
  readonly bytes: Uint8Array;
  readonly reading: StreamReading;
}

function convert(from: Style, to: Style, chunks: readonly Uint8Array[]): Converted {
  const pipe = createConvertingPipe(from, to, context, {});
  const out: Uint8Array[] = [];
  for (const chunk of chunks) {
    // The owner of the bytes may reuse them: what the pipe keeps must be its own.
    const lent = chunk.slice();
    out.push(pipe.push(lent));
    lent.fill(0);
    if (pipe.reading.state !== "open") break;
  }
  out.push(pipe.end());
  return { bytes: concatBytes(out), reading: pipe.reading };
}

/** The content of a recorded stream as the whole answer of its own style. */
function contentOf({ style, stream }: Recording): JsonObject {
  assert(stream !== undefined);
  if (style === "chat") return wholeChatAnswer(stream);
  const outcome = readStream(style, stream);
  assert(outcome.kind === "answer");
  return outcome.answer;
}

describeRecordings("recorded streams", (recordings) => {
  for (const recording of recordings) {
    const { name, style, stream } = recording;
    if (stream === undefined) continue;
    for (const to of otherStyles(style)) {
      Deno.test(`${name}: a strict ${to} client gets what the content gives in one piece`, () => {
        const { bytes, reading } = convert(style, to, [stream]);
        assertEquals(reading.state, "completed");
        const outcome = readStream(to, bytes);
        assert(outcome.kind === "answer", JSON.stringify(outcome));
        if (name === cutInsideArguments) {
          assert(/"(length|max_output_tokens)"/.test(JSON.stringify(outcome.answer)));
          return;
        }
        const whole = readWhole(to, convertAnswer(style, to, contentOf(recording), context, {}));
        assertEquals(essence(to, outcome.answer), essence(to, whole));
      });

      Deno.test(`${name}: a ${to} client gets the same bytes however they are split`, () => {
        const expected = convert(style, to, [stream]);
        const single = Array.from({ length: stream.length }, (_, i) => i);
        assertEquals(convert(style, to, cutBytes(stream, single)), expected);
        fc.assert(
          fc.property(fc.array(fc.nat(), { maxLength: 20 }), (places) => {
            assertEquals(convert(style, to, cutBytes(stream, places)), expected);
          }),
          { numRuns: 20 },
        );
      });

      Deno.test(`${name}: cut off anywhere, a ${to} client gets an error and no faked end`, () => {
        fc.assert(
          fc.property(fc.nat(stream.length - 1), (length) => {
            const { bytes, reading } = convert(style, to, [stream.slice(0, length)]);
            const outcome = readStream(to, bytes);
            assertEquals(outcome.kind, reading.state === "completed" ? "answer" : "error");
            if (reading.state === "completed") assert(isWholeWithout(recording, length));
          }),
          { numRuns: 30 },
        );
      });
    }
  }
});

/** Chat servers may leave `[DONE]` out, so a stream that lost only that is whole. */
function isWholeWithout({ style, stream }: Recording, length: number): boolean {
  const text = new TextDecoder().decode(stream?.slice(0, length));
  if (style === "chat") return /"finish_reason": ?"[a-z_]+"/.test(text);
  return /"(message_stop|response\.(completed|incomplete))"/.test(text);
}
