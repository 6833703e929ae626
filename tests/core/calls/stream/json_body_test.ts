import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { joined, piecesOf } from "../../../../core/lib/bytes/byte_parts.ts";
import { parseJsonBody, withFields } from "../../../../core/calls/body/json_body.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { maxMessages } from "../../../../core/calls/request/chat_request.ts";
import {
  isExactNumber,
  isJsonObject,
  type Json,
  type JsonObject,
} from "../../../../core/lib/json/json.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Bodies as strangers write them: any names, any nesting, any white space. */
const names = fc.string().filter((name) => name !== "N"); // refused by name, see tests/security
const bodies = fc.dictionary(names, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 8 })
  .chain((value) =>
    fc.constantFrom(0, 1, 2, "\t", " \n").map((space) => JSON.stringify(value, null, space))
  );

Deno.test("parseJsonBody() finds every top-level field where it lies, whatever is nested in it", () => {
  fc.assert(fc.property(bodies, (text) => {
    const bytes = encode(text);
    const body = parseJsonBody(bytes);
    assertEquals(new Set(body.fields.keys()), new Set(Object.keys(body.value)));
    for (const [name, { start, end }] of body.fields) {
      assertEquals(JSON.parse(decode(bytes.subarray(start, end))), body.value[name]);
    }
  }));
});

/** The same body with a field of 40 KB, which makes it a large one. */
function padded(text: string, where: string): string {
  const field = `"padding of this test":"${"x".repeat(40_000)}"`;
  const inner = text.slice(text.indexOf("{") + 1, text.lastIndexOf("}"));
  const isEmpty = inner.trim() === "";
  if (where === "none") return text;
  if (where === "first") return `{${field}${isEmpty ? "" : ","}${inner}}`;
  return `{${inner}${isEmpty ? "" : ","}${field}}`;
}

Deno.test("withFields() changes the given fields and no other byte", () => {
  const change = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  const place = fc.constantFrom("none", "first", "last");
  fc.assert(fc.property(bodies, place, change, (small, padding, changes) => {
    const text = padded(small, padding);
    const body = parseJsonBody(encode(text));
    const pieces = withFields(body, changes as JsonObject);
    if (padding !== "none" && Object.keys(changes).length > 0) {
      const views = piecesOf(pieces).filter(({ buffer }) => buffer === body.bytes.buffer);
      assertEquals(views.length, 1, "what is large and stays is not copied");
      assert(piecesOf(pieces).length <= 3);
    }
    const changed = joined(pieces);
    assertEquals(JSON.parse(decode(changed)), {
      ...body.value,
      ...JSON.parse(JSON.stringify(changes)),
    });
    // Taking the same fields back gives the very same values again, byte for byte, for all that was not touched.
    const again = parseJsonBody(changed);
    for (const [name, span] of body.fields) {
      if (name in changes) continue;
      const moved = again.fields.get(name);
      assert(moved !== undefined);
      assertEquals(
        decode(changed.subarray(moved.start, moved.end)),
        text.length === body.bytes.length
          ? text.slice(span.start, span.end)
          : decode(body.bytes.subarray(span.start, span.end)),
      );
    }
  }));
});

Deno.test("withFields() returns the same bytes when nothing changes", () => {
  const body = parseJsonBody(encode('{"a":1}'));
  assertEquals(withFields(body, {}), body.bytes);
});

Deno.test("withFields() adds to an empty object", () => {
  assertEquals(
    decode(joined(withFields(parseJsonBody(encode("{ }")), { model: "m" }))),
    '{ "model":"m"}',
  );
});

