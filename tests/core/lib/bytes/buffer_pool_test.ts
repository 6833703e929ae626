import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  copyOf,
  encoded,
  maxPooledCopyBytes,
  pooledBufferBytes,
} from "../../../../core/lib/bytes/byte_parts.ts";

const piece = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.uint8Array({ minLength: maxPooledCopyBytes - 2, maxLength: maxPooledCopyBytes + 2 }),
);
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary-ascii", minLength: 600, maxLength: 800 }),
  fc.string({ unit: fc.constantFrom("ế", "x", "𝄞", "\ud800") }),
);

Deno.test("copies keep their bytes when others are copied or the original changes", () => {
  const kept: [copy: Uint8Array, expected: Uint8Array][] = [];
  fc.assert(fc.property(fc.array(fc.oneof(piece, text)), (pieces) => {
    for (const one of pieces) {
      if (typeof one === "string") {
        kept.push([encoded(one), new TextEncoder().encode(one)]);
        continue;
      }
      const lent = new Uint8Array([7, ...one, 9]);
      kept.push([copyOf(lent, 1, 1 + one.length), one]);
      lent.fill(0);
    }
  }));
  for (const [copy, expected] of kept) assertEquals(copy, expected);
});

Deno.test("a small copy never keeps more than a buffer in memory, a large one only itself", () => {
  for (let length = 1; length <= 2 * maxPooledCopyBytes; length += 97) {
    const copy = copyOf(new Uint8Array(length), 0, length);
    const keptBytes = copy.buffer.byteLength;
    assert(keptBytes <= Math.max(pooledBufferBytes, length));
    if (length > maxPooledCopyBytes) assertEquals(keptBytes, length);
  }
});
