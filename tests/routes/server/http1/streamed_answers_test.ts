import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import type { ByteSink, ByteSource } from "../../../../core/lib/bytes/byte_parts.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import { exchange, latin1, serve, settled } from "./fake_client.ts";

const get = "GET / HTTP/1.1\r\nhost: h\r\n\r\n";
const head = "HTTP/1.1 200 OK\r\ndate: now\r\ntransfer-encoding: chunked\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const end = "0\r\n\r\n";

/** A source that the test steers, with a log of what was asked of it. */
class SteeredSource implements ByteSource {
  readonly log: string[] = [];
  sink!: ByteSink;
  #pulled = Promise.withResolvers<void>();

  start(sink: ByteSink): void {
    this.sink = sink;
    this.log.push("start");
  }

  pull(): Promise<void> {
    this.log.push("pull");
    this.#pulled = Promise.withResolvers<void>();
    return this.#pulled.promise;
  }

  cancel(): void {
    this.log.push("cancel");
  }

  /** Ends the pull with these bytes. */
  give(text: string): void {
    this.sink.enqueue(latin1(text));
    this.#pulled.resolve();
  }

  close(): void {
    this.sink.close();
    this.#pulled.resolve();
  }
}

function streaming(headers: [string, string][] = []) {
  const source = new SteeredSource();
  const served = serve(() => new Reply(200, headers, source));
  served.client.send(get);
  return { ...served, source };
}

Deno.test("a stream is sent as it comes, and asked for more only when its client has taken it", async () => {
  const { client, source, over } = streaming();
  await settled();
  assertEquals([client.received, source.log], [head, ["start", "pull"]]);
  client.take(false);
  source.give("one");
  await settled();
  assertEquals([client.received, source.log], [head + chunk("one"), ["start", "pull"]]);
  assertEquals(source.sink.desiredSize, -1);
  client.take(true);
  await settled();
  assertEquals(source.log, ["start", "pull", "pull"]);
  assertEquals(source.sink.desiredSize, 0);
  // Beside a pull, as a keep-alive comes: at once, and the pull goes on.
  source.sink.enqueue(latin1(": ping"));
  await settled();
  assertEquals(client.received, head + chunk("one") + chunk(": ping"));
  assertEquals(source.log, ["start", "pull", "pull"]);
  source.give("two");
  source.sink.close();
  client.end();
  await over;
  assertEquals(client.received, head + chunk("one") + chunk(": ping") + chunk("two") + end);
  assertEquals([client.writes, source.log.includes("cancel")], [4, false]);
});

Deno.test("the head goes out with the first bytes if they are here, and the end with the last", async () => {
  let pulls = 0;
  const source: ByteSource = {
    pull(sink) {
      pulls++;
      sink.enqueue(latin1("first"));
      sink.enqueue(latin1(", second"));
      sink.close();
    },
    cancel() {},
  };
  const { client, over } = serve(() => new Reply(200, [], source));
  client.send(get);
  client.end();
  await over;
  assertEquals([client.received, client.writes], [head + chunk("first, second") + end, 1]);
  assertEquals(pulls, 1);
});

Deno.test("bytes that are lent are sent as they were, whatever their length and whatever happens to them afterwards", async () => {
  const { client, source, over } = streaming();
  await settled();
  let expected = head;
  const lend = async (length: number) => {
    const lent = new Uint8Array(length).fill(97);
    source.sink.lend?.(lent);
    lent.fill(33);
    if (length > 0) expected += chunk("a".repeat(length));
    await settled();
    assertEquals(client.received, expected);
  };
  for (const length of [1, 15, 0, 16, 255, 256, 4_095, 4_096, 70_000]) await lend(length);
  // While an earlier write is under way they wait for it.
  client.take(false);
  await lend(3);
  for (const text of ["b", "c"]) {
    const lent = latin1(text);
    source.sink.lend?.(lent);
    lent.fill(33);
  }
  await settled();
  assertEquals(client.received, expected);
  client.take(true);
  source.close();
  client.end();
  await over;
  assertEquals(client.received, `${expected}${chunk("bc")}${end}`);
});

