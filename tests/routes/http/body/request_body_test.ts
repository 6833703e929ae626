import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { uncountedBodyBytes } from "../../../../core/net/transport/read_whole.ts";
import { readRequestBody } from "../../../../routes/http/body/request_body.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { nextTurn } from "../../../support/turns.ts";

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
  const admission = {
    begin: () => undefined,
    grow: (bytes: number) => void taken.push(bytes),
    whole() {},
    release() {},
  };
  const bounds = maxBytes === undefined ? { admission } : { maxBytes, admission };
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
  for (const maxBytes of [1, 10_000, 1024 * 1024 + 1]) {
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
    assertEquals((await read(uncountedBodyBytes, isDeclared)).counted, 0);
    const length = 3 * uncountedBodyBytes;
    const { counted } = await read(length, isDeclared);
    assert(counted >= length && counted <= 2 * length, `${counted} counted`);
    if (isDeclared) assertEquals(counted, length);
  });
}

/** A request whose body comes when the test says so, and what the gateway asked for on its way. */
function slowly(declared: number | undefined) {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const sender = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1 });
  const writer = sender.writable.getWriter();
  const request = new Request("http://x/", {
    method: "POST",
    headers: declared === undefined ? {} : { "content-length": String(declared) },
    body: sender.readable,
  });
  const asked: (string | number)[] = [];
  let room = Promise.resolve();
  const body = readRequestBody(request, deadlines, {
    admission: {
      begin: (bytes) => void asked.push(`begin ${bytes}`),
      grow(bytes) {
        asked.push(bytes);
        return room;
      },
      whole: () => asked.push("whole"),
      release: () => asked.push("release"),
    },
  }).catch((error) => error);
  return {
    time,
    asked,
    body,
    send: (bytes: number) => writer.write(new Uint8Array(bytes)).catch(() => {}),
    waitFor: (promise: Promise<void>) => room = promise,
    end: () => writer.close().catch(() => {}),
    [Symbol.dispose]() {
      assertEquals(deadlines.armedCount, 0);
      deadlines.close();
    },
  };
}

for (const declared of [1_000_000, undefined]) {
  const framing = declared === undefined ? "undeclared" : "declared";

  Deno.test(`of a ${framing} body only what arrived is counted, after its sender was asked for`, async () => {
    using test = slowly(declared);
    await test.send(1);
    await nextTurn();
    assertEquals(test.asked, declared === undefined ? [] : ["begin 1000000"]);
    await test.send(150_000);
    await nextTurn();
    assertEquals(test.asked, [`begin ${declared}`, 196_608]);
    await test.end();
    assert(await test.body instanceof Uint8Array);
    assertEquals(test.asked.at(-1), "whole");
  });

  Deno.test(`a ${framing} body that comes too slowly is cut off, whatever came before`, async () => {
    using test = slowly(declared);
    await test.send(500_000);
    for (let seconds = 0; seconds < 60; seconds++) {
      await test.send(1_000);
      await nextTurn();
      test.time.advance(1_000);
    }
    const refusal = await test.body;
    assert(refusal instanceof GatewayError && refusal.code === "request_timeout");
    assertEquals(test.asked.at(-1), "release");
  });

  Deno.test(`a ${framing} body may wait for room as long as it must, and comes then`, async () => {
    using test = slowly(declared);
    const free = Promise.withResolvers<void>();
    test.waitFor(free.promise);
    await test.send(100_000);
    await nextTurn();
    test.time.advance(100_000);
    free.resolve();
    await nextTurn();
    await test.end();
    const bytes = await test.body;
    assert(bytes instanceof Uint8Array, String(bytes));
    assertEquals(bytes.length, 100_000);
  });
}

Deno.test("a body that says that it is too large is not kept for a moment", async () => {
  assertEquals((await read(300_000, true, 200_000)).counted, 0);
});
