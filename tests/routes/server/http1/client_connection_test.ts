import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import type { ByteSource } from "../../../../core/lib/bytes/byte_parts.ts";
import { serverBounds } from "../../../../routes/server/http1/request_body.ts";
import type { RequestHandler } from "../../../../routes/server/http1/client_connection.ts";
import type { ServedRequest } from "../../../../routes/server/http1/served_request.ts";
import { until } from "../../../support/until.ts";
import { exchange, latin1, serve, settled, textOf } from "./fake_client.ts";

const reply = (text: string, headers: [string, string][] = []) =>
  new Reply(200, headers, latin1(text));

/** What is answered with a head of its own. */
const answer = (text: string, extra = "") =>
  `HTTP/1.1 200 OK\r\ndate: now\r\ncontent-length: ${text.length}\r\n${extra}\r\n${text}`;
const last = "connection: close\r\n";

/** Answers with the method, the path and the body. */
const echo: RequestHandler = async (request) =>
  reply(`${request.method} ${request.url} ${textOf(await request.bytes())}`);
/** The same through a standard request and response. */
const standardEcho: RequestHandler = async (request) => {
  const standard = request.toRequest();
  if (standard === undefined) return new Reply(400, [], null);
  return new Response(`${standard.method} ${standard.url} ${await standard.text()}`);
};

const get = "GET /a?b HTTP/1.1\r\nhost: h\r\n\r\n";
const post = (body: string, extra = "") =>
  `POST /p HTTP/1.1\r\nhost: h\r\n${extra}content-length: ${body.length}\r\n\r\n${body}`;
const chunked = (extra = "") =>
  `POST /c HTTP/1.1\r\nhost: h\r\n${extra}transfer-encoding: chunked\r\n\r\n` +
  "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: v\r\n\r\n";

Deno.test("requests of a connection are answered in their order, one write for each", async () => {
  const { client, over } = serve(echo);
  client.send(get);
  await settled();
  assertEquals(client.received, answer("GET http://h/a?b "));
  client.send(post("hello"));
  await settled();
  assertEquals(client.received, answer("GET http://h/a?b ") + answer("POST http://h/p hello"));
  assertEquals(client.writes, 2);
  client.end();
  await over;
  assert(client.isClosed);
});

Deno.test("pipelined requests are answered in their order, however long the first takes", async () => {
  const first = Promise.withResolvers<void>();
  const seen: string[] = [];
  const { client } = serve(async (request) => {
    seen.push(request.url);
    if (seen.length === 1) await first.promise;
    return await echo(request, { transport: "tcp", hostname: "", port: 0 });
  });
  client.send(post("1") + chunked() + get);
  await settled();
  assertEquals([client.received, seen], ["", ["http://h/p"]]);
  first.resolve();
  await settled();
  assertEquals(
    client.received,
    answer("POST http://h/p 1") + answer("POST http://h/c abcde") + answer("GET http://h/a?b "),
  );
  client.end();
});

const largeBytes = 200_000;
const pieceBytes = 1_000;

/** A body of ten pieces that counts those that were asked for. */
function pieces(onPull: () => void): ByteSource {
  let pulled = 0;
  return {
    pull(into) {
      onPull();
      if (pulled++ === 10) into.close();
      else into.enqueue(new Uint8Array(pieceBytes));
    },
    cancel() {},
  };
}

const kindsOfAnswers: Readonly<Record<string, (onPull: () => void) => Reply>> = {
  small: () => reply("x"),
  large: () => new Reply(200, [], new Uint8Array(largeBytes)),
  streamed: (onPull) => new Reply(200, [], pieces(onPull)),
};

for (const [kind, answerWith] of Object.entries(kindsOfAnswers)) {
  Deno.test(`of 1,000 pipelined requests one is answered until its client reads: ${kind}`, async () => {
    let [answered, pulls] = [0, 0];
    const { client, connection, over } = serve(() => {
      answered++;
      return answerWith(() => pulls++);
    });
    client.take(false);
    for (let sent = 0; sent < 1_000; sent++) client.send(get);
    await settled();
    assertEquals([answered, client.writes], [1, 1]);
    assert(pulls <= 2, `${pulls} pieces of an answer that nobody reads`);
    // The requests behind it wait in the socket, but for one buffer of them.
    assertEquals(connection.reader.buffer.length, serverBounds.readBytes);
    client.take(true);
    await until(() => answered === 1_000, "all answers");
    client.end();
    await over;
  });
}