Deno.test("bytes that are lent before the head is sent, or to a client of HTTP/1.0, arrive whole", async () => {
  const source: ByteSource = {
    pull(sink) {
      const lent = latin1("lent");
      sink.lend?.(lent);
      lent.fill(33);
      sink.close();
    },
    cancel() {},
  };
  assertEquals(
    await exchange(() => new Reply(200, [], source), [get]),
    head + chunk("lent") + end,
  );
  const old = await exchange(() => new Reply(200, [], source), ["GET / HTTP/1.0\r\n\r\n"]);
  assert(old.endsWith("\r\n\r\nlent"), old);
});

Deno.test("an empty stream has a head and an end; empty pieces are no end", async () => {
  const empty: ByteSource = { pull: (sink) => sink.close(), cancel() {} };
  assertEquals(await exchange(() => new Reply(200, [], empty), [get]), head + end);
  let pulls = 0;
  const source: ByteSource = {
    pull(sink) {
      if (++pulls === 3) sink.close();
      else sink.enqueue(latin1(pulls === 1 ? "" : "a"));
    },
    cancel() {},
  };
  assertEquals(await exchange(() => new Reply(200, [], source), [get]), head + chunk("a") + end);
});

Deno.test("a stream that breaks off ends the connection without an end of the body", async () => {
  const failures: ((source: SteeredSource) => void)[] = [
    (source) => source.sink.error(new Error("broken")),
    (source) => {
      source.pull = () => Promise.reject(new Error("broken"));
      source.give("b");
    },
    (source) => {
      source.pull = () => {
        throw new Error("broken");
      };
      source.give("b");
    },
  ];
  for (const fail of failures) {
    const { client, source, over } = streaming();
    client.send(get);
    await settled();
    source.give("a");
    await settled();
    fail(source);
    await over;
    assert(client.isClosed);
    assert(client.received.startsWith(head + chunk("a")), client.received);
    assert(!client.received.includes(end), client.received);
  }
});

Deno.test("a declared length is kept to, or the connection ends", async () => {
  const declared: [string, string][] = [["content-length", "5"]];
  const declaredHead = "HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: 5\r\n\r\n";
  const cases = [
    { parts: ["he", "llo"], received: `${declaredHead}hello`, isWhole: true },
    { parts: ["hell"], received: `${declaredHead}hell`, isWhole: false },
    { parts: ["he", "llo!"], received: `${declaredHead}he`, isWhole: false },
  ];
  for (const { parts, received, isWhole } of cases) {
    const { client, source, over } = streaming(declared);
    for (const part of parts) {
      await settled();
      source.give(part);
    }
    await settled();
    if (!client.isClosed) source.close();
    await settled();
    assertEquals([client.received, client.isClosed], [received, !isWhole]);
    client.end();
    await over;
  }
});

Deno.test("a client of HTTP/1.0 learns the end of a stream from the end of the connection", async () => {
  const source = new SteeredSource();
  const { client, over } = serve(() => new Reply(200, [], source));
  client.send("GET / HTTP/1.0\r\n\r\n");
  await settled();
  source.give("a");
  source.close();
  await over;
  assertEquals(client.received, "HTTP/1.1 200 OK\r\ndate: now\r\nconnection: close\r\n\r\na");
});

Deno.test("the source learns that its client is gone: by a reset, a failed write, or never reading", async () => {
  const broken = streaming();
  await settled();
  broken.client.break();
  await broken.over;
  assertEquals(broken.source.log, ["start", "pull", "cancel"]);

  const failing = streaming();
  await settled();
  failing.client.closeWrite();
  failing.source.give("a");
  await failing.over;
  assertEquals(failing.source.log, ["start", "pull", "cancel"]);

  const unread = streaming();
  await settled();
  unread.client.take(false);
  unread.source.give("a");
  await settled();
  unread.time.advance(950_000);
  await settled();
  assertEquals(unread.client.isClosed, false);
  unread.time.advance(20_000);
  await unread.over;
  assertEquals(unread.source.log.at(-1), "cancel");
});

Deno.test("a stream goes on for a client that has only ended its side", async () => {
  const { client, source, over } = streaming();
  await settled();
  client.end();
  await settled();
  source.give("a");
  source.close();
  await over;
  assertEquals(client.received, head + chunk("a") + end);
  assert(!source.log.includes("cancel"));
});

