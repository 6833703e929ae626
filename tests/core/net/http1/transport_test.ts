import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { UpstreamRequest } from "../../../../core/net/transport/transport.ts";
import { provenRestMs } from "../../../../core/net/http1/transport.ts";
import { splitAt } from "./bytes.ts";
import { failureCode, fakeNetwork, settle } from "./fake_connection.ts";
import { call, readWhole } from "./read_whole.ts";
import { nextTurn } from "../../../support/turns.ts";

const url = "http://provider.example/v1/messages";
const request: UpstreamRequest = {
  method: "POST",
  url,
  headers: [],
  body: new Uint8Array(10),
  onSentAgain: () => {},
};
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const ok = (body: string) => `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

Deno.test("a request goes out in one write, head and body together", async () => {
  const network = fakeNetwork();
  const connection = network.prepare(ok("hello"));
  const answer = await call(network.transport, { url, body: encode("the body") });
  assertEquals([answer.status, decode(answer.body)], [200, "hello"]);
  assertEquals(connection.writeCount, 1);
  assert(connection.sent.endsWith("\r\ncontent-length: 8\r\n\r\nthe body"));
  network.transport.close();
});

Deno.test("a large body is sent whole in writes of any size", async () => {
  const text = "0123456789".repeat(500);
  const bytes = encode(text);
  const pieces = [[0, 7], [7, 3_000], [3_000, 3_001], [3_001, 5_000]]
    .map(([from, to]) => bytes.subarray(from, to));
  for (const body of [bytes, pieces]) {
    const network = fakeNetwork({ singleWriteBytes: 100 });
    const connection = network.prepare();
    connection.writeBytes = 333;
    const answered = call(network.transport, { url, body });
    await settle();
    connection.push(ok("x"));
    assertEquals((await answered).status, 200);
    assert(connection.sent.endsWith("\r\ncontent-length: 5000\r\n\r\n" + text));
    network.transport.close();
  }
});

Deno.test("the connection is used again after the clean end, the youngest first", async () => {
  const network = fakeNetwork();
  const first = network.prepare();
  const second = network.prepare();
  const calls = [1, 2].map(() => call(network.transport, { url }));
  await settle();
  first.push(ok("1"));
  await settle();
  second.push(ok("2"));
  await Promise.all(calls);
  assertEquals(network.transport.counts(), { opened: 2, reused: 0, retried: 0, idle: 2 });
  const third = call(network.transport, { url });
  await settle();
  second.push(ok("3"));
  assertEquals(decode((await third).body), "3");
  assertEquals(network.transport.counts(), { opened: 2, reused: 1, retried: 0, idle: 2 });
  network.transport.close();
  assertEquals([first.closed, second.closed], [true, true]);
});

Deno.test("connections are kept apart by origin", async () => {
  const network = fakeNetwork();
  for (const other of ["http://a.example/", "https://a.example/", "http://a.example:81/"]) {
    network.prepare(ok("x"));
    await call(network.transport, { url: other });
  }
  assertEquals(network.targets, [
    { hostname: "a.example", port: 80, tls: false },
    { hostname: "a.example", port: 443, tls: true },
    { hostname: "a.example", port: 81, tls: false },
  ]);
  assertEquals(network.transport.counts().idle, 3);
  network.transport.close();
});

Deno.test("a connection is not pooled before the reader has seen the end", async () => {
  const network = fakeNetwork();
  network.prepare(ok("hello"));
  const response = await network.transport.open(request).response;
  const view = await response.body.read();
  assert(view !== null);
  assertEquals(network.transport.counts().idle, 0, "the view still lies in the buffer");
  assertEquals(await response.body.read(), null);
  assertEquals(await response.body.read(), null);
  assertEquals(network.transport.counts().idle, 1);
  network.transport.close();
});

const bodiless = [
  "HTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n",
  "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
];
for (const wire of bodiless) {
  Deno.test(`nothing follows ${JSON.stringify(wire.slice(0, 40))}`, async () => {
    const network = fakeNetwork();
    network.prepare(wire);
    const response = await network.transport.open(request).response;
    assertEquals(network.transport.counts().idle, 1);
    assertEquals(await response.body.read(), null);
    network.transport.close();
  });
}

const unpooled: readonly (readonly [why: string, wire: string])[] = [
  ["connection: close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx"],
  ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx"],
  ["bytes behind a length", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n"],
  [
    "bytes behind chunks",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\ny",
  ],
  ["bytes behind no body", "HTTP/1.1 204 No Content\r\n\r\nx"],
  [
    "one second of waiting",
    "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 1\r\n\r\nx",
  ],
];
for (const [why, wire] of unpooled) {
  Deno.test(`a connection is closed, not pooled, after ${why}`, async () => {
    const network = fakeNetwork();
    const connection = network.prepare(wire);
    assertEquals((await call(network.transport, { url })).body.length <= 1, true);
    assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
  });
}

Deno.test("an answer before the end of the request is returned, and its connection closed", async () => {
  const network = fakeNetwork();
  const connection = network.prepare("HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig");
  connection.writeGate = new Promise(() => {});
  const answer = await call(network.transport, { url, body: new Uint8Array(5_000) });
  assertEquals([answer.status, decode(answer.body)], [413, "big"]);
  await settle();
  assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
});

Deno.test("a request that is still being written when its answer comes keeps its bytes", async () => {
  const network = fakeNetwork();
  const written = Promise.withResolvers<void>();
  const connection = network.prepare(ok("early"));
  connection.writeGate = written.promise;
  const body = encode("the first body");
  await call(network.transport, { url, body });
  network.prepare(ok("2"));
  await call(network.transport, { url, body: encode("another one") });
  connection.closed = false; // the bytes that it would take now
  written.resolve();
  await settle();
  assert(connection.sent.endsWith("the first body"));
  network.transport.close();
});

Deno.test("an answer after a failed write is returned, and its connection closed", async () => {
  const network = fakeNetwork();
  const connection = network.prepare();
  connection.writeError = new Error("broken pipe");
  const answered = call(network.transport, { url });
  await settle();
  connection.push("HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig");
  assertEquals((await answered).status, 413);
  assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
});

Deno.test("a failed write with silence after it ends as a cut after a second", async () => {
  const network = fakeNetwork();
  network.prepare().writeError = new Error("broken pipe");
  const exchange = network.transport.open(request);
  await settle();
  await network.passMs(1_200);
  assertEquals(await failureCode(exchange.response), "cut");
});

// ---- stale connections ----

async function withPooled(options: Parameters<typeof fakeNetwork>[0] = {}) {
  const network = fakeNetwork(options);
  const connection = network.prepare(ok("1"));
  await call(network.transport, { url });
  assertEquals(network.transport.counts().idle, 1);
  return { network, connection };
}

for (const ending of [null, new Error("reset")]) {
  Deno.test(`a pooled connection leaves the pool when it ends by ${ending}`, async () => {
    const { network, connection } = await withPooled();
    connection.push(ending);
    await settle();
    assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
  });

  Deno.test(`a request that meets the ${ending} of a pooled connection is sent again`, async () => {
    const { network, connection } = await withPooled();
    const fresh = network.prepare(ok("2"));
    const answered = call(network.transport, { url, body: encode("again") });
    connection.push(ending);
    assertEquals(decode((await answered).body), "2");
    assert(fresh.sent.endsWith("again"));
    assertEquals(network.transport.counts(), { opened: 2, reused: 1, retried: 1, idle: 1 });
    assertEquals(connection.closed, true);
    network.transport.close();
  });
}

/** A request that must not be sent twice: it has no `onSentAgain`. */
const once = { url, body: encode("order"), onSentAgain: undefined };

for (const ending of [null, new Error("reset")]) {
  Deno.test(`a whole request that meets the ${ending} of a pooled connection may have been acted on`, async () => {
    for (const isRepeatable of [true, false]) {
      const { network, connection } = await withPooled({ provenRestMs: 0 });
      const fresh = network.prepare(ok("2"));
      let told = 0;
      const more = isRepeatable ? { onSentAgain: () => void told++ } : {};
      const answered = call(network.transport, { ...once, ...more });
      await nextTurn();
      await nextTurn();
      assert(connection.sent.endsWith("order"), "the peer has it");
      connection.push(ending);
      if (isRepeatable) assertEquals(decode((await answered).body), "2");
      else assertEquals(await failureCode(answered), "cut");
      assertEquals(told, isRepeatable ? 1 : 0);
      assertEquals(fresh.sent.endsWith("order"), isRepeatable);
      assertEquals([connection.closed, network.transport.counts().retried], [true, told]);
      network.transport.close();
    }
  });

  Deno.test(`a request that was not whole when the ${ending} came is sent again, with any method`, async () => {
    for (const isRepeatable of [true, false]) {
      const { network, connection } = await withPooled({ provenRestMs: 0 });
      network.prepare(ok("2"));
      connection.writeGate = new Promise(() => {});
      let told = 0;
      const more = isRepeatable ? { onSentAgain: () => void told++ } : {};
      const answered = call(network.transport, { ...once, ...more });
      await nextTurn();
      await nextTurn();
      assertEquals(connection.writeCount, 2, "the first was for another request");
      connection.push(ending);
      assertEquals(decode((await answered).body), "2");
      assertEquals([told, network.transport.counts().retried], [0, 1]);
      network.transport.close();
    }
  });

  Deno.test(`a POST that must not be made twice finds the ${ending} of a pooled connection before it goes out`, async () => {
    const { network, connection } = await withPooled({ provenRestMs: 0 });
    const fresh = network.prepare(ok("2"));
    const answered = call(network.transport, once);
    connection.push(ending);
    assertEquals(decode((await answered).body), "2");
    assertEquals([connection.writeCount, fresh.writeCount], [1, 1]);
    assertEquals(network.transport.counts(), { opened: 2, reused: 0, retried: 0, idle: 1 });
    network.transport.close();
  });
}

Deno.test("a write that ends in the same moment as the connection counts as whole", async () => {
  const { network, connection } = await withPooled({ provenRestMs: 0 });
  const written = Promise.withResolvers<void>();
  connection.writeGate = written.promise;
  const answered = failureCode(call(network.transport, once));
  await nextTurn();
  await nextTurn();
  connection.push(null);
  nextTurn().then(written.resolve);
  assertEquals(await answered, "cut");
  assertEquals(network.connections.length, 1);
});

Deno.test("GET and DELETE are sent again without permission", async () => {
  for (const method of ["GET", "DELETE"] as const) {
    const { network, connection } = await withPooled();
    network.prepare(ok("2"));
    const answered = call(network.transport, { ...once, method, body: null });
    await settle();
    connection.push(null);
    assertEquals(decode((await answered).body), "2");
    network.transport.close();
  }
});

Deno.test("a POST that must not be made twice takes the connection that its peer has kept longest", async () => {
  const network = fakeNetwork();
  const [old, young] = [network.prepare(ok("1")), network.prepare(ok("1"))];
  const both = [1, 2].map(() => call(network.transport, { url }));
  await Promise.all(both);
  const third = network.prepare(ok("2"));
  await call(network.transport, once);
  assertEquals([old.writeCount, young.writeCount, third.writeCount], [1, 1, 1], "all too young");
  await network.passMs(provenRestMs + 300);
  const answered = call(network.transport, once);
  await nextTurn();
  await nextTurn();
  old.push(ok("3"));
  assertEquals(decode((await answered).body), "3");
  assertEquals(network.transport.counts(), { opened: 3, reused: 1, retried: 0, idle: 3 });
  network.transport.close();
});

Deno.test("cancel during the search for stale connections leaves the pool unchanged", async () => {
  const { network } = await withPooled({ provenRestMs: 0 });
  const exchange = network.transport.open({ ...request, onSentAgain: undefined });
  exchange.cancel();
  assertEquals(await failureCode(exchange.response), "cancelled");
  await nextTurn();
  assertEquals(network.transport.counts(), { opened: 1, reused: 0, retried: 0, idle: 1 });
  network.transport.close();
});

Deno.test("stray bytes on an idle connection close it", async () => {
  const { network, connection } = await withPooled();
  connection.push("HTTP/1.1 408 Request Timeout\r\n\r\n");
  await settle();
  assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
});

Deno.test("a request is repeated only once, and on a connection of its own", async () => {
  const network = fakeNetwork();
  const old = [network.prepare(), network.prepare()];
  const calls = old.map(() => call(network.transport, { url }));
  await settle();
  for (const connection of old) connection.push(ok("1"));
  await Promise.all(calls);
  network.prepare(null);
  const code = failureCode(network.transport.open(request).response);
  for (const connection of old) connection.push(null);
  assertEquals(await code, "cut");
  assertEquals(network.connections.length, 3);
  assertEquals(network.transport.counts().retried, 1);
});

Deno.test("a fresh connection that ends without an answer is not tried again", async () => {
  const network = fakeNetwork();
  network.prepare(null);
  assertEquals(await failureCode(network.transport.open(request).response), "cut");
  assertEquals(network.connections.length, 1);
});

Deno.test("a pooled connection that ends after the first byte is not tried again", async () => {
  const { network, connection } = await withPooled();
  const exchange = network.transport.open(request);
  connection.push("H", null);
  assertEquals(await failureCode(exchange.response), "cut");
  assertEquals(network.connections.length, 1);
});

Deno.test("a pooled connection that is silent is not tried again", async () => {
  const { network } = await withPooled();
  const exchange = network.transport.open(request);
  await network.passMs(16 * 60_000);
  assertEquals(await failureCode(exchange.response), "timeout");
  assertEquals(network.connections.length, 1);
});

Deno.test("a pooled connection is closed after its idle time", async () => {
  const { network, connection } = await withPooled({ idleConnectionMs: 10_000 });
  await network.passMs(9_000);
  assertEquals(connection.closed, false);
  await network.passMs(1_200);
  assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
});

Deno.test("the peer's own keep-alive time shortens the idle time", async () => {
  const network = fakeNetwork();
  const connection = network.prepare(
    "HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 0\r\n\r\n",
  );
  await call(network.transport, { url });
  await network.passMs(3_900);
  assertEquals(connection.closed, false);
  await network.passMs(300);
  assertEquals(connection.closed, true);
});

Deno.test("the pool is bounded: the oldest connection is closed", async () => {
  const network = fakeNetwork({ idleConnectionsPerOrigin: 2 });
  const all = [1, 2, 3].map(() => network.prepare());
  const calls = all.map(() => call(network.transport, { url }));
  await settle();
  for (const connection of all) {
    connection.push(ok("x"));
    await settle();
  }
  await Promise.all(calls);
  assertEquals(all.map(({ closed }) => closed), [true, false, false]);
  network.transport.close();
});

Deno.test("after close() a connection that comes back is closed", async () => {
  const network = fakeNetwork();
  const connection = network.prepare();
  const answered = call(network.transport, { url });
  await settle();
  network.transport.close();
  connection.push(ok("x"));
  assertEquals((await answered).status, 200);
  assertEquals(connection.closed, true);
});

// ---- cancel and time-outs ----

Deno.test("cancel while connecting rejects immediately and closes a connection that opens later", async () => {
  const late = Promise.withResolvers<void>();
  const network = fakeNetwork();
  const connection = network.prepare();
  let aborted = false;
  const slow = fakeNetwork({
    connect: async (_target, signal) => {
      signal.addEventListener("abort", () => aborted = true);
      await late.promise;
      return connection;
    },
  });
  const exchange = slow.transport.open(request);
  await settle();
  exchange.cancel();
  exchange.cancel();
  assertEquals(await failureCode(exchange.response), "cancelled");
  assertEquals(aborted, true);
  late.resolve();
  await settle();
  assertEquals(connection.closed, true);
});

Deno.test("cancel before, in and after the answer", async () => {
  for (const pieces of [[], ["HTTP/1.1 2"], [ok("hello").slice(0, -2)]]) {
    const network = fakeNetwork();
    const connection = network.prepare(...pieces);
    const exchange = network.transport.open(request);
    await settle();
    exchange.cancel();
    assertEquals(connection.closed, true);
    const whole = exchange.response.then(({ body }) => readWhole(body));
    assertEquals(await failureCode(whole), "cancelled");
    assertEquals(network.transport.counts().idle, 0);
  }
});

Deno.test("cancel on a pooled connection is not mistaken for a stale connection", async () => {
  const { network, connection } = await withPooled();
  const exchange = network.transport.open(request);
  await settle();
  exchange.cancel();
  assertEquals(await failureCode(exchange.response), "cancelled");
  assertEquals(network.transport.counts(), { opened: 1, reused: 1, retried: 0, idle: 0 });
  assertEquals(connection.closed, true);
});

Deno.test("cancel in the middle of a read rejects it, and every later one", async () => {
  const network = fakeNetwork();
  const connection = network.prepare("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const exchange = network.transport.open(request);
  const { body } = await exchange.response;
  const read = body.read();
  await settle();
  exchange.cancel();
  assertEquals(connection.closed, true);
  assertEquals(await failureCode(read), "cancelled");
  assertEquals(await failureCode(body.read()), "cancelled");
});

Deno.test("cancel after the end leaves the pooled connection unchanged", async () => {
  const network = fakeNetwork();
  const connection = network.prepare(ok("x"));
  const exchange = network.transport.open(request);
  await readWhole((await exchange.response).body);
  exchange.cancel();
  assertEquals(await (await exchange.response).body.read(), null);
  assertEquals([connection.closed, network.transport.counts().idle], [false, 1]);
  network.transport.close();
});

Deno.test("cancel after the whole body but before its end closes the connection", async () => {
  const network = fakeNetwork();
  const connection = network.prepare(ok("x"));
  const exchange = network.transport.open(request);
  const { body } = await exchange.response;
  await body.read();
  exchange.cancel();
  assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
  assertEquals(await failureCode(body.read()), "cancelled");
});

Deno.test("a connection that does not open in time fails as connect", async () => {
  let aborted = false;
  const network = fakeNetwork({
    connect: (_target, signal) => {
      signal.addEventListener("abort", () => aborted = true);
      return new Promise(() => {});
    },
  });
  const exchange = network.transport.open(request);
  await network.passMs(4_900);
  assertEquals(aborted, false);
  await network.passMs(300);
  assertEquals(await failureCode(exchange.response), "connect");
  assertEquals(aborted, true);
});

Deno.test("a connection that is refused fails as connect, thrown or rejected", async () => {
  for (
    const connect of [
      () => Promise.reject(new Error("refused")),
      () => {
        throw new Error("refused");
      },
    ]
  ) {
    const network = fakeNetwork({ connect });
    assertEquals(await failureCode(network.transport.open(request).response), "connect");
  }
});

Deno.test("silence counts while a read is pending, not while the reader is busy", async () => {
  const network = fakeNetwork({ idleMs: 10_000 });
  const connection = network.prepare("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", "abc");
  const { body } = await network.transport.open(request).response;
  assertEquals(decode(await body.read() ?? new Uint8Array()), "abc");
  await network.passMs(60_000);
  assertEquals(connection.closed, false);
  const second = body.read();
  await network.passMs(9_000);
  connection.push("def");
  assertEquals(decode(await second ?? new Uint8Array()), "def");
  const third = body.read();
  await network.passMs(9_900);
  assertEquals(connection.closed, false);
  await network.passMs(300);
  assertEquals(await failureCode(third), "timeout");
  assertEquals(connection.closed, true);
});

Deno.test("a long upload is not silence", async () => {
  const network = fakeNetwork({ headMs: 10_000, singleWriteBytes: 10 });
  const connection = network.prepare();
  connection.writeBytes = 1;
  let gate = Promise.withResolvers<void>();
  connection.writeGate = gate.promise;
  const answered = call(network.transport, { url, body: new Uint8Array(20) });
  await settle();
  for (let turn = 0; turn < 5; turn++) {
    await network.passMs(8_000);
    const passed = gate;
    gate = Promise.withResolvers<void>();
    connection.writeGate = gate.promise;
    passed.resolve();
    await settle();
  }
  assertEquals([connection.closed, connection.sent.length], [false, 5]);
  connection.writeGate = undefined;
  gate.resolve();
  while (!connection.sent.endsWith("\0".repeat(20))) await settle();
  connection.push(ok("x"));
  assertEquals((await answered).status, 200);
  network.transport.close();
});

// ---- faults of a peer ----

const broken:
  readonly (readonly [why: string, code: string, pieces: readonly (string | null)[]])[] = [
    ["another protocol", "protocol", ["SSH-2.0-OpenSSH_9\r\n"]],
    ["an endless head", "too_large", ["HTTP/1.1 200 OK\r\na: " + "x".repeat(40_000)]],
    ["too long a head", "too_large", ["HTTP/1.1 200 OK\r\na: " + "x".repeat(40_000) + "\r\n\r\n"]],
    ["a protocol change", "protocol", ["HTTP/1.1 101 Switching Protocols\r\n\r\n"]],
    ["interim answers without end", "protocol", ["HTTP/1.1 100 Continue\r\n\r\n".repeat(9)]],
    ["a cut head", "cut", ["HTTP/1.1 200 OK\r\ncontent-le", null]],
    ["a cut body", "cut", [ok("hello").slice(0, -1), null]],
    ["a cut size line", "cut", ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5", null]],
    ["no last chunk", "cut", [
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n",
      null,
    ]],
    ["a bad chunk", "protocol", ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\n"]],
  ];
for (const [why, code, pieces] of broken) {
  Deno.test(`${why} fails as ${code} and the connection is closed`, async () => {
    const network = fakeNetwork();
    const connection = network.prepare(...pieces);
    assertEquals(await failureCode(call(network.transport, { url })), code);
    assertEquals([connection.closed, network.transport.counts().idle], [true, 0]);
  });
}

Deno.test("bytes before a break in the body are returned first", async () => {
  const network = fakeNetwork();
  network.prepare("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", new Error("reset"));
  const { body } = await network.transport.open(request).response;
  assertEquals(decode(await body.read() ?? new Uint8Array()), "abc");
  assertEquals(await failureCode(body.read()), "cut");
  assertEquals(await failureCode(body.read()), "cut");
});

Deno.test("a forbidden request is refused before any connection", async () => {
  const network = fakeNetwork();
  for (
    const bad of [
      { url: "ftp://a.example/" },
      { url, headers: [["x-a", "b\r\nhost: evil"]] as const },
    ]
  ) {
    assertEquals(await failureCode(call(network.transport, bad)), "refused");
  }
  assertEquals(network.connections.length, 0);
});

// ---- any answer in any pieces ----

const framedBody = fc.record({
  body: fc.uint8Array({ maxLength: 3_000 }),
  framing: fc.constantFrom("length", "chunked", "close"),
  chunkBytes: fc.integer({ min: 1, max: 900 }),
  headerBytes: fc.nat({ max: 3_000 }),
  interims: fc.nat({ max: 2 }),
});

Deno.test("any answer in any pieces passes unchanged through one small buffer", async () => {
  await fc.assert(
    fc.asyncProperty(
      framedBody,
      fc.array(fc.nat({ max: 10_000 }), { maxLength: 12 }),
      async (answer, cuts) => {
        const network = fakeNetwork({ readBytes: 64, readMaxBytes: 256, headBytes: 8_192 });
        const connection = network.prepare(...splitAt(encodeAnswer(answer), cuts), null);
        const got = await call(network.transport, { url });
        assertEquals(got.body, answer.body);
        assertEquals(got.header("x-pad")?.length, answer.headerBytes);
        network.transport.close();
        assertEquals(connection.closed, true);
      },
    ),
    { numRuns: 300 },
  );
});

function encodeAnswer(
  { body, framing, chunkBytes, headerBytes, interims }: typeof framedBody extends
    fc.Arbitrary<infer Answer> ? Answer : never,
): Uint8Array {
  const latin1 = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
  const raw = Array.from(body, (byte) => String.fromCharCode(byte)).join("");
  let head = "HTTP/1.1 100 Continue\r\n\r\n".repeat(interims) +
    `HTTP/1.1 200 OK\r\nx-pad: ${"p".repeat(headerBytes)}\r\n`;
  if (framing === "length") return latin1(`${head}content-length: ${body.length}\r\n\r\n${raw}`);
  if (framing === "close") return latin1(`${head}\r\n${raw}`);
  head += "transfer-encoding: chunked\r\n\r\n";
  for (let at = 0; at < raw.length; at += chunkBytes) {
    const data = raw.slice(at, at + chunkBytes);
    head += `${data.length.toString(16)}\r\n${data}\r\n`;
  }
  return latin1(`${head}0\r\n\r\n`);
}

Deno.test("several chunks that arrive together are returned as one view", async () => {
  const network = fakeNetwork();
  network.prepare(
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n",
  );
  const { body } = await network.transport.open(request).response;
  assertEquals(decode(await body.read() ?? new Uint8Array()), "abcdef");
  assertEquals(await body.read(), null);
  network.transport.close();
});
