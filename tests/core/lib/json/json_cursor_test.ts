import { assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { JsonCursor, jsonKey, JsonScanError } from "../../../../core/lib/json/json_cursor.ts";

const encoder = new TextEncoder();

function at(text: string): JsonCursor {
  const bytes = encoder.encode(text);
  const cursor = new JsonCursor();
  cursor.reset(bytes, 0, bytes.length);
  return cursor;
}

/** Returns the members of an object by name, each value parsed from its own bytes. */
function members(text: string, names: readonly string[]): Record<string, unknown> {
  const cursor = at(text);
  const found: Record<string, unknown> = {};
  cursor.enterObject();
  while (cursor.nextMember()) {
    const name = names.find((name) => cursor.keyIs(jsonKey(name)));
    if (name === undefined) cursor.skip();
    else Object.defineProperty(found, name, { value: cursor.takeValue(), enumerable: true });
  }
  return found;
}

Deno.test("a name inside a string or deeper down is not a member", () => {
  assertEquals(
    members('{"a":"\\"usage\\":{}","b":{"usage":1},"c":["usage"],"usage":2,"d":"usage"}', [
      "usage",
    ]),
    { usage: 2 },
  );
});

Deno.test("white space is accepted anywhere between tokens", () => {
  assertEquals(
    members(' { "a" : [ 1 , { } ] ,\n\t"b" : null , "c" : "x" } ', ["a", "b", "c"]),
    { a: [1, {}], b: null, c: "x" },
  );
});

Deno.test("property: every member of every object is found with its value", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), fc.jsonValue(), { maxKeys: 6 }),
      fc.constantFrom(undefined, 1, 3),
      (object, indent) => {
        const text = JSON.stringify(object, undefined, indent);
        assertEquals(
          JSON.stringify(members(text, Object.keys(object))),
          JSON.stringify(object),
        );
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("property: the length of a string is that of its UTF-8 text, however it is escaped", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.boolean(), (text, escapeAll) => {
      const literal = escapeAll
        ? `"${
          [...Array(text.length).keys()].map((i) =>
            `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`
          ).join("")
        }"`
        : JSON.stringify(text);
      const cursor = at(`{"t":${literal}}`);
      cursor.enterObject();
      cursor.nextMember();
      assertEquals(cursor.takeTextLength(), encoder.encode(text).length, literal);
    }),
    { numRuns: 300 },
  );
});

Deno.test("the length of a value that is not a string is 0", () => {
  for (const value of ["null", "12", "{}", "[1]", "true"]) {
    const cursor = at(`[${value}]`);
    cursor.enterArray();
    cursor.nextElement();
    assertEquals(cursor.takeTextLength(), 0, value);
    assertEquals(cursor.nextElement(), false, value);
  }
});

Deno.test("bytes that end too early are refused without reading beyond them", () => {
  const text = '{"a":{"b":"c\\"d"},"e":[1,2],"f":true}';
  for (let length = 1; length < text.length; length++) {
    assertThrows(() => members(text.slice(0, length), []), JsonScanError);
  }
  assertEquals(members(text, []), {});
});
