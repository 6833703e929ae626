import { assert, assertEquals, assertNotEquals } from "./assert.ts";
import type { Json } from "../../core/lib/json/json.ts";
import {
  chosen,
  framesOf,
  jsonMutations,
  MutationTally,
  oddName,
  oddNumber,
  oddText,
  streamMutations,
  streamText,
  textMutations,
} from "./mutations.ts";
import { seededRandom } from "./random.ts";

const value: Json = { role: "user", parts: [{ text: "Hello there" }, { n: 1 }], isLast: true };

Deno.test("each mutation of a value makes another one, and leaves the value as it is", () => {
  const before = JSON.stringify(value);
  const made = jsonMutations(value).map(({ apply }) => JSON.stringify(apply()));
  assertEquals(JSON.stringify(value), before);
  for (const text of made) assertNotEquals(text, before);
  for (
    const expected of [
      { role: oddName, parts: [{ text: "Hello there" }, { n: 1 }], isLast: true },
      { role: "user", parts: [{ n: 1 }], isLast: true },
      { role: "user", parts: [{ n: 1 }, { text: "Hello there" }], isLast: true },
      { role: "user", parts: [{ text: oddNumber }, { n: 1 }], isLast: true },
      { role: "user", parts: [{ text: "Hello there" }, { n: -2 }], isLast: true },
      { role: "user", parts: [{ text: "Hello there" }, { n: 1 }], is_last: true },
      { role: "user", parts: [], isLast: true },
      { parts: [{ text: "Hello there" }, { n: 1 }], isLast: true },
    ]
  ) assert(made.includes(JSON.stringify(expected)), JSON.stringify(expected));
  assert(made.some((text) => text.includes(oddText)));
});

Deno.test("the places of mutations name what they change", () => {
  const places = jsonMutations(value).map(({ kind, at }) => `${kind} ${at}`);
  assertEquals(new Set(places).size, places.length);
  assert(places.includes("emptied parts.0.text: no text"), places.join("\n"));
});

Deno.test("the text of a value is cut, doubled and followed by more", () => {
  const texts = textMutations('{"a":1}').map(({ apply }) => apply());
  for (const text of ["", '{"a', '{"a":1', '{"a":1}{"a":1}']) assert(texts.includes(text), text);
});

Deno.test("a stream is mutated in its order, its bytes and the JSON of its events", () => {
  const text =
    'event: a\r\ndata: {"n":1}\r\n\r\n: a comment\n\ndata: {"text":"x y"}\n\ndata: [DONE]\n\n';
  const frames = framesOf(text);
  assertEquals(frames, [
    { event: "a", data: '{"n":1}' },
    { event: undefined, data: '{"text":"x y"}' },
    { event: undefined, data: "[DONE]" },
  ]);
  const whole = streamText(frames);
  assertEquals(framesOf(whole), frames);
  const made = new Set(streamMutations(frames).map(({ apply }) => apply()));
  const [first = frames[0], ...rest] = frames;
  assert(first !== undefined);
  for (
    const expected of [
      streamText(rest),
      streamText([first, ...frames]),
      streamText([...rest.slice(0, 0), ...rest.slice(0, 1), first, ...rest.slice(1)]),
      whole.slice(0, whole.indexOf("\n\n") + 1),
      whole.replace('"x y"', String(oddNumber)),
    ]
  ) assert(made.has(expected), expected);
});

Deno.test("cases are chosen by their random numbers, each once", () => {
  const cases = Array.from({ length: 50 }, (_, i) => i);
  const some = chosen(cases, 20, seededRandom(7));
  assertEquals(new Set(some).size, 20);
  assertEquals(some, chosen(cases, 20, seededRandom(7)));
  assertNotEquals(some, chosen(cases, 20, seededRandom(8)));
  assertEquals(chosen(cases, 60, seededRandom(7)), cases);
});

Deno.test("a tally counts what came of the cases of each kind", () => {
  const tally = new MutationTally();
  tally.add("deleted", "failed");
  tally.add("cut", "same");
  tally.add("deleted", "failed");
  assertEquals(tally.lines(), ["cut: 1 same", "deleted: 2 failed"]);
  assertEquals(tally.total, 3);
});
