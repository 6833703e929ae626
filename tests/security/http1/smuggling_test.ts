/**
 * Requests that are hidden in others, sent through proxies that deny their path: whatever way a proxy reads them and
 * passes them on, the server never serves a request that the proxy did not see.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { hasProxy, proxyKinds, startProxy } from "../../support/servers/plain_proxies.ts";
import { Reply } from "../../../core/net/http1/server/reply.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { serverBounds } from "../../../routes/server/http1/request_body.ts";
import { HttpServer } from "../../../routes/server/http1/http_server.ts";
import { latin1 } from "../../routes/server/http1/fake_client.ts";

const hidden = "GET /smuggled HTTP/1.1\r\nHost: h\r\nX: ";
const hiddenWhole = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";

/** A request with these header lines and this body. */
const request = (lines: readonly string[], body: string) =>
  `POST /open HTTP/1.1\r\nHost: h\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n${body}`;
const length = (body: string) => `Content-Length: ${body.length}`;
const asChunk = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

/** Ways to write the coding that some parsers take for `chunked` and some do not. */
const codings = [
  "Transfer-Encoding: chunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, identity",
  "Transfer-Encoding: identity, chunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
  "Transfer-Encoding:\tchunked",
  "Transfer-Encoding:\x0bchunked",
  "Transfer-Encoding: chunked\x0b",
  'Transfer-Encoding: "chunked"',
  "Transfer-Encoding:\r\n chunked",
  "X: y\r\n Transfer-Encoding: chunked",
  "X: y\nTransfer-Encoding: chunked",
  "X: y\rTransfer-Encoding: chunked",
  "\x00Transfer-Encoding: chunked",
  "Transfer_Encoding: chunked",
  "Transfer-Encoding: Chunked",
];

const lengths = [
  ["Content-Length: 0", "Content-Length: 60"],
  ["Content-Length: 60", "Content-Length: 0"],
  ["Content-Length: 0, 60"],
  ["Content-Length: +60"],
  ["Content-Length: 0x3c"],
  ["Content-Length: 6 0"],
  ["Content-Length: -1"],
  ["Content-Length : 60"],
  ["Content-Length:\x0b60"],
  ["Content_Length: 60"],
  ["X: y\nContent-Length: 60"],
  ["X: y\rContent-Length: 60"],
  ["Content-Length: 4294967296"],
  ["Content-Length: 99999999999999999999"],
];

const chunkings = [
  `0\r\n\r\n${hiddenWhole}`,
  `0\n\n${hiddenWhole}`,
  `0;\n\r\n${hiddenWhole}`,
  `1;a\nb\r\nx\r\n0\r\n\r\n${hiddenWhole}`,
  `5;\r\nhello\r\n0\r\n\r\n${hiddenWhole}`,
  `+0\r\n\r\n${hiddenWhole}`,
  `0x0\r\n\r\n${hiddenWhole}`,
  ` 0\r\n\r\n${hiddenWhole}`,
  `1\r\nx0\r\n\r\n${hiddenWhole}`,
  `00000000000000000\r\n\r\n${hiddenWhole}`,
  `100000000\r\n\r\n${hiddenWhole}`,
  `0\r\nContent-Length: 60\r\n\r\n${hiddenWhole}`,
  `0\r\nx: y\r\n\r\n${hiddenWhole}`,
  `0\r\n\r\r\n${hiddenWhole}`,
];

/** Everything that is tried. What is hidden is a body, a part of one, or the rest of one, in some reading. */
const tries: readonly string[] = [
  ...codings.flatMap((coding) => [
    // The proxy reads the length, the server the chunks; and the other way round.
    request([coding, length(`0\r\n\r\n${hidden}`)], `0\r\n\r\n${hidden}`),
    request([length(`0\r\n\r\n${hidden}`), coding], `0\r\n\r\n${hidden}`),
    request([coding, "Content-Length: 4"], asChunk(hiddenWhole)),
    // The proxy reads no coding at all, or the server does not.
    request([coding], asChunk(hiddenWhole)),
    request([coding], `0\r\n\r\n${hidden}`),
  ]),
  ...lengths.map((lines) => request(lines, hiddenWhole.padEnd(60, " "))),
  ...chunkings.map((body) => request(["Transfer-Encoding: chunked"], body)),
  ...chunkings.map((body) => request(["Transfer-Encoding: chunked", length(body)], body)),
  `GET /open HTTP/1.1\r\nHost: h\r\nConnection: Content-Length\r\n${
    length(hiddenWhole)
  }\r\n\r\n${hiddenWhole}`,
  `GET /open HTTP/1.1\r\nHost: h\r\nConnection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n${
    asChunk(hiddenWhole)
  }`,
  `GET /open HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${asChunk(hiddenWhole)}`,
  `GET /open HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n${
    length(hiddenWhole)
  }\r\n\r\n${hiddenWhole}`,
  `GET /open HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n${hidden}`,
  `GET /open HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n${hidden}`,
  `HEAD /open HTTP/1.1\r\nHost: h\r\n${length(hiddenWhole)}\r\n\r\n${hiddenWhole}`,
  `GET /open HTTP/1.1\r\nHost: h\r\nX: a\r\r\n\r\r\n${hidden}`,
  `GET /open?\x20HTTP/1.1\r\nHost: h\r\n\r\n${hidden}`,
  `GET /open HTTP/1.1\r\n Host: h\r\n\r\n${hidden}`,
  `GET http://h/open HTTP/1.1\r\nHost: h/smuggled\r\n\r\n`,
  `GET /open\x00/../smuggled HTTP/1.1\r\nHost: h\r\n\r\n`,
  `GET /open HTTP/1.1\r\nHost: h\r\nX: a\x00\r\n${hidden}\r\n\r\n`,
  `TRACE /open HTTP/1.1\r\nHost: h\r\n${length(hiddenWhole)}\r\n\r\n${hiddenWhole}`,
];

