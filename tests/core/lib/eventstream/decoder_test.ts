/** The decoder against the encoder of the vendor's own SDK. */
import { EventStreamCodec } from "@smithy/eventstream-codec";
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { crc32 } from "../../../../core/lib/hash/crc32.ts";
import { EventStreamDecoder, EventStreamFault } from "../../../../core/lib/eventstream/decoder.ts";

const codec = new EventStreamCodec(
  (bytes) => typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes),
  (text) => new TextEncoder().encode(text),
);

const text = (value: string) => ({ type: "string" as const, value });

function encode(headers: Record<string, string>, body: Uint8Array): Uint8Array {
  return codec.encode({
    headers: {
      ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, text(value)])),
      flag: { type: "boolean", value: true },
      when: { type: "timestamp", value: new Date(0) },
      raw: { type: "binary", value: new Uint8Array([1, 2, 3]) },
      small: { type: "byte", value: 1 },
      count: { type: "integer", value: 7 },
      id: { type: "uuid", value: "00000000-0000-0000-0000-000000000000" },
    },
    body,
  });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

Deno.test("frames of the vendor's encoder are read, cut anywhere", () => {
  const frame = fc.record({
    headers: fc.dictionary(fc.stringMatching(/^:?[a-z-]{1,20}$/), fc.string({ maxLength: 50 }), {
      maxKeys: 4,
      noNullPrototype: true,
    }).filter((headers) =>
      !["flag", "when", "raw", "small", "count", "id"].some((name) => name in headers)
    ),
    body: fc.uint8Array({ maxLength: 6000 }),
  });
  fc.assert(
    fc.property(
      fc.array(frame, { minLength: 1, maxLength: 5 }),
      fc.array(fc.nat(8000), { maxLength: 8 }),
      (frames, cuts) => {
        const bytes = joined(frames.map(({ headers, body }) => encode(headers, body)));
        const places = [
          0,
          ...cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b),
          bytes.length,
        ];
        const decoder = new EventStreamDecoder();
        const read = places.slice(1).flatMap((end, i) => decoder.push(bytes.slice(places[i], end)));
        assertEquals(
          read.map(({ headers, payload }) => [[...headers].sort(), [...payload]]),
          frames.map(({ headers, body }) => [Object.entries(headers).sort(), [...body]]),
        );
        assert(!decoder.isWithinFrame);
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("a changed byte anywhere is a fault", () => {
  const bytes = encode({ ":message-type": "event" }, new TextEncoder().encode("payload"));
  for (let at = 0; at < bytes.length; at++) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    assertThrows(() => new EventStreamDecoder().push(damaged), EventStreamFault);
  }
});

Deno.test("a frame beyond the bound is refused before its bytes are waited for", () => {
  const prelude = new DataView(new ArrayBuffer(12));
  prelude.setUint32(0, 64 * 1024 * 1024);
  prelude.setUint32(8, crc32(new Uint8Array(prelude.buffer, 0, 8)));
  const bytes = new Uint8Array(prelude.buffer);
  assertThrows(() => new EventStreamDecoder().push(bytes), EventStreamFault, "impossible length");
});

Deno.test("an unfinished frame is noticed", () => {
  const bytes = encode({}, new Uint8Array(10));
  const decoder = new EventStreamDecoder();
  assertEquals(decoder.push(bytes.subarray(0, -1)).length, 0);
  assert(decoder.isWithinFrame);
});
