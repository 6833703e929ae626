import { assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { ChunkedDecoder, type ChunkedLimits } from "../../../../core/net/http1/chunked.ts";
import { UpstreamFailure } from "../../../../core/net/transport/transport.ts";
import { concat, splitAt } from "./bytes.ts";

const limits = { chunkExtensionBytes: 32, trailerBytes: 64 };
const encode = (text: string) => new TextEncoder().encode(text);

/** Feeds pieces as a connection does: each at the start of one buffer. */
function decodePieces(pieces: readonly Uint8Array[], bounds: ChunkedLimits = limits) {
  const decoder = new ChunkedDecoder(bounds);
  const buffer = new Uint8Array(64 * 1024);
  const payloads: Uint8Array[] = [];
  let unread = 0;
  for (const piece of pieces) {
    if (decoder.done) {
      unread += piece.length;
      continue;
    }
    // An odd offset: the decoder must not assume that bytes start at 0.
    buffer.set(piece, 7);
    decoder.decode(buffer, 7, 7 + piece.length);
    payloads.push(buffer.slice(decoder.payloadStart, decoder.payloadEnd));
    unread += 7 + piece.length - decoder.consumed;
  }
  return { payload: concat(payloads), done: decoder.done, unread, payloads };
}

interface Chunk {
  readonly data: Uint8Array;
  readonly extension: string;
  readonly isUpperCase: boolean;
  readonly zeros: number;
}

const chunk: fc.Arbitrary<Chunk> = fc.record({
  data: fc.uint8Array({ minLength: 1, maxLength: 700 }),
  extension: fc.constantFrom("", ";a=b", ';q="x y"', "  ", " ;z"),
  isUpperCase: fc.boolean(),
  zeros: fc.nat({ max: 4 }),
});
const trailers = fc.constantFrom("", "x: y\r\n", "a: 1\r\nb: 2\r\n");

function encodeChunks(chunks: readonly Chunk[], trailer: string): Uint8Array {
  const parts = chunks.flatMap(({ data, extension, isUpperCase, zeros }) => {
    const size = "0".repeat(zeros) + data.length.toString(16);
    return [
      encode((isUpperCase ? size.toUpperCase() : size) + extension + "\r\n"),
      data,
      encode("\r\n"),
    ];
  });
  return concat([...parts, encode(`0\r\n${trailer}\r\n`)]);
}

Deno.test("ChunkedDecoder: returns the payload for any chunks and any cuts", () => {
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 12 }),
      trailers,
      fc.array(fc.nat({ max: 10_000 }), { maxLength: 20 }),
      fc.uint8Array({ maxLength: 5 }),
      (chunks, trailer, cuts, behind) => {
        const wire = concat([encodeChunks(chunks, trailer), behind]);
        const { payload, done, unread } = decodePieces(splitAt(wire, cuts));
        assertEquals(payload, concat(chunks.map(({ data }) => data)));
        assertEquals(done, true);
        assertEquals(unread, behind.length);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("ChunkedDecoder: is not done at any byte before the end", () => {
  const wire = encode("5;x=1\r\nhello\r\nA\r\n0123456789\r\n0\r\nt: v\r\n\r\n");
  for (let length = 0; length < wire.length; length++) {
    assertEquals(decodePieces([wire.slice(0, length)]).done, false, `after ${length} bytes`);
  }
  assertEquals(decodePieces([wire]).done, true);
});

Deno.test("ChunkedDecoder: several chunks in one piece come as one payload, moved together", () => {
  const { payloads } = decodePieces([encode("1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n")]);
  assertEquals(payloads, [encode("abcdef")]);
});

Deno.test("ChunkedDecoder: a piece inside one chunk is not moved", () => {
  const decoder = new ChunkedDecoder(limits);
  decoder.decode(encode("64\r\n"), 0, 4);
  decoder.decode(encode("xxabc"), 2, 5);
  assertEquals([decoder.payloadStart, decoder.payloadEnd, decoder.consumed], [2, 5, 5]);
});

const malformed: readonly (readonly [name: string, wire: string])[] = [
  ["no size", "\r\nabc\r\n"],
  ["no size before an extension", ";x\r\n"],
  ["not hexadecimal", "g\r\n"],
  ["sign", "-1\r\n"],
  ["0x prefix", "0x5\r\nhello\r\n"],
  ["leading space", " 5\r\nhello\r\n"],
  ["digits after padding", "5 5\r\n"],
  ["underscore", "1_0\r\n"],
  ["14 digits", "00000000000005\r\nhello\r\n"],
  ["line feed alone after the size", "5\nhello\r\n"],
  ["carriage return alone after the size", "5\rhello\r\n"],
  ["line feed inside an extension", "5;a\nb\r\nhello\r\n"],
  ["NUL inside an extension", "5;a\0b\r\nhello\r\n"],
  ["chunk longer than its size", "3\r\nabcd\r\n"],
  ["chunk shorter than its size", "5\r\nabc\r\n0\r\n\r\n"],
  ["line feed alone after the data", "3\r\nabc\n0\r\n\r\n"],
  ["line feed alone at the end", "0\r\n\n"],
  ["line feed inside a trailer", "0\r\na: b\nc: d\r\n\r\n"],
  ["carriage return inside a trailer", "0\r\na: \rb\r\n\r\n"],
];

for (const [name, wire] of malformed) {
  Deno.test(`ChunkedDecoder: refuses a body with ${name}`, () => {
    for (const pieces of [[encode(wire)], [...encode(wire)].map((byte) => Uint8Array.of(byte))]) {
      const error = assertThrowsFailure(() => decodePieces(pieces));
      assertEquals(error.code, "protocol");
    }
  });
}

Deno.test("ChunkedDecoder: bounds extensions per chunk and trailers altogether", () => {
  const extension = (bytes: number) => encode(`1;${"x".repeat(bytes - 1)}\r\na\r\n`);
  assertEquals(decodePieces([extension(32), extension(32)]).payload, encode("aa"));
  assertEquals(assertThrowsFailure(() => decodePieces([extension(40)])).code, "too_large");
  const trailer = (count: number) => encode(`0\r\n${"ab: cdef\r\n".repeat(count)}\r\n`);
  assertEquals(decodePieces([trailer(8)]).done, true);
  assertEquals(assertThrowsFailure(() => decodePieces([trailer(9)])).code, "too_large");
});

Deno.test("ChunkedDecoder: decodes or refuses any bytes", () => {
  const alphabet = fc.constantFrom(..."0123aF;\r\n \tx\0".split("").map((c) => c.charCodeAt(0)));
  const noise = fc.array(fc.oneof(alphabet, fc.nat({ max: 255 })), { maxLength: 200 });
  fc.assert(
    fc.property(noise, fc.array(fc.nat({ max: 200 }), { maxLength: 5 }), (bytes, cuts) => {
      const wire = Uint8Array.from(bytes);
      const outcome = (pieces: readonly Uint8Array[]) => {
        try {
          const { payload, done } = decodePieces(pieces);
          return { payload, done };
        } catch (error) {
          if (!(error instanceof UpstreamFailure)) throw error;
          return error.code;
        }
      };
      // The position of the cuts must not change the result.
      assertEquals(outcome(splitAt(wire, cuts)), outcome([wire]));
    }),
    { numRuns: 1_000 },
  );
});

function assertThrowsFailure(run: () => unknown): UpstreamFailure {
  let caught: unknown;
  assertThrows(() => {
    try {
      run();
    } catch (error) {
      caught = error;
      throw error;
    }
  }, UpstreamFailure);
  if (!(caught instanceof UpstreamFailure)) throw new Error("unreachable");
  return caught;
}

const strict: ChunkedLimits = { ...limits, isStrict: true };

Deno.test("ChunkedDecoder, strict: reads extensions and trailers of the grammar", () => {
  const wire = encode('5;a;b=c;d="e \\" f"\r\nhello\r\n0;x\r\nT-x: \t v\r\nu:\r\n\r\n');
  for (const pieces of [[wire], [...wire].map((byte) => Uint8Array.of(byte))]) {
    const { payload, done } = decodePieces(pieces, strict);
    assertEquals([payload, done], [encode("hello"), true]);
  }
});

const lenient: readonly (readonly [name: string, wire: string])[] = [
  ["padding", "5 \r\nhello\r\n0\r\n\r\n"],
  ["padding before an extension", "5 ;a\r\nhello\r\n0\r\n\r\n"],
  ["an extension without a name", "5;\r\nhello\r\n0\r\n\r\n"],
  ["an extension without a value", "5;a=\r\nhello\r\n0\r\n\r\n"],
  ["an extension that is no token", "5;a b\r\nhello\r\n0\r\n\r\n"],
  ["an open quotation", '5;a="b\r\nhello\r\n0\r\n\r\n'],
  ["text behind a quotation", '5;a="b"c\r\nhello\r\n0\r\n\r\n'],
  ["a control character in a quotation", '5;a="\x01"\r\nhello\r\n0\r\n\r\n'],
  ["a trailer without a colon", "0\r\nab\r\n\r\n"],
  ["a trailer without a name", "0\r\n: b\r\n\r\n"],
  ["white space before the colon", "0\r\na : b\r\n\r\n"],
  ["a folded trailer", "0\r\na: b\r\n c\r\n\r\n"],
  ["a length in a trailer", "0\r\nContent-Length: 5\r\n\r\n"],
  ["a coding in a trailer", "0\r\ntransfer-encoding: chunked\r\n\r\n"],
  ["a control character in a trailer", "0\r\na: \x7f\r\n\r\n"],
];

for (const [name, wire] of lenient) {
  Deno.test(`ChunkedDecoder, strict: refuses ${name}, which is ignored otherwise`, () => {
    assertEquals(decodePieces([encode(wire)]).done, true);
    const error = assertThrowsFailure(() => decodePieces([encode(wire)], strict));
    assertEquals(error.code, "protocol");
  });
}

for (const [name, wire] of malformed) {
  Deno.test(`ChunkedDecoder, strict: refuses a body with ${name}`, () => {
    assertEquals(assertThrowsFailure(() => decodePieces([encode(wire)], strict)).code, "protocol");
  });
}