Deno.test("the stream of a standard response is forwarded, and cancelled when its client is gone", async () => {
  const cancelled = Promise.withResolvers<void>();
  const pieces = ["a", "b", "c"];
  const { client, over } = serve(() =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await settled();
          const piece = pieces.shift();
          if (piece === undefined) await new Promise(() => {});
          controller.enqueue(latin1(piece ?? ""));
        },
        cancel: () => cancelled.resolve(),
      }, { highWaterMark: 0 }),
    )
  );
  client.send(get);
  for (let turn = 0; turn < 20; turn++) await settled();
  assertEquals(client.received, head + chunk("a") + chunk("b") + chunk("c"));
  client.break();
  await over;
  await cancelled.promise;
});

Deno.test("time bounds: the first byte, the head, the next request, an unread answer", async () => {
  const handler = () => new Reply(200, [], latin1("x"));
  const silent = serve(handler);
  silent.time.advance(31_000);
  await silent.over;
  assertEquals(silent.client.received, "");

  const slow = serve(handler);
  slow.client.send("GET / HT");
  await settled();
  for (let second = 0; second < 29; second++) {
    slow.time.advance(1_000);
    slow.client.send("x");
    await settled();
  }
  assertEquals(slow.client.received, "");
  slow.time.advance(2_000);
  await settled();
  assertMatch(slow.client.received, /^HTTP\/1.1 408 [^]*connection: close/);
  slow.time.advance(3_000);
  await slow.over;

  const idle = serve(handler);
  idle.client.send(get);
  await settled();
  idle.time.advance(619_000);
  idle.client.send(get);
  await settled();
  idle.time.advance(619_000);
  await settled();
  assertEquals(idle.client.isClosed, false);
  idle.time.advance(2_000);
  await idle.over;
  assertEquals(idle.client.writes, 2);

  const unread = serve(handler);
  unread.client.take(false);
  unread.client.send(get);
  await settled();
  unread.time.advance(119_000);
  assertEquals(unread.client.isClosed, false);
  unread.time.advance(2_000);
  await unread.over;
});

Deno.test("a body that hardly comes fails; one that comes slowly, or that nobody reads, does not", async () => {
  const start = "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 100000\r\n\r\n";
  const handlerOf = (began: Promise<void>) => async (request: { bytes(): Promise<Uint8Array> }) => {
    await began;
    return await request.bytes().then(
      () => new Reply(200, [], latin1("read")),
      () => new Reply(200, [], latin1("failed")),
    );
  };
  const stalled = serve(handlerOf(Promise.resolve()));
  stalled.client.send(start);
  for (let window = 0; window < 2; window++) {
    await settled();
    assertEquals(stalled.client.received, "");
    stalled.client.send("x".repeat(100));
    await settled();
    stalled.time.advance(15_500);
  }
  await settled();
  assertMatch(stalled.client.received, /connection: close\r\n\r\nfailed$/);
  stalled.time.advance(3_000);
  await stalled.over;

  const steady = serve(handlerOf(Promise.resolve()));
  steady.client.send(start);
  for (let window = 0; window < 50; window++) {
    await settled();
    steady.client.send("x".repeat(2_000));
    await settled();
    steady.time.advance(15_500);
  }
  await settled();
  assertMatch(steady.client.received, /read$/);
  steady.client.end();
  await steady.over;

  const begin = Promise.withResolvers<void>();
  const paused = serve(handlerOf(begin.promise));
  paused.client.send(start);
  await settled();
  paused.time.advance(100_000);
  begin.resolve();
  await settled();
  paused.time.advance(15_500);
  paused.client.send("x".repeat(100_000));
  await settled();
  await settled();
  assertMatch(paused.client.received, /read$/);
  paused.client.end();
  await paused.over;
});

Deno.test("stop: an idle connection ends at once, a running answer says that it is the last", async () => {
  const { client, source, connection, over } = streaming();
  await settled();
  connection.stop();
  source.give("a");
  source.close();
  await over;
  assertEquals(client.received, head + chunk("a") + end);

  const late = Promise.withResolvers<Reply>();
  const running = serve(() => late.promise);
  running.client.send(get + get);
  await settled();
  running.connection.stop();
  late.resolve(new Reply(200, [], latin1("x")));
  await running.over;
  assertMatch(running.client.received, /^HTTP\/1.1 200 OK\r\n[^]*connection: close\r\n\r\nx$/);

  const idle = serve(() => new Reply(200, [], null));
  idle.connection.stop();
  await idle.over;
  assert(idle.client.isClosed);
});
