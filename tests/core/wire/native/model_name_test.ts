import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { ClientModel } from "../../../../core/wire/stream/client_model.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { chatStream, namedStream, pipeParts, pipeText } from "./piping.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const names = { clientModel: "premium-1", upstreamModel: "vendor-9" };

const chunk = (delta: object) => ({
  id: "c",
  model: "vendor-9-2026-08-06",
  choices: [{ index: 0, delta, finish_reason: null }],
});

const streams: Record<BodyStyle, string> = {
  chat: chatStream(
    chunk({ role: "assistant", content: '{"model":"vendor-9"}' }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '{"model":"vendor-9"}' } }] }),
    chunk({ model: "vendor-9" }),
    { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    "[DONE]",
  ),
  messages: namedStream(
    ["message_start", {
      message: { id: "m", model: "vendor-9", content: [], usage: { input_tokens: 3 } },
      model: "vendor-9",
    }],
    ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
    ["content_block_delta", {
      index: 0,
      delta: { type: "text_delta", text: '"model":"vendor-9"' },
    }],
    ["message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }],
    ["message_stop"],
  ),
  responses: namedStream(
    ["response.created", { response: { id: "r", model: "vendor-9", output: [] } }],
    ["response.output_text.delta", { delta: '"model":"vendor-9"', model: "vendor-9" }],
    ["response.completed", {
      response: {
        id: "r",
        output: [{ type: "function_call", arguments: '{"model":"vendor-9"}', model: "vendor-9" }],
        model: "vendor-9",
        status: "completed",
        usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
      },
    }],
  ),
};

/** How often each style's stream above names its model where the client reads it. */
const namings: Record<BodyStyle, readonly [string, number]> = {
  chat: ['"model":"vendor-9-2026-08-06"', 4],
  messages: ['"id":"m","model":"vendor-9"', 1],
  responses: ['"model":"vendor-9","output":[]', 1],
};

for (const style of ["chat", "messages", "responses"] as const) {
  Deno.test(`a native ${style} stream names the client's model, all else stays`, () => {
    const sent = streams[style];
    const [naming, times] = namings[style];
    assertEquals(sent.split(naming).length - 1, times);
    let expected = sent.replaceAll(naming, naming.replace(/vendor-9[-0-9]*/, "premium-1"));
    if (style === "responses") {
      expected = expected.replace(/"vendor-9","status"/, '"premium-1","status"');
    }
    for (const size of [1, 7, sent.length]) {
      const bytes = encoder.encode(sent);
      const parts = [];
      for (let at = 0; at < bytes.length; at += size) parts.push(bytes.subarray(at, at + size));
      const piped = pipeParts(style, parts, names);
      assertEquals(piped.passed + piped.ending, expected);
      assertEquals(piped.reading.state, "completed");
    }
    const same = pipeText(style, expected, names);
    assertEquals(same.passed + same.ending, expected);
  });
}

/** JSON text with white space anywhere, and letters of strings and names written as escapes now and then. */
function written(value: Json, chances: Iterator<number>): string {
  const chance = () => chances.next().value ?? 0;
  const space = () => ["", "", " ", "\t", " \t "][chance() % 5];
  const text = (string: string) =>
    JSON.stringify(string).replace(
      /[a-z]/g,
      (letter, at: number, literal: string) =>
        literal[at - 1] !== "\\" && chance() % 9 === 0
          ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
          : letter,
    );
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) {
    const elements = value.map((element) => `${space()}${written(element, chances)}${space()}`);
    return `[${elements.join(",")}]`;
  }
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(([name, member]) =>
      `${space()}${text(name)}${space()}:${space()}${written(member ?? null, chances)}${space()}`
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value);
}

function endless(numbers: readonly number[]): Iterator<number> {
  let at = 0;
  return { next: () => ({ done: false, value: numbers[at++ % numbers.length] ?? 0 }) };
}

const name = fc.constantFrom("vendor-9", "premium-1", 'a"b\\c', "mô hình", "", null, 7);
const nested: fc.Arbitrary<Json> = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 1.5, "model", '{"model":"vendor-9"}', "\\", '"'),
    fc.string(),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("model", "id", "response", "message", "x\\"), tie("json"), {
      maxKeys: 3,
    }),
  ),
})).json;

/** An object with `model` at any place among other members. */
const named = fc.tuple(
  fc.dictionary(fc.constantFrom("id", "output", "content", "é", "model2"), nested),
  fc.nat(5),
  fc.option(name, { nil: undefined }),
).map(([others, place, model]): JsonObject => {
  const members = Object.entries(others);
  if (model !== undefined) members.splice(Math.min(place, members.length), 0, ["model", model]);
  return Object.fromEntries(members);
});

