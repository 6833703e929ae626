/**
 * Random answers, streamed in random pieces with interleaved parallel calls, reach the client of every other
 * style in the same form as whole answers.
 */
import { assert, assertEquals } from "../support/assert.ts";
import * as fc from "../support/property.ts";
import type { ProviderStyle, StreamReading, Style } from "../../core/wire/contract/contract.ts";
import type { Answer } from "../../core/wire/conversation/mod.ts";
import { convertAnswer } from "../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../core/wire/convert/converting_pipe.ts";
import { dialectOf } from "../../core/wire/convert/dialects.ts";
import { noTokens } from "../../core/billing/tokens/token_bounds.ts";
import { arbitraryAnswer, eventsOfAnswer } from "../support/answer_events.ts";
import { concatBytes } from "../support/strict_client/strict_client.ts";
import { context, essence, readStream, readWhole } from "./clients.ts";
import { cutBytes, otherStyles, styles } from "./recordings.ts";
import { converseAnswer, converseStream } from "./random_converse.ts";
import { arbitraryHabits, chatStream } from "./random_chat_stream.ts";

const pieces = fc.array(fc.nat(30), { maxLength: 4 });
const choices = fc.array(fc.nat(3), { maxLength: 8 });
const places = fc.array(fc.nat(), { maxLength: 12 });

/** Every upstream that counts reports its counts; the billing tests cover the rest. */
const counted: fc.Arbitrary<Answer> = arbitraryAnswer.map((answer) => ({
  ...answer,
  usage: answer.usage ?? { ...noTokens, input: 5, output: 100 },
}));

/**
 * A whole Chat answer has one place for each kind, so only this order exists in both of its forms. Its plain
 * text field does not show where one of several reasonings ends.
 */
function inChatForm(answer: Answer): Answer {
  const order = ["reasoning", "text", "tool_call"];
  const blocks = answer.blocks.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type))
    .filter((block) => block.type !== "reasoning" || block.text !== "")
    .filter((block, i) => block.type !== "reasoning" || i === 0);
  return { ...answer, blocks };
}

/** Only Messages hides a thought behind its proof. */
function shown(answer: Answer): Answer {
  const blocks = answer.blocks.filter((block) =>
    block.type !== "reasoning" || block.proof?.kind !== "redacted"
  );
  return { ...answer, blocks };
}

function convert(
  from: ProviderStyle,
  to: Style,
  chunks: readonly Uint8Array[],
): { readonly bytes: Uint8Array; readonly reading: StreamReading } {
  const pipe = createConvertingPipe(from, to, context, {});
  const out: Uint8Array[] = [];
  for (const chunk of chunks) out.push(pipe.push(chunk));
  out.push(pipe.end());
  return { bytes: concatBytes(out), reading: pipe.reading };
}

for (const from of styles) {
  for (const to of otherStyles(from)) {
    Deno.test(`a random ${from} stream means to a ${to} client what the whole answer means`, () => {
      fc.assert(
        fc.property(counted, pieces, choices, places, (drawn, cuts, picks, at) => {
          const told = from === "messages" ? drawn : shown(drawn);
          const answer = from === "chat" ? inChatForm(told) : told;
          const encoder = dialectOf(from).createStreamEncoder(context, {});
          const text = eventsOfAnswer(answer, cuts, picks).map((event) => encoder.encode(event));
          const upstream = new TextEncoder().encode(text.join(""));
          const { bytes, reading } = convert(from, to, cutBytes(upstream, at));
          const outcome = readStream(to, bytes);
          assert(outcome.kind === "answer", JSON.stringify(outcome));
          const sent = dialectOf(from).encodeAnswer(answer, context, {});
          const whole = readWhole(to, convertAnswer(from, to, sent, context, {}));
          assertEquals(essence(to, outcome.answer), essence(to, whole));
          assertEquals(reading.usage?.output, answer.usage?.output);
        }),
        { numRuns: 200 },
      );
    });
  }
}

for (const to of styles) {
  Deno.test(`a random Converse stream means to a ${to} client what the whole answer means`, () => {
    fc.assert(
      fc.property(counted, pieces, choices, places, (answer, cuts, picks, at) => {
        const events = eventsOfAnswer(answer, cuts, picks);
        const upstream = new TextEncoder().encode(converseStream(events));
        const { bytes, reading } = convert("converse", to, cutBytes(upstream, at));
        const outcome = readStream(to, bytes);
        assert(outcome.kind === "answer", JSON.stringify(outcome));
        const whole = readWhole(
          to,
          convertAnswer("converse", to, converseAnswer(answer), context, {}),
        );
        assertEquals(essence(to, outcome.answer), essence(to, whole));
        assertEquals(reading.usage?.output, answer.usage?.output);
        assertEquals(reading.usage?.cacheWrite, answer.usage?.cacheWrite);
      }),
      { numRuns: 300 },
    );
  });

  Deno.test(`a Converse stream that is cut anywhere is an error to a ${to} client`, () => {
    fc.assert(
      fc.property(counted, pieces, fc.nat(), (answer, cuts, length) => {
        const text = converseStream(eventsOfAnswer(answer, cuts, []));
        const stopAt = text.indexOf("event: messageStop");
        const bytes = new TextEncoder().encode(text.slice(0, length % (stopAt + 1)));
        const outcome = readStream(to, convert("converse", to, [bytes]).bytes);
        assertEquals(outcome.kind, "error");
      }),
      { numRuns: 100 },
    );
  });
}

for (const to of otherStyles("chat")) {
  Deno.test(`a Chat stream with any mix of odd habits means the same to a ${to} client`, () => {
    fc.assert(
      fc.property(counted, arbitraryHabits, pieces, places, (answer, habits, cuts, at) => {
        const { stream, whole } = chatStream(answer, habits, cuts);
        const { bytes, reading } = convert("chat", to, cutBytes(stream, at));
        const outcome = readStream(to, bytes);
        assert(outcome.kind === "answer", JSON.stringify(outcome));
        const expected = readWhole(to, convertAnswer("chat", to, whole, context, {}));
        assertEquals(essence(to, outcome.answer), essence(to, expected));
        assertEquals(reading.usage?.output, answer.usage?.output);
      }),
      { numRuns: 400 },
    );
  });
}