for (const [name, handler] of [["own", echo], ["standard", standardEcho]] as const) {
  Deno.test(`bytes may be cut anywhere: ${name} requests`, async () => {
    const wire = latin1(`\r\n${post("hello")}${chunked()}${get}`);
    const expected = (await exchange(handler, [wire])).replaceAll(/content-type: .*\r\n/g, "");
    assertEquals(
      expected,
      answer("POST http://h/p hello") + answer("POST http://h/c abcde") +
        answer("GET http://h/a?b "),
    );
    for (let cut = 1; cut < wire.length; cut++) {
      const received = await exchange(handler, [wire.subarray(0, cut), wire.subarray(cut)]);
      assertEquals(received.replaceAll(/content-type: .*\r\n/g, ""), expected, `cut at ${cut}`);
    }
    const single = await exchange(handler, [...wire].map((byte) => Uint8Array.of(byte)));
    assertEquals(single.replaceAll(/content-type: .*\r\n/g, ""), expected);
  });
}

Deno.test("large bodies arrive whole, by either framing and either kind of reader", async () => {
  const bytes = new Uint8Array(700_000).map((_, index) => index * 7 + (index >> 8));
  const readers: ((request: ServedRequest) => Promise<Uint8Array>)[] = [
    (request) => request.bytes(),
    async (request) => await request.toRequest()!.bytes(),
    async (request) => {
      const pieces = request.pieces();
      const parts: Uint8Array[] = [];
      for (;;) {
        const piece = await pieces?.read();
        if (piece === undefined) return await new Response(new Blob(parts as BlobPart[])).bytes();
        parts.push(piece.slice());
      }
    },
    async (request) => {
      const reader = request.body!.getReader({ mode: "byob" });
      const parts: Uint8Array[] = [];
      for (;;) {
        const { done, value } = await reader.read(new Uint8Array(10_000));
        if (done) return await new Response(new Blob(parts as BlobPart[])).bytes();
        parts.push(value);
      }
    },
  ];
  for (const read of readers) {
    const { client, over } = serve(async (request) => {
      assertEquals(await read(request), bytes);
      return reply("whole");
    });
    client.send(`POST / HTTP/1.1\r\nhost: h\r\ncontent-length: ${bytes.length}\r\n\r\n`);
    client.send(bytes);
    client.send("POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n");
    for (let at = 0; at < bytes.length; at += 33_333) {
      const chunk = bytes.subarray(at, at + 33_333);
      client.send(`${chunk.length.toString(16)}\r\n`);
      client.send(chunk);
      client.send("\r\n");
    }
    client.send("0\r\n\r\n");
    client.end();
    await over;
    assertEquals(client.received, answer("whole") + answer("whole"));
  }
});

