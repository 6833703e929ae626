import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { readWhole, uncountedBodyBytes } from "../../../../core/net/transport/read_whole.ts";
import { UpstreamFailure } from "../../../../core/net/transport/transport.ts";

const maxBytes = 300_000;

/** A body in pieces that are views into one buffer, as drivers hand them out. */
function response(body: Uint8Array, pieces: readonly number[], declared?: string) {
  const buffer = new Uint8Array(64 * 1024);
  let at = 0;
  let turn = 0;
  return {
    header: (name: string) => name === "content-length" ? declared : undefined,
    body: {
      read(): Promise<Uint8Array | null> {
        if (at === body.length) return Promise.resolve(null);
        const piece = body.subarray(at, at + (pieces[turn++ % pieces.length] ?? 1));
        buffer.fill(0);
        buffer.set(piece);
        at += piece.length;
        return Promise.resolve(buffer.subarray(0, piece.length));
      },
    },
  };
}

const anyBody = fc.record({
  length: fc.oneof(
    fc.nat(1_000),
    fc.integer({ min: uncountedBodyBytes - 3, max: uncountedBodyBytes + 3 }),
    fc.nat(maxBytes),
  ),
  seed: fc.nat(250),
  pieces: fc.array(fc.integer({ min: 1, max: 64 * 1024 }), { minLength: 1, maxLength: 8 })
    .filter((pieces) => Math.max(...pieces) > 500),
  isDeclared: fc.boolean(),
  waits: fc.boolean(),
});

Deno.test("a body is the same whatever its pieces, and its memory is counted before it is taken", async () => {
  await fc.assert(fc.asyncProperty(anyBody, async ({ length, seed, pieces, isDeclared, waits }) => {
    const body = Uint8Array.from({ length }, (_, at) => (at * 31 + seed) % 251);
    const asked: number[] = [];
    const counter = {
      grow(bytes: number) {
        asked.push(bytes);
        return waits ? Promise.resolve() : undefined;
      },
    };
    const declared = isDeclared ? String(length) : undefined;
    const read = await readWhole(response(body, pieces, declared), maxBytes, counter);
    assertEquals(read.length, length);
    assert(read.every((byte, at) => byte === body[at]), "another byte");
    const counted = asked.reduce((sum, bytes) => sum + bytes, 0);
    const memory = read.buffer.byteLength;
    assertEquals(counted, memory <= uncountedBodyBytes ? 0 : memory);
    assert(asked.every((bytes) => bytes > 0));
    assert(counted <= maxBytes);
    if (isDeclared && length > uncountedBodyBytes) assertEquals(asked, [length]);
  }));
});

Deno.test("a too large body is refused by its declared and by its actual length, with memory for no more than the bound", async () => {
  const body = new Uint8Array(maxBytes + 1);
  for (
    const declared of [undefined, String(body.length), "10", "-1", "1e9", "99999999999999999999"]
  ) {
    const asked: number[] = [];
    const reading = readWhole(response(body, [60_000], declared), maxBytes, {
      grow: (bytes) => void asked.push(bytes),
    });
    const failure = await reading.then(() => undefined, (error) => error);
    assert(failure instanceof UpstreamFailure);
    assertEquals(failure.code, "too_large");
    assert(asked.reduce((sum, bytes) => sum + bytes, 0) <= maxBytes);
  }
});
