import { deepStrictEqual } from "node:assert/strict";
import * as fc from "./property.ts";
import { assert, assertEquals } from "./assert.ts";
import { isDeepEqual } from "./portable_assert.ts";

function isEqualOnNode(one: unknown, other: unknown): boolean {
  try {
    deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withNullPrototype: true,
  withSparseArray: true,
});

Deno.test("portable assertions take for equal what node:assert takes for equal", () => {
  fc.assert(fc.property(anything, anything, (one, other) => {
    assertEquals(isDeepEqual(one, other), isEqualOnNode(one, other));
  }));
  fc.assert(fc.property(fc.clone(anything, 2), ([one, other]) => {
    assertEquals(isDeepEqual(one, other), isEqualOnNode(one, other));
    assert(isDeepEqual(one, other));
  }));
});

Deno.test("portable assertions tell near values apart", () => {
  const pairs: [unknown, unknown][] = [
    [0, -0],
    [1, "1"],
    [null, undefined],
    [{}, []],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [[1, 2], [1]],
    [[undefined], [,]], // deno-lint-ignore-line no-sparse-arrays
    [new Uint8Array([1]), new Uint8Array([2])],
    [new Uint8Array([1]), [1]],
    [new Map([[1, { a: 1 }]]), new Map([[1, { a: 2 }]])],
    [new Set([{ a: 1 }]), new Set([{ a: 2 }])],
    [new Error("a"), new Error("b")],
    [new Error("a"), new TypeError("a")],
    [/a/g, /a/i],
    [Object.create(null), {}],
    [new Date(1), new Date(2)],
  ];
  for (const [one, other] of pairs) {
    assert(!isEqualOnNode(one, other));
    assert(!isDeepEqual(one, other));
  }
});
