/**
 * Every recorded stream converts, however its bytes are split, to what a strict client of every other style accepts,
 * and to the same answer as its content does in one piece.
 */
import { assert, assertEquals } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import { convertAnswer } from "../../core/wire/convert/convert.ts";
import { context, essence, readStream, readWhole } from "./clients.ts";
import { contentOf, convertStream } from "./converted_stream.ts";
import { cutBytes, describeRecordings, otherStyles, type Recording } from "./recordings.ts";

/** The token limit cut this recording inside the arguments of a call, so their full value is unknown. */
const cutInsideArguments = "messages/incomplete-tool-json-stream";

describeRecordings("recorded streams", (recordings) => {
  for (const recording of recordings) {
    const { name, style, stream } = recording;
    if (stream === undefined) continue;
    for (const to of otherStyles(style)) {
      Deno.test(`${name}: a strict ${to} client gets what the content gives in one piece`, () => {
        const { bytes, reading } = convertStream(style, to, [stream]);
        assertEquals(reading.state, "completed");
        const outcome = readStream(to, bytes);
        assert(outcome.kind === "answer", JSON.stringify(outcome));
        if (name === cutInsideArguments) {
          assert(/"(length|max_output_tokens|MAX_TOKENS)"/.test(JSON.stringify(outcome.answer)));
          return;
        }
        const whole = readWhole(to, convertAnswer(style, to, contentOf(recording), context, {}));
        assertEquals(essence(to, outcome.answer), essence(to, whole));
      });

      Deno.test(`${name}: a ${to} client gets the same bytes however they are split`, () => {
        const expected = convertStream(style, to, [stream]);
        const single = Array.from({ length: stream.length }, (_, i) => i);
        assertEquals(convertStream(style, to, cutBytes(stream, single)), expected);
        fc.assert(
          fc.property(fc.array(fc.nat(), { maxLength: 20 }), (places) => {
            assertEquals(convertStream(style, to, cutBytes(stream, places)), expected);
          }),
          { numRuns: 20 },
        );
      });

      Deno.test(`${name}: cut off anywhere, a ${to} client gets an error and no faked end`, () => {
        fc.assert(
          fc.property(fc.nat(stream.length - 1), (length) => {
            const { bytes, reading } = convertStream(style, to, [stream.slice(0, length)]);
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
