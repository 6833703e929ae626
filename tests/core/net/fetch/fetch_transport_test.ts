import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { createFetchTransport } from "../../../../core/net/fetch/fetch_transport.ts";
import { createHttp1Transport } from "../../../../core/net/http1/transport.ts";
import type { Transport } from "../../../../core/net/transport/transport.ts";
import { denoConnect } from "../../../../routes/process/deno_connect.ts";
import { concat, splitAt } from "../http1/bytes.ts";
import { failureCode } from "../http1/fake_connection.ts";
import { call, readWhole } from "../http1/read_whole.ts";
import { RawPeer, type Script } from "../transport/raw_peer.ts";
import { nextTurn } from "../../../support/turns.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Both drivers, with connections of their own that end with the test. */
async function withBoth(
  run: (drivers: { readonly http1: Transport; readonly viaFetch: Transport }) => Promise<void>,
  bounds: { readonly headMs?: number; readonly idleMs?: number } = {},
): Promise<void> {
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 10 });
  const http1 = createHttp1Transport({ connect: denoConnect(), deadlines, ...bounds });
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const once = (url: string, init: RequestInit) => fetch(url, { ...init, client });
  const viaFetch = createFetchTransport({
    fetch: once,
    fetchOnce: once,
    deadlines,
    ...bounds,
  });
  try {
    await run({ http1, viaFetch });
  } finally {
    http1.close();
    client.close();
    deadlines.close();
  }
}

const valid = fc.record({
  status: fc.constantFrom(200, 201, 204, 304, 302, 400, 429, 500, 529),
  body: fc.uint8Array({ maxLength: 30_000 }),
  framing: fc.constantFrom("length", "chunked", "close"),
  chunkBytes: fc.integer({ min: 1, max: 9_000 }),
  header: fc.stringMatching(/^[!-~]{0,40}$/),
  cuts: fc.array(fc.nat({ max: 40_000 }), { maxLength: 4 }),
});

function encodeAnswer(
  { status, body, framing, chunkBytes, header }: typeof valid extends fc.Arbitrary<infer Answer>
    ? Answer
    : never,
): Uint8Array {
  const head = `HTTP/1.1 ${status} X\r\nX-Echo: ${header}\r\nx-two: a\r\nx-two: b\r\n`;
  if (status === 204 || status === 304) return encode(head + "\r\n");
  if (framing === "close") return concat([encode(head + "connection: close\r\n\r\n"), body]);
  if (framing === "length") {
    return concat([encode(`${head}content-length: ${body.length}\r\n\r\n`), body]);
  }
  const parts = [encode(head + "transfer-encoding: chunked\r\n\r\n")];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const data = body.subarray(at, at + chunkBytes);
    parts.push(encode(data.length.toString(16) + "\r\n"), data, encode("\r\n"));
  }
  return concat([...parts, encode("0\r\n\r\n")]);
}

Deno.test("both drivers read the same from any valid answer", async () => {
  let pieces: readonly Uint8Array[] = [];
  await withBoth(async ({ http1, viaFetch }) => {
    await using peer = new RawPeer(async (peer) => {
      await peer.request();
      for (const piece of pieces) {
        await peer.say(piece);
        await nextTurn();
      }
    });
    await fc.assert(
      fc.asyncProperty(valid, async (answer) => {
        pieces = splitAt(encodeAnswer(answer), answer.cuts);
        const [one, two] = await Promise.all(
          [http1, viaFetch].map((driver) => call(driver, { url: peer.url, body: encode("x") })),
        );
        assertEquals(one?.status, answer.status);
        assertEquals(two?.status, answer.status);
        assertEquals(one?.body, two?.body);
        for (const name of ["x-echo", "x-two", "content-length", "x-none"]) {
          assertEquals(one?.header(name), two?.header(name), name);
        }
      }),
      { numRuns: 60 },
    );
  });
});