for (
  const [name, bytes] of [
    ["text that is no JSON", encode("{")],
    ["a list", encode("[]")],
    ["a bare word", encode("null")],
    ["invalid UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ["a field that is there twice", encode('{"model":"a","model":"b"}')],
    ["a field that is there twice behind an escape", encode('{"model":"a","mod\\u0065l":"b"}')],
    ["nesting beyond the limit", encode(`{"a":${"[".repeat(129)}${"]".repeat(129)}}`)],
    ["very deep nesting", encode(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)],
  ] as const
) {
  Deno.test(`parseJsonBody() refuses ${name} as invalid_json`, () => {
    let code: string | undefined;
    try {
      parseJsonBody(bytes);
    } catch (error) {
      assert(error instanceof GatewayError, String(error));
      code = error.code;
    }
    assertEquals(code, "invalid_json");
  });
}

/** Bodies that cost far more to parse than to send, and the bound that the error must name. */
const costly: readonly [name: string, text: string, bound: string][] = [
  ["brackets without an end", `{"a":${"[".repeat(20_000_000)}`, "128 levels"],
  ["objects without an end", `{"a":${'{"":'.repeat(4_000_000)}`, "128 levels"],
  ["empty objects", `{"a":[${"{},".repeat(6_000_000)}{}]}`, "500000 values"],
  ["empty lists", `{"a":[${"[],".repeat(6_000_000)}[]]}`, "500000 values"],
  ["numbers", `{"a":[${"1,".repeat(600_000)}1]}`, "500000 values"],
  [
    "empty strings behind a letter of two bytes",
    `{"é":[${'"",'.repeat(600_000)}1]}`,
    "500000 values",
  ],
  ["one name again and again", `{"a":[${'{"":1},'.repeat(600_000)}1]}`, "500000 values"],
  ["names", `{"a":{${manyNames(60_000)}}}`, "50000 different names"],
  ["names behind a letter of two bytes", `{"é":{${manyNames(60_000)}}}`, "50000 different names"],
  ["names of fields at the top", `{${manyNames(60_000)}}`, "50000 different names"],
];

function manyNames(count: number): string {
  return Array.from({ length: count }, (_, i) => `"name${i}" : 1`).join(",");
}

for (const [name, text, bound] of costly) {
  Deno.test(`parseJsonBody() refuses too much of something before it is parsed: ${name}`, () => {
    const bytes = encode(text);
    const { parse } = JSON;
    JSON.parse = (part: string) => {
      if (part.length > 100) throw new Error("parsed");
      return parse(part);
    };
    let refusal: unknown;
    try {
      parseJsonBody(bytes);
    } catch (error) {
      refusal = error;
    } finally {
      JSON.parse = parse;
    }
    assert(refusal instanceof GatewayError, String(refusal));
    assertEquals(refusal.code, "invalid_json");
    assert(refusal.message.includes(bound), refusal.message);
  });
}

Deno.test("parseJsonBody() takes what is large and honest", () => {
  const message = { role: "user", content: 'He said: "[[[[{{{{,,,,", and so on' };
  const messages = Array.from({ length: maxMessages }, () => message);
  const properties = Object.fromEntries(
    Array.from({ length: 20 }, (_, i) => [`argument_${i}`, { type: "string", enum: ["a", "b"] }]),
  );
  const tools = Array.from({ length: 1_000 }, (_, i) => ({
    name: `tool_${i}`,
    input_schema: {
      type: "object",
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, schema]) => [`${name}_of_${i}`, schema]),
      ),
    },
  }));
  for (const value of [{ messages }, { tools }, { text: "[{".repeat(5_000_000) }]) {
    assertEquals(
      Object.keys(parseJsonBody(encode(JSON.stringify(value))).value),
      Object.keys(value),
    );
  }
});

/** What the engine makes of the numbers that are kept as they were written. */
function rounded(value: Json | undefined): unknown {
  if (isExactNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(rounded);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]));
}

Deno.test("parseJsonBody() refuses what the engine refuses, and nothing else, wherever a body is broken", () => {
  const piece = fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", "é", "1", "true", " ", "");
  const cut = fc.record({ at: fc.nat(), drop: fc.nat({ max: 3 }), put: piece });
  fc.assert(fc.property(bodies, fc.array(cut, { maxLength: 3 }), (whole, cuts) => {
    let text = whole;
    for (const { at, drop, put } of cuts) {
      const place = at % (text.length + 1);
      text = text.slice(0, place) + put + text.slice(place + drop);
    }
    let expected: unknown;
    try {
      expected = JSON.parse(text);
    } catch {
      expected = undefined;
    }
    const isObject = typeof expected === "object" && expected !== null && !Array.isArray(expected);
    try {
      assertEquals(rounded(parseJsonBody(encode(text)).value), expected, text);
      assert(isObject, text);
    } catch (error) {
      assert(error instanceof GatewayError, `${text}: ${error}`);
      assert(!isObject || /is there twice|is named/.test(error.message), `${text}: ${error}`);
    }
  }));
});

Deno.test("parseJsonBody() names the field that is there twice", () => {
  assertThrows(() => parseJsonBody(encode('{"n":1,"n":2}')), GatewayError, '"n"');
});

Deno.test("mayHold() finds every text at the beginning of a string, in small and large bodies", () => {
  const mark = "ugw1";
  const plain = fc.array(
    fc.tuple(fc.string(), fc.nat({ max: 400 })).map(([text, times]) => `é${text}`.repeat(times)),
    { maxLength: 12 },
  ).filter((texts) => !JSON.stringify(texts).includes(mark));
  fc.assert(fc.property(plain, fc.nat(), fc.nat({ max: 8 }), (texts, place, before) => {
    const bodyOf = (list: readonly string[]) =>
      parseJsonBody(encode(JSON.stringify({ messages: list.map((content) => ({ content })) })));
    assert(!bodyOf(texts).mayHold(mark));
    const at = place % (texts.length + 1);
    const marked = `${"m".repeat(before)}${mark}${"x".repeat(place % 3_000)}`;
    assert(bodyOf(texts.toSpliced(at, 0, marked)).mayHold(mark));
  }));
});
