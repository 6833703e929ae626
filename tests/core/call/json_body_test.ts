import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { parseJsonBody, withFields } from "../../../core/call/json_body.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";

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

Deno.test("withFields() changes what it is told and no other byte", () => {
  const change = fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  fc.assert(fc.property(bodies, change, (text, changes) => {
    const body = parseJsonBody(encode(text));
    const changed = withFields(body, changes as JsonObject);
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
  assertEquals(decode(withFields(parseJsonBody(encode("{ }")), { model: "m" })), '{ "model":"m"}');
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

Deno.test("parseJsonBody() names the field that is there twice", () => {
  assertThrows(() => parseJsonBody(encode('{"n":1,"n":2}')), GatewayError, '"n"');
});