Deno.test("both drivers send the same request", async () => {
  const seen: string[][] = [];
  await withBoth(async ({ http1, viaFetch }) => {
    await using peer = new RawPeer(async (peer) => {
      const got = await peer.request();
      const [line = "", ...headers] = (got?.head ?? "").split("\r\n");
      const told = headers.map((header) => header.toLowerCase())
        .filter((header) => !/^(user-agent|accept|accept-language|host):/.test(header));
      seen.push([line, decode(got?.body ?? new Uint8Array()), ...told.toSorted()]);
      await peer.say("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    });
    for (const driver of [http1, viaFetch]) {
      for (const method of ["GET", "POST", "DELETE"] as const) {
        const body = method === "GET" ? null : encode("body");
        await call(driver, { method, url: peer.url + "?a=b", headers: [["x-a", "b"]], body });
      }
      await call(driver, { method: "POST", url: peer.url, body: null });
    }
  });
  assertEquals(seen.slice(4), seen.slice(0, 4));
  assertEquals(seen[1], [
    "POST /v1/messages?a=b HTTP/1.1",
    "body",
    "accept-encoding: identity",
    "content-length: 4",
    "x-a: b",
  ]);
});

Deno.test("both drivers pass on a compressed body as it is and say so", async () => {
  const zipped = new Uint8Array(
    await new Response(
      new Blob([encode("hello hello hello")]).stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer(),
  );
  await withBoth(async ({ http1, viaFetch }) => {
    await using peer = new RawPeer(async (peer) => {
      await peer.request();
      await peer.say(
        `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${zipped.length}\r\n` +
          "connection: close\r\n\r\n",
      );
      await peer.say(zipped);
    });
    for (const driver of [http1, viaFetch]) {
      const answer = await call(driver, { url: peer.url });
      assertEquals(answer.body, zipped);
      assertEquals(answer.header("content-encoding"), "gzip");
      assertEquals(answer.header("content-length"), String(zipped.length));
    }
  });
});

const failures: readonly (readonly [name: string, code: string, script: Script])[] = [
  ["hangs up", "cut", async (peer) => {
    await peer.request();
  }],
  ["cuts a body with a length", "cut", async (peer) => {
    await peer.request();
    await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
  }],
  ["cuts a chunked body", "cut", async (peer) => {
    await peer.request();
    await peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n");
  }],
  ["is silent before the head", "timeout", async (peer) => {
    await peer.clientGone();
  }],
  ["is silent in the body", "timeout", async (peer) => {
    await peer.request();
    await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
    await peer.clientGone();
  }],
];
for (const [name, code, script] of failures) {
  // Only silence is waited for: a busy machine may keep a peer that hangs up from doing so in time.
  Deno.test(`both drivers agree about a peer that ${name}`, async () => {
    await withBoth(async ({ http1, viaFetch }) => {
      await using peer = new RawPeer(script);
      for (const driver of [http1, viaFetch]) {
        assertEquals(await failureCode(call(driver, { url: peer.url })), code);
      }
    }, code === "timeout" ? { headMs: 60, idleMs: 60 } : {});
  });
}

Deno.test("both drivers send an order once to a peer that reads it on a kept connection and dies", async () => {
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 10 });
  const http1 = createHttp1Transport({ connect: denoConnect(), deadlines, provenRestMs: 0 });
  const client = Deno.createHttpClient({});
  const onceClient = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const viaFetch = createFetchTransport({
    fetch: (url, init) => fetch(url, { ...init, client }),
    fetchOnce: (url, init) => fetch(url, { ...init, client: onceClient }),
    deadlines,
  });
  for (const driver of [http1, viaFetch]) {
    let orders = 0;
    await using peer = new RawPeer(async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) {
        if (decode(got.body) === "order") return void orders++;
        await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      }
    });
    await call(driver, { url: peer.url });
    const order = call(driver, { url: peer.url, body: encode("order"), onSentAgain: undefined });
    assertEquals(await failureCode(order), "cut");
    assertEquals(orders, 1);
  }
  client.close();
  onceClient.close();
  http1.close();
  deadlines.close();
});

Deno.test("both drivers agree when nobody listens, and about a request that may not be sent", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}/`;
  listener.close();
  await withBoth(async ({ http1, viaFetch }) => {
    for (const driver of [http1, viaFetch]) {
      assertEquals(await failureCode(call(driver, { url })), "connect");
      assertEquals(await failureCode(call(driver, { url: "http://a:b@c.example/" })), "refused");
      const headers = [["host", "other.example"]] as const;
      assertEquals(await failureCode(call(driver, { url, headers })), "refused");
    }
  });
});

Deno.test("both drivers close the socket when they are cancelled", async () => {
  await withBoth(async ({ http1, viaFetch }) => {
    for (const driver of [http1, viaFetch]) {
      for (const said of ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"]) {
        const gone = Promise.withResolvers<void>();
        const spoken = Promise.withResolvers<void>();
        await using peer = new RawPeer(async (peer) => {
          await peer.request();
          await peer.say(said);
          spoken.resolve();
          await peer.clientGone();
          gone.resolve();
        });
        const exchange = driver.open({ method: "GET", url: peer.url, headers: [], body: null });
        const whole = failureCode(exchange.response.then(({ body }) => readWhole(body)));
        await spoken.promise;
        exchange.cancel();
        exchange.cancel();
        assertEquals(await whole, "cancelled");
        await gone.promise;
      }
    }
  });
});

Deno.test("createFetchTransport: a body is read through one small buffer", async () => {
  await withBoth(async ({ viaFetch }) => {
    await using peer = new RawPeer(async (peer) => {
      await peer.request();
      await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n");
      await peer.say(new Uint8Array(3_000_000).fill(7));
      await peer.clientGone();
    });
    const request = { method: "GET", url: peer.url, headers: [], body: null } as const;
    const { body } = await viaFetch.open(request).response;
    let bytes = 0;
    for (let view = await body.read(); view !== null; view = await body.read()) {
      assertEquals(view.buffer.byteLength, 8 * 1024);
      assertEquals(view.every((byte) => byte === 7), true);
      bytes += view.length;
    }
    assertEquals(bytes, 3_000_000);
  });
});