function renamed(object: JsonObject): JsonObject {
  const { model } = object;
  return typeof model === "string" && model !== "" ? { ...object, model: "premium-1" } : object;
}

/** As a parser makes it: the generator makes objects without a prototype. */
function plain(object: JsonObject): unknown {
  return JSON.parse(JSON.stringify(object));
}

/** Both texts are the same but for one literal, or wholly. */
function assertOneLiteralDiffers(sent: string, got: string): void {
  if (sent === got) return;
  const literal = '"premium-1"';
  const isSplice = [...got.matchAll(new RegExp(literal, "g"))].some(({ index }) => {
    const tail = got.slice(index + literal.length);
    const rest = sent.slice(index);
    return sent.startsWith(got.slice(0, index)) && rest.endsWith(tail) &&
      /^"(?:[^"\\]|\\.)*"$/s.test(rest.slice(0, rest.length - tail.length));
  });
  assert(isSplice, `${sent}\n${got}`);
}

const events: Record<BodyStyle, (object: JsonObject) => { event?: string; body: JsonObject }> = {
  chat: (object) => ({
    body: { ...object, choices: [{ index: 0, delta: { model: "vendor-9" } }] },
  }),
  messages: (message) => ({
    event: "message_start",
    body: { model: "vendor-9", type: "message_start", message },
  }),
  responses: (response) => ({
    event: "response.in_progress",
    body: { type: "response.in_progress", model: "vendor-9", response },
  }),
};

for (const style of ["chat", "messages", "responses"] as const) {
  Deno.test(`property: in ${style} events only the one member changes, however it is written`, () => {
    fc.assert(
      fc.property(
        named,
        fc.array(fc.nat(50), { minLength: 1, maxLength: 40 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        (object, chances, cuts) => {
          const { event, body } = events[style](object);
          const json = written(body, endless(chances));
          const before = `${event === undefined ? "" : `event: ${event}\n`}data:`;
          const bytes = encoder.encode(`${before}${json}\n\n`);
          const at = [...new Set(cuts.map((cut) => cut % bytes.length))].sort((a, b) => a - b);
          const parts = [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
          const { passed } = pipeParts(style, parts, names);
          const got = passed.slice(before.length, -2);
          assertEquals(JSON.parse(got), plain(events[style](renamed(object)).body));
          assertOneLiteralDiffers(json, got);
        },
      ),
      { numRuns: 300 },
    );
  });
}

Deno.test("property: in whole answers only the top-level model changes", () => {
  fc.assert(
    fc.property(
      named,
      fc.array(fc.nat(50), { minLength: 1, maxLength: 40 }),
      fc.boolean(),
      (object, chances, marked) => {
        const sent = (marked ? "\ufeff" : "") + written(object, endless(chances));
        const got = new TextDecoder("utf-8", { ignoreBOM: true })
          .decode(ClientModel.of("premium-1").inAnswer(encoder.encode(sent)));
        assertEquals(JSON.parse(decoder.decode(encoder.encode(got))), plain(renamed(object)));
        assertOneLiteralDiffers(sent, got);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("every model member of an object that has it twice is renamed", () => {
  const twice = '{"model":"vendor-9","choices":[{"delta":{}}],"m\\u006fdel" : "vendor-9"}';
  const expected = '{"model":"premium-1","choices":[{"delta":{}}],"m\\u006fdel" : "premium-1"}';
  assertEquals(pipeText("chat", `data: ${twice}\n\n`, names).passed, `data: ${expected}\n\n`);
  const whole = ClientModel.of("premium-1").inAnswer(encoder.encode(twice));
  assertEquals(decoder.decode(whole), expected);
});

Deno.test("a model member in an event of several data lines is renamed in its line", () => {
  const sent = 'event: message_start\r\ndata: {"message":\r\ndata: {"id":"m",\r\n' +
    'data: "model":"vendor-9"}}\r\n\r\n';
  const { passed } = pipeText("messages", sent, names);
  assertEquals(passed, sent.replace("vendor-9", "premium-1"));
});

Deno.test("errors within a stream tell the client's name, not the provider's", () => {
  const error = {
    type: "invalid_request_error",
    message: "Model vendor-9-2026-08-06 (vendor-9) is no vendor-99",
  };
  const cases: [BodyStyle, string][] = [
    ["chat", chatStream({ error })],
    ["messages", namedStream(["error", { error }])],
    ["responses", namedStream(["response.failed", { response: { error, model: "vendor-9" } }])],
  ];
  for (const [style, sent] of cases) {
    const { ending, reading } = pipeText(style, sent, names);
    assertEquals(reading.error?.message, "Model premium-1 (premium-1) is no vendor-99");
    assert(ending.includes("Model premium-1 (premium-1)"), ending);
  }
});
