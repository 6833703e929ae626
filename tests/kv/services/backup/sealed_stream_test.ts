import { assertEquals, assertRejects } from "../../../support/assert.ts";
import {
  openStream,
  SealedStreamError,
  sealStream,
} from "../../../../kv/services/backup/sealed_stream.ts";

const key = crypto.getRandomValues(new Uint8Array(32));
const headBytes = 21;
const chunkBytes = 65_552;

function randomBytes(size: number): Uint8Array {
  return Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
}

async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(parts: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const bytes = await Array.fromAsync(parts);
  return new Uint8Array(await new Blob(bytes.map((one) => one.slice())).arrayBuffer());
}

function sealed(plain: Uint8Array): Promise<Uint8Array> {
  return joined(sealStream(inParts(plain, 10_000), key));
}

function opened(bytes: Uint8Array, by = key): Promise<Uint8Array> {
  return joined(openStream(inParts(bytes, 7_777), by));
}

Deno.test("a stream of any length opens as it was sealed", async () => {
  for (const size of [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]) {
    const plain = randomBytes(size);
    const bytes = await sealed(plain);
    assertEquals((await opened(bytes)).toHex() === plain.toHex(), true, `${size} bytes`);
    assertEquals(bytes.length, headBytes + size + 16 * Math.max(1, Math.ceil(size / 65_536)));
  }
});

Deno.test("a stream that was changed, cut, extended or reordered does not open", async () => {
  const bytes = await sealed(randomBytes(200_000));
  const chunk = (at: number) =>
    bytes.subarray(headBytes + at * chunkBytes, headBytes + (at + 1) * chunkBytes);
  const head = bytes.subarray(0, headBytes);
  const join = (...parts: Uint8Array[]) => new Uint8Array(parts.flatMap((part) => [...part]));
  const flipped = (at: number) => bytes.with(at, bytes[at]! ^ 1);
  const damaged = {
    "a bit of the name": flipped(0),
    "a bit of the salt": flipped(8),
    "a bit of a chunk": flipped(headBytes + 70_000),
    "a bit of the last tag": flipped(bytes.length - 1),
    "without its last byte": bytes.subarray(0, -1),
    "without its last chunk": bytes.subarray(0, headBytes + 3 * chunkBytes),
    "only its head": head,
    "nothing": bytes.subarray(0, 0),
    "a byte more": join(bytes, new Uint8Array(1)),
    "chunks in another order": join(head, chunk(1), chunk(0), chunk(2), chunk(3)),
    "without a chunk in the middle": join(head, chunk(0), chunk(2), chunk(3)),
    "a chunk twice": join(head, chunk(0), chunk(0), chunk(1), chunk(2), chunk(3)),
  };
  assertEquals(join(head, chunk(0), chunk(1), chunk(2), chunk(3)).toHex() === bytes.toHex(), true);
  for (const [what, one] of Object.entries(damaged)) {
    const result = await opened(one).then(() => "opened", (error: unknown) => error);
    assertEquals(result instanceof SealedStreamError, true, what);
  }
});

Deno.test("another key does not open a stream, and no two streams are alike", async () => {
  const bytes = await sealed(randomBytes(10));
  const other = crypto.getRandomValues(new Uint8Array(32));
  await assertRejects(() => opened(bytes, other), SealedStreamError, "GATEWAY_BACKUP_KEY");
  assertEquals((await sealed(randomBytes(10))).toHex() === bytes.toHex(), false);
});