Deno.test("the path is the one that was sent, also in a standard request", async () => {
  const seen: string[] = [];
  const paths = ["/a/../b", "//x//y", "/%61?q=%20", "/a/./b;c", "/|{}", "http://other/x"];
  await exchange((request) => {
    seen.push(request.toRequest()?.url ?? "");
    return reply("");
  }, paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: h\r\n\r\n`));
  assertEquals(seen, [...paths.slice(0, -1).map((path) => `http://h${path}`), "http://other/x"]);
});

const refused: readonly (readonly [name: string, status: number, sent: string])[] = [
  ["a bare line feed", 400, "GET / HTTP/1.1\nhost: h\n\n"],
  ["both framings", 400, post("abc", "transfer-encoding: chunked\r\n")],
  ["two lengths", 400, post("abc", "content-length: 4\r\n")],
  ["a folded line", 400, "GET / HTTP/1.1\r\nhost: h\r\nx: a\r\n b\r\n\r\n"],
  ["no host", 400, "GET / HTTP/1.1\r\n\r\n"],
  ["an unknown method", 501, "BREW / HTTP/1.1\r\nhost: h\r\n\r\n"],
  ["an unknown expectation", 417, "GET / HTTP/1.1\r\nhost: h\r\nexpect: x\r\n\r\n"],
  ["the preface of HTTP/2", 400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ["a long head", 431, `GET / HTTP/1.1\r\nhost: h\r\nx: ${"a".repeat(40_000)}\r\n\r\n`],
  ["a long head without an end", 431, `GET /${"a".repeat(40_000)}`],
  ["three empty lines", 400, "\r\n\r\n\r\n" + get],
];

for (const [name, status, sent] of refused) {
  Deno.test(`${name} is refused with ${status}, and nothing behind it is read`, async () => {
    let calls = 0;
    const { client, over } = serve(() => {
      calls++;
      return reply("");
    });
    client.send(post("") + sent + get.repeat(3));
    await settled();
    assertEquals(calls, 1);
    const [, second = ""] = client.received.split(answer(""));
    assertMatch(second, new RegExp(`^HTTP/1.1 ${status} [^]*\r\nconnection: close\r\n\r\n$`));
    assert(client.isHalfClosed && !client.isClosed, "the client gets to read the answer");
    client.end();
    await over;
    assertEquals([calls, client.isClosed], [1, true]);
  });
}

Deno.test("bad chunks make the body fail, and end the connection after the answer", async () => {
  for (const [at, chunks] of ["3\r\nabcd\r\n", "x\r\n", "3 \r\nabc\r\n", "3\nabc"].entries()) {
    let calls = 0;
    const head = "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n";
    const received = await exchange(async (request) => {
      calls++;
      return await request.bytes().then(() => reply("read"), () => reply("failed"));
    }, [head + chunks + "0\r\n\r\n" + get]);
    assertEquals([received, calls], [answer("failed", last), 1], `case ${at}`);
  }
});

Deno.test("a request that ends early makes the body fail", async () => {
  const handler: RequestHandler = (request) =>
    request.bytes().then(() => reply("read"), () => reply("failed"));
  assertEquals(await exchange(handler, [post("hello").slice(0, -1)]), answer("failed", last));
  assertEquals(await exchange(handler, [chunked().slice(0, -1)]), answer("failed", last));
  assertEquals(await exchange(handler, [get.slice(0, -1)]), "");
});

Deno.test("100 Continue is sent when the body is read, and only then", async () => {
  const expecting =
    `POST /p HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n`;
  const interim = "HTTP/1.1 100 Continue\r\n\r\n";
  const { client, over } = serve(echo);
  client.send(expecting);
  await settled();
  assertEquals(client.received, interim);
  client.send("hello" + get);
  await settled();
  assertEquals(
    client.received,
    interim + answer("POST http://h/p hello") + answer("GET http://h/a?b "),
  );
  client.end();
  await over;
  assertEquals(await exchange(echo, [`${expecting}hello`]), answer("POST http://h/p hello"));
  // Unread: whether a body follows is unknown, so nothing may follow.
  assertEquals(await exchange(() => reply("no"), [expecting, get]), answer("no", last));
});

Deno.test("a body that nobody reads is skipped if it is here, or ends the connection", async () => {
  const ignoring: RequestHandler = () => reply("no");
  assertEquals(
    await exchange(ignoring, [post("hello") + chunked() + get]),
    answer("no").repeat(3),
  );
  const head = "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 100\r\n\r\n";
  assertEquals(await exchange(ignoring, [head, get.repeat(9)]), answer("no", last));
});

Deno.test("HEAD, 204 and 304 have no body", async () => {
  const head = "HEAD / HTTP/1.1\r\nhost: h\r\n\r\n";
  const start = (status: string) => `HTTP/1.1 ${status}\r\ndate: now\r\n`;
  assertEquals(
    await exchange(() => reply("hello"), [head]),
    start("200 OK") + "content-length: 5\r\n\r\n",
  );
  let cancels = 0;
  const source = { pull: () => undefined, cancel: () => void cancels++ };
  assertEquals(
    await exchange(() => new Reply(200, [], source), [head + head]),
    `${start("200 OK")}\r\n`.repeat(2),
  );
  assertEquals(cancels, 2);
  for (const [status, line] of [[204, "204 No Content"], [304, "304 Not Modified"]] as const) {
    const handler = () => new Reply(status, [], latin1("ignored"));
    assertEquals(await exchange(handler, [get + get]), `${start(line)}\r\n`.repeat(2));
  }
  assertEquals(await exchange(() => new Reply(200, [], null), [get]), answer(""));
});

Deno.test("a client that asks for `close`, or speaks HTTP/1.0, gets one answer", async () => {
  const closing = get.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
  assertEquals(await exchange(echo, [closing + get]), answer("GET http://h/a?b ", last));
  const old = "GET /a HTTP/1.0\r\n\r\n";
  assertEquals(await exchange(echo, [old + get]), answer("GET http://localhost/a ", last));
  const handler = () => reply("bye", [["connection", "close"]]);
  assertEquals(await exchange(handler, [get + get]), answer("bye", last));
});

Deno.test("a client that has ended its side gets its answer", async () => {
  const end = Promise.withResolvers<void>();
  const { client, over } = serve(async () => {
    await end.promise;
    return reply("late");
  });
  client.send(post("x"));
  client.end();
  await settled();
  end.resolve();
  await over;
  assertEquals(client.received, answer("late"));
});

Deno.test("the signal of a request aborts when its client leaves, also if it is asked for later", async () => {
  for (const leave of ["end", "break"] as const) {
    for (const isAskedLater of [false, true]) {
      const over = Promise.withResolvers<void>();
      const signals: AbortSignal[] = [];
      const { client } = serve(async (request) => {
        await request.bytes();
        if (!isAskedLater) signals.push(request.signal);
        await over.promise;
        signals.push(request.signal);
        return reply("");
      });
      client.send(post("x"));
      await settled();
      assertEquals(signals.map(({ aborted }) => aborted), isAskedLater ? [] : [false]);
      client[leave]();
      await settled();
      if (!isAskedLater) assertEquals(signals[0]?.aborted, true);
      over.resolve();
      await settled();
      assertEquals(signals.at(-1)?.aborted, true);
    }
  }
});

Deno.test("the signal of an answered request does not abort", async () => {
  const signals: AbortSignal[] = [];
  await exchange((request) => {
    signals.push(request.signal);
    return reply("");
  }, [get, get]);
  assertEquals(signals.map(({ aborted }) => aborted), [false, false]);
});

Deno.test("a handler that fails is a defect, and answers 500", async () => {
  const bug = new Error("bug");
  for (
    const handler of [() => Promise.reject(bug), () => {
      throw bug;
    }]
  ) {
    const { client, defects, over } = serve(handler);
    client.send(get);
    client.end();
    await over;
    assertMatch(client.received, /^HTTP\/1.1 500 /);
    assertEquals(defects, [bug]);
  }
});

Deno.test("a header that would break the head is not sent", async () => {
  for (const value of ["a\r\nb: c", "a\nb", "a\0"]) {
    const { client, defects, over } = serve(() => reply("", [["x", value]]));
    client.send(get + get);
    client.end();
    await over;
    assertEquals([client.received, defects.length], ["", 1]);
  }
});

Deno.test("headers that belong to the server are not taken from the handler", async () => {
  const headers: [string, string][] = [
    ["content-length", "77"],
    ["transfer-encoding", "chunked"],
    ["connection", "keep-alive"],
    ["date", "then"],
  ];
  assertEquals(await exchange(() => reply("abc", headers), [get]), answer("abc"));
});

Deno.test("a standard response keeps its headers; its length is told if it is known", async () => {
  const handler: RequestHandler = () => {
    const response = new Response("hé", { status: 201, headers: { "set-cookie": "a=1" } });
    response.headers.append("set-cookie", "b=2");
    response.headers.set("x-latin", "\xe9");
    return response;
  };
  assertEquals(
    await exchange(handler, [get]),
    "HTTP/1.1 201 Created\r\ncontent-type: text/plain;charset=UTF-8\r\n" +
      "set-cookie: a=1\r\nset-cookie: b=2\r\nx-latin: \xe9\r\n" +
      "date: now\r\ncontent-length: 3\r\n\r\nh\xc3\xa9",
  );
  assertEquals(
    await exchange(() => new Response(null, { status: 204 }), [get]),
    "HTTP/1.1 204 No Content\r\ndate: now\r\n\r\n",
  );
});

Deno.test("pieces that are cancelled fail, and end the connection after the answer", async () => {
  let handled = Promise.resolve();
  const { client, over } = serve(async (request) => {
    const pieces = request.pieces();
    const reading = pieces?.read().then(() => "read", () => "failed");
    await pieces?.cancel();
    handled = settled();
    return reply(await reading ?? "none");
  });
  client.send("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 100\r\n\r\n");
  await settled();
  await handled;
  assertEquals(client.received, answer("failed", last));
  client.end();
  await over;
});

Deno.test("time bounds: a client that takes a large answer slowly gets all of it", async () => {
  const body = new Uint8Array(100_000).fill(65);
  const { client, time } = serve(() => new Reply(200, [], body));
  client.maxTakenBytes = 30_000;
  client.take(false);
  client.send("GET / HTTP/1.1\r\nhost: here\r\n\r\n");
  for (let writes = 1; writes <= 5; writes++) {
    await settled();
    assertEquals([client.writes, client.isClosed], [writes, false]);
    time.advance(100_000);
    client.take(true);
    client.take(false);
  }
  await settled();
  assertEquals(client.received.split("\r\n\r\n")[1]?.length, body.length);
  assertEquals(client.isClosed, false);
  client.end();
});