/** Milliseconds for which a try is open: enough for a proxy to answer, or to pass everything on. */
const tryMs = 150;

/** Sends bytes and reads what comes for a moment. */
async function send(port: number, text: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const over = new Promise<null>((resolve) => setTimeout(() => resolve(null), tryMs));
  let received = "";
  const buffer = new Uint8Array(10_000);
  const reading = (async () => {
    for (;;) {
      const bytes = await connection.read(buffer).catch(() => null);
      if (bytes === null) return;
      received += new TextDecoder().decode(buffer.subarray(0, bytes));
    }
  })();
  await connection.write(latin1(text)).catch(() => {});
  await Promise.race([reading, over]);
  await over;
  return received;
}

/** Sends a request and reads its answer, however long that takes. */
async function ask(port: number, path: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(latin1(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`));
  let received = "";
  const buffer = new Uint8Array(10_000);
  while (!received.includes("served") && !/^HTTP\/1\.1 [45][^]*\r\n\r\n/.test(received)) {
    const bytes = await connection.read(buffer).catch(() => null);
    if (bytes === null) break;
    received += new TextDecoder().decode(buffer.subarray(0, bytes));
  }
  return received;
}

/** A server that notes the path of every request that it serves. */
class NotingServer implements AsyncDisposable {
  readonly #deadlines = new Deadlines({ clock: systemClock });
  readonly paths: string[] = [];
  readonly server = new HttpServer({
    hostname: "127.0.0.1",
    port: 0,
    isShared: false,
    bounds: serverBounds,
    deadlines: this.#deadlines,
    handler: async (request) => {
      this.paths.push(request.headers.target);
      const body = await request.bytes().catch(() => undefined);
      return new Reply(body === undefined ? 400 : 200, [], latin1("served"));
    },
    failed: (status) => new Reply(status, [], null),
    date: () => "now",
    onTrouble: (error) => {
      throw error;
    },
  });

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.shutdown();
    this.#deadlines.close();
  }
}

for (const kind of proxyKinds) {
  const isThere = hasProxy(kind);
  Deno.test({
    name: `${tries.length} requests to be smuggled through ${kind.name}${
      isThere ? "" : " (skipped: not installed)"
    }`,
    ignore: !isThere,
    fn: async () => {
      await using noting = new NotingServer();
      const { paths, server } = noting;
      await using proxy = await startProxy(kind, server.address.port);
      // What the test relies on: the proxy denies the path, and the server would serve it.
      assert((await ask(proxy.port, "/smuggled")).startsWith("HTTP/1.1 403"), "it denies");
      assertEquals(paths.includes("/smuggled"), false);
      await ask(server.address.port, "/smuggled");
      assertEquals(paths.pop(), "/smuggled");

      let served = 0;
      for (let at = 0; at < tries.length; at += 16) {
        const some = tries.slice(at, at + 16);
        const answers = await Promise.all(some.map((text) => send(proxy.port, text)));
        // Other clients, over the connections that the proxy keeps: a rest of a try would come before their requests.
        const others = await Promise.all(
          Array.from({ length: 6 }, () => ask(proxy.port, "/other")),
        );
        for (const answer of others) assert(answer.includes("served"), answer);
        for (const [index, text] of some.entries()) {
          if (answers[index]?.includes("served")) served++;
          const seen = paths.filter((path) => path !== "/other" && path !== "/");
          const strange = seen.filter((path) => !/^\/open(\?.*)?$/.test(path));
          assertEquals(strange, [], JSON.stringify(text));
        }
      }
      assert(served > 0, "some of them are sound requests, in one reading");
      assert(served < tries.length, "some of them are refused");
    },
  });
}
