import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import {
  exactNumber,
  isExactNumber,
  portableExactNumbers,
  stringifyExactly,
} from "../../../../core/lib/runtime/built_ins.ts";

const numberText = fc.oneof(
  fc.bigInt().map(String),
  fc.constantFrom("1.0", "-0", "1e400", "1E+2", "0.10", "12345678901234567890.5e-7"),
);

/** Returns a value with numbers in lists and objects, and texts that look like numbers. */
function written(create: (text: string) => unknown, texts: readonly string[]): unknown {
  return { list: texts.map(create), inner: { number: create(texts[0] ?? "0"), text: texts[0] } };
}

Deno.test("portable exact numbers are written as the runtime's own", () => {
  fc.assert(fc.property(fc.array(numberText), (texts) => {
    assertEquals(
      portableExactNumbers.stringify(written(portableExactNumbers.create, texts)),
      stringifyExactly(written(exactNumber, texts)),
    );
  }));
});

Deno.test("values without exact numbers are written as JSON.stringify() writes them", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => {
    assertEquals(portableExactNumbers.stringify(value), JSON.stringify(value));
    assertEquals(stringifyExactly(value), JSON.stringify(value));
  }));
});

Deno.test("text inside text keeps its numbers", () => {
  for (const stringify of [stringifyExactly, portableExactNumbers.stringify]) {
    const create = stringify === stringifyExactly ? exactNumber : portableExactNumbers.create;
    const inner = stringify({ id: create("12345678901234567890") });
    assertEquals(
      stringify({ arguments: inner }),
      '{"arguments":"{\\"id\\":12345678901234567890}"}',
    );
  }
});

Deno.test("an exact number differs from an object with the same property", () => {
  assert(isExactNumber(exactNumber("1e400")));
  assert(!isExactNumber({ rawJSON: "1e400" }));
  assert(portableExactNumbers.has(portableExactNumbers.create("1e400")));
  for (const other of [{ rawJSON: "1" }, 1, "1", null, undefined, [1]]) {
    assert(!portableExactNumbers.has(other));
  }
});

Deno.test("an exact number accepts only a JSON number", () => {
  for (const text of ["", "01", "1.", ".5", "+1", "1e", "NaN", '"1"', "true", "1 ", "{}", "1,2"]) {
    assertThrows(() => exactNumber(text), SyntaxError);
  }
});

Deno.test("JSON.stringify() never writes another value for a portable exact number", () => {
  const number = portableExactNumbers.create("12345678901234567890");
  assertThrows(() => JSON.stringify([number]), TypeError, "stringifyExactly");
  portableExactNumbers.stringify([number]);
  assertThrows(() => JSON.stringify([number]), TypeError, "stringifyExactly");
});
