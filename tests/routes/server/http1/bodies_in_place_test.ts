/** Bodies of known length, from the connection to `readRequestBody`, which has them read to where they stay. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { readRequestBody } from "../../../../routes/http/body/request_body.ts";
import type { RequestHandler } from "../../../../routes/server/http1/client_connection.ts";
import { latin1, serve, settled } from "./fake_client.ts";

const text = (length: number, seed = 0) =>
  Uint8Array.from({ length }, (_, at) => at * 7 + (at >> 8) + seed);
const head = (length: number, extra = "") =>
  `POST / HTTP/1.1\r\nhost: h\r\n${extra}content-length: ${length}\r\n\r\n`;

/** Reads the body of each request, and keeps what came of it: the bytes, or the code of the error. */
function reading() {
  const deadlines = new Deadlines({ clock: systemClock });
  const bodies: (Uint8Array | string)[] = [];
  const taken: number[] = [];
  let room = Promise.resolve();
  const handler: RequestHandler = async (request) => {
    const admission = {
      begin: () => undefined,
      grow(bytes: number) {
        taken.push(bytes);
        return room;
      },
      whole() {},
      release: () => void taken.push(-1),
    };
    const body = await readRequestBody(request, deadlines, { admission }).catch((error) => error);
    bodies.push(body instanceof GatewayError ? body.code : body);
    return new Reply(200, [], latin1("read"));
  };
  return {
    handler,
    bodies,
    taken,
    waitFor: (promise: Promise<void>) => room = promise,
    [Symbol.dispose]() {
      assertEquals(deadlines.armedCount, 0);
      deadlines.close();
    },
  };
}

for (const length of [20_000, 64 * 1024, 100_000, 128 * 1024, 128 * 1024 + 1, 1_000_000]) {
  Deno.test(`a body of ${length} bytes arrives whole, wherever it is cut, and so does the next request`, async () => {
    const first = text(length);
    const second = text(length, 3);
    for (const cut of [0, 1, 3_000, 4_096, 65_536, length - 1, length]) {
      using test = reading();
      const { client, over } = serve(test.handler);
      client.send(head(length));
      // The connection reads on behind the head before the body comes.
      if (cut % 2 === 0) await settled();
      client.send(first.subarray(0, cut));
      await settled();
      client.send(first.subarray(cut));
      client.send(head(length));
      client.send(second);
      client.end();
      await over;
      assertEquals(test.bodies.length, 2);
      assert(test.bodies.every((body, at) => sameBytes(body, at === 0 ? first : second)), `${cut}`);
    }
  });
}

function sameBytes(one: Uint8Array | string | undefined, other: Uint8Array): boolean {
  return one instanceof Uint8Array && one.length === other.length &&
    one.every((byte, at) => byte === other[at]);
}

Deno.test("memory is asked for once something has come, before more is read, as much as the body has", async () => {
  using test = reading();
  const { client, over } = serve(test.handler);
  const free = Promise.withResolvers<void>();
  test.waitFor(free.promise);
  client.send(head(1_000_000));
  client.send(text(1_000_000));
  await settled();
  assertEquals([test.taken, test.bodies], [[128 * 1024], []]);
  free.resolve();
  client.end();
  await over;
  assertEquals(test.taken, [128 * 1024, 3 * 128 * 1024, 1_000_000 - 4 * 128 * 1024]);
  assert(sameBytes(test.bodies[0], text(1_000_000)));
});

for (const arrived of [0, 10, 90_000, 99_999]) {
  Deno.test(`a body that ends after ${arrived} of 100,000 bytes is refused, and its memory given back`, async () => {
    using test = reading();
    const { client, over } = serve(test.handler);
    client.send(head(100_000));
    await settled();
    client.send(text(arrived));
    await settled();
    client.end();
    await over;
    // A length that is only declared takes nothing.
    const taken = arrived === 0 ? [-1] : [100_000, -1];
    assertEquals([test.bodies, test.taken], [["invalid_request"], taken]);
  });
}

Deno.test("a connection that breaks while a body is read into its place refuses the body", async () => {
  using test = reading();
  const { client, over } = serve(test.handler);
  client.send(head(100_000));
  client.send(text(50_000));
  await settled();
  client.break();
  await over;
  assertEquals([test.bodies, test.taken], [["invalid_request"], [100_000, -1]]);
});

Deno.test("a body that is given up while it is read into its place ends its connection", async () => {
  const { client, over } = serve(async (request) => {
    const pieces = request.pieces();
    const place = new Uint8Array(100_000);
    const outcome = pieces?.readInto?.(place).then(() => "read", () => "failed");
    await settled();
    await pieces?.cancel();
    return new Reply(200, [], latin1(await outcome ?? "none"));
  });
  client.send(head(100_000));
  await settled();
  await settled();
  assert(client.received.endsWith("failed"), client.received);
  assert(client.isHalfClosed);
  // What the client had already sent is read, so that it gets to read the answer.
  client.send(text(100_000));
  client.end();
  await over;
});

Deno.test("a client that waits for 100 Continue is told to send a body that is read into its place", async () => {
  using test = reading();
  const { client, over } = serve(test.handler);
  client.send(head(100_000, "expect: 100-continue\r\n"));
  await settled();
  assertEquals(client.received, "HTTP/1.1 100 Continue\r\n\r\n");
  client.send(text(100_000));
  client.end();
  await over;
  assert(sameBytes(test.bodies[0], text(100_000)));
});

Deno.test("a body that comes too slowly into its place is cut off", async () => {
  using test = reading();
  const { client, over, time } = serve(test.handler);
  client.send(head(100_000));
  for (let seconds = 0; seconds < 200 && test.bodies.length === 0; seconds++) {
    client.send(text(10));
    await settled();
    time.advance(1_000);
    await settled();
  }
  client.end();
  await over;
  assertEquals([test.bodies, test.taken.at(-1)], [["invalid_request"], -1]);
});

Deno.test("a body of which a part was read before gives the rest, and ends", async () => {
  const body = text(20_000);
  const { client, over } = serve(async (request) => {
    const piece = await request.pieces()?.read();
    const taken = piece?.length ?? 0;
    const rest = await request.bytes();
    assert(taken > 0 && sameBytes(rest, body.subarray(taken)), `${taken} + ${rest.length}`);
    return new Reply(200, [], latin1("read"));
  });
  client.send(head(body.length));
  client.send(body.subarray(0, 1_000));
  await settled();
  client.send(body.subarray(1_000));
  client.end();
  await over;
  assert(client.received.endsWith("read"), client.received);
});
