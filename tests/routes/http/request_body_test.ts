import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../../core/clock.ts";
import { Deadlines } from "../../../core/deadlines.ts";
import { GatewayError } from "../../../core/errors.ts";
import { limits } from "../../../core/limits.ts";
import { readRequestBody } from "../../../routes/http/request_body.ts";

/** A body in pieces of 1,000 bytes at most, with its length in the head or without. */
function requestOf(length: number, isDeclared: boolean) {
  let left = length;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left === 0) return controller.close();
      const piece = Math.min(left, 1_000);
      left -= piece;
      controller.enqueue(new Uint8Array(piece).fill(7));
    },
  });
  const headers = isDeclared ? { "content-length": String(length) } : {};
  const request = new Request("http://x/", { method: "POST", headers, body });
  return { request, left: () => left };
}

async function read(length: number, isDeclared: boolean, maxBytes?: number) {
  const deadlines = new Deadlines({ clock: systemClock });
  const { request, left } = requestOf(length, isDeclared);
  const taken: number[] = [];
  const room = { take: (bytes: number) => void taken.push(bytes), release() {} };
  const bounds = maxBytes === undefined ? { room } : { maxBytes, room };
  try {
    const bytes = await readRequestBody(request, deadlines, bounds).catch((error) => error);
    return { bytes, left: left(), counted: taken.reduce((sum, one) => sum + one, 0) };
  } finally {
    assertEquals(deadlines.armedCount, 0);
    deadlines.close();
  }
}

for (const isDeclared of [true, false]) {
  const framing = isDeclared ? "declared" : "undeclared";
  for (const maxBytes of [1, 10_000, limits.bodyAtOnceBytes + 1]) {
    Deno.test(`a ${framing} body of ${maxBytes} bytes passes a bound of as many, one byte more does not`, async () => {
      const { bytes } = await read(maxBytes, isDeclared, maxBytes);
      assert(bytes instanceof Uint8Array, String(bytes));
      assertEquals(bytes.length, maxBytes);
      assert(bytes.every((byte) => byte === 7));
      const over = await read(maxBytes + 1, isDeclared, maxBytes);
      assert(over.bytes instanceof GatewayError && over.bytes.code === "request_too_large");
      assertEquals(over.left, 0, "read to its end, so that the client gets to read the answer");
    });
  }

  Deno.test(`a ${framing} body is counted when it is large, by what it takes in memory`, async () => {
    assertEquals((await read(limits.uncountedBodyBytes, isDeclared)).counted, 0);
    const length = 3 * limits.uncountedBodyBytes;
    const { counted } = await read(length, isDeclared);
    assert(counted >= length && counted <= 2 * length, `${counted} counted`);
    if (isDeclared) assertEquals(counted, length);
  });
}

Deno.test("a body that says that it is too large is not kept for a moment", async () => {
  assertEquals((await read(300_000, true, 200_000)).counted, 0);
});
