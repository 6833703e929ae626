import { assert, assertEquals } from "../../../../support/assert.ts";
import * as fc from "../../../../support/property.ts";
import {
  findRequestHeadEnd,
  parseRequestHead,
  RequestRefusal,
} from "../../../../../core/net/http1/server/request_head.ts";

const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const parse = (...lines: string[]) => parseRequestHead(bytesOf(`${lines.join("\r\n")}\r\n\r\n`));
const post = "POST /v1/messages HTTP/1.1";

Deno.test("parseRequestHead: reads request line and headers, names in any case, values trimmed", () => {
  const head = parse(
    "POST /v1/messages?beta=true HTTP/1.1",
    "Host: gateway.example:8787",
    "X-Api-Key: \t abc \t",
    "X-Empty:",
    "Accept: a",
    "accept: b",
    "X-Latin: caf\xe9\xa0",
    "Content-Length: 42",
  );
  assertEquals(head.method, "POST");
  assertEquals(head.target, "/v1/messages?beta=true");
  assertEquals(head.host, "gateway.example:8787");
  assertEquals(head.get("x-api-key"), "abc");
  assertEquals(head.get("x-empty"), "");
  assertEquals(head.get("accept"), "a, b");
  assertEquals(head.get("x-absent"), null);
  assertEquals([head.has("x-empty"), head.has("x-absent")], [true, false]);
  assertEquals(head.get("x-latin"), "caf\xe9\xa0");
  assertEquals(head.body, 42);
  assertEquals(head.keepAlive, true);
  assertEquals(head.expectsContinue, false);
  assertEquals(head.entries(), [
    ["Host", "gateway.example:8787"],
    ["X-Api-Key", "abc"],
    ["X-Empty", ""],
    ["Accept", "a"],
    ["accept", "b"],
    ["X-Latin", "caf\xe9\xa0"],
    ["Content-Length", "42"],
  ]);
});

Deno.test("parseRequestHead: headers are what `Headers` makes of the same lines", () => {
  const name = fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,8}$/);
  const value = fc.stringMatching(/^[\t\x20-\x7e\x80-\xff]{0,12}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constant("x-").chain((p) => name.map((n) => p + n)), value)), (
      lines,
    ) => {
      const head = parse("GET / HTTP/1.1", "host: a", ...lines.map(([n, v]) => `${n}:${v}`));
      const headers = new Headers(lines);
      for (const [name] of lines) {
        assertEquals(head.get(name.toLowerCase()), headers.get(name));
      }
    }),
  );
});

const framings: readonly (readonly [lines: readonly string[], body: number | "chunked"])[] = [
  [[], 0],
  [["content-length: 0"], 0],
  [["content-length: 007"], 7],
  [["content-length: 999999999999999"], 999_999_999_999_999],
  [["Transfer-Encoding: Chunked"], "chunked"],
];

for (const [lines, body] of framings) {
  Deno.test(`parseRequestHead: the body of [${lines}] is ${body}`, () => {
    assertEquals(parse(post, "host: a", ...lines).body, body);
  });
}

const targets: readonly (readonly [line: string, target: string, host: string])[] = [
  ["GET /a/../b?c=[d]|{e}^`f HTTP/1.1", "/a/../b?c=[d]|{e}^`f", "here"],
  ["GET //a HTTP/1.1", "//a", "here"],
  ["GET http://there:80/a?b HTTP/1.1", "/a?b", "there:80"],
  ["GET HTTPS://there HTTP/1.1", "/", "there"],
  ["GET http://there?a HTTP/1.1", "/?a", "there"],
  ["OPTIONS * HTTP/1.1", "*", "here"],
];

for (const [line, target, host] of targets) {
  Deno.test(`parseRequestHead: ${line} asks ${host} for ${target}`, () => {
    const head = parse(line, "host: here");
    assertEquals([head.target, head.host], [target, host]);
  });
}

Deno.test("parseRequestHead: hosts are names, addresses and ports", () => {
  for (const host of ["a", "a.b:1", "[::1]", "[::1]:8080", "127.0.0.1", "a_b", "xn--a", "a:"]) {
    assertEquals(parse("GET / HTTP/1.1", `host: ${host}`).host, host);
  }
});

Deno.test("parseRequestHead: only HTTP/1.1 without `close` keeps a connection", () => {
  const keeps = (version: string, ...lines: string[]) =>
    parse(`GET / HTTP/${version}`, "host: a", ...lines).keepAlive;
  assertEquals(keeps("1.1"), true);
  assertEquals(keeps("1.1", "connection: keep-alive"), true);
  assertEquals(keeps("1.1", "connection: Close"), false);
  assertEquals(keeps("1.1", "connection: te", "connection: x , close"), false);
  assertEquals(keeps("1.1", "connection: closed"), true);
  assertEquals(keeps("1.0"), false);
  assertEquals(keeps("1.0", "connection: keep-alive"), false);
});

Deno.test("parseRequestHead: HTTP/1.0 needs no host", () => {
  assertEquals(parse("GET / HTTP/1.0").host, "localhost");
});

Deno.test("parseRequestHead: a client waits for 100 only with a body, and not in HTTP/1.0", () => {
  const waits = (...lines: string[]) => parse(...lines, "host: a", "expect: 100-Continue");
  assertEquals(waits(post, "content-length: 5").expectsContinue, true);
  assertEquals(waits(post, "transfer-encoding: chunked").expectsContinue, true);
  assertEquals(waits(post).expectsContinue, false);
  assertEquals(waits("POST / HTTP/1.0", "content-length: 5").expectsContinue, false);
});

function refusal(run: () => unknown): number {
  try {
    run();
  } catch (error) {
    assert(error instanceof RequestRefusal, String(error));
    return error.status;
  }
  throw new Error("not refused");
}

const refused: readonly (readonly [name: string, status: number, ...lines: string[]])[] = [
  ["no version", 400, "GET /", "host: a"],
  ["version 0.9", 400, "GET / HTTP/0.9", "host: a"],
  ["version 1.2", 400, "GET / HTTP/1.2", "host: a"],
  ["version 2.0", 400, "PRI * HTTP/2.0"],
  ["version in lower case", 400, "GET / http/1.1", "host: a"],
  ["white space behind the version", 400, "GET / HTTP/1.1 ", "host: a"],
  ["two spaces", 400, "GET  / HTTP/1.1", "host: a"],
  ["a tab for a space", 400, "GET\t/ HTTP/1.1", "host: a"],
  ["a space in the target", 400, "GET /a b HTTP/1.1", "host: a"],
  ["a space before the method", 400, " GET / HTTP/1.1", "host: a"],
  ["no target", 400, "GET HTTP/1.1", "host: a"],
  ["a fragment", 400, "GET /#a HTTP/1.1", "host: a"],
  ["a backslash in the target", 400, "GET /\\a HTTP/1.1", "host: a"],
  ["a byte beyond ASCII in the target", 400, "GET /\xe9 HTTP/1.1", "host: a"],
  ["a control character in the target", 400, "GET /\x01 HTTP/1.1", "host: a"],
  ["a target without a slash", 400, "GET a HTTP/1.1", "host: a"],
  ["a star with GET", 400, "GET * HTTP/1.1", "host: a"],
  ["user info in the target", 400, "GET http://a@b/ HTTP/1.1", "host: a"],
  ["another scheme", 400, "GET ftp://a/ HTTP/1.1", "host: a"],
  ["an unknown method", 501, "BREW / HTTP/1.1", "host: a"],
  ["a method in lower case", 501, "get / HTTP/1.1", "host: a"],
  ["CONNECT", 501, "CONNECT a:80 HTTP/1.1", "host: a"],
  ["TRACE", 501, "TRACE / HTTP/1.1", "host: a"],
  ["a method that is no token", 400, "G(T / HTTP/1.1", "host: a"],
  ["white space before a colon", 400, post, "host: a", "x-a : b"],
  ["a line without a colon", 400, post, "host: a", "x-a"],
  ["a line without a name", 400, post, "host: a", ": b"],
  ["a folded line", 400, post, "host: a", "x-a: b", " c"],
  ["a folded line at the start", 400, post, " x-a: b", "host: a"],
  ["a bare CR in a value", 400, post, "host: a", "x-a: b\rc"],
  ["a NUL in a value", 400, post, "host: a", "x-a: b\0c"],
  ["a control character in a value", 400, post, "host: a", "x-a: b\x7fc"],
  ["a byte beyond ASCII in a name", 400, post, "host: a", "x-\xe9: b"],
  ["no host", 400, post],
  ["two hosts", 400, post, "host: a", "host: a"],
  ["two hosts in one", 400, post, "host: a, b"],
  ["an empty host", 400, post, "host:"],
  ["a host with a path", 400, post, "host: a/b"],
  ["a host with user info", 400, post, "host: a@b"],
  ["a broken address", 400, post, "host: ["],
  ["both framings", 400, post, "host: a", "content-length: 5", "transfer-encoding: chunked"],
  ["a repeated length", 400, post, "host: a", "content-length: 5", "content-length: 5"],
  ["two lengths", 400, post, "host: a", "content-length: 5", "Content-Length: 6"],
  ["two lengths in one", 400, post, "host: a", "content-length: 5, 5"],
  ["an empty length", 400, post, "host: a", "content-length:"],
  ["a signed length", 400, post, "host: a", "content-length: +5"],
  ["a negative length", 400, post, "host: a", "content-length: -1"],
  ["a hexadecimal length", 400, post, "host: a", "content-length: 0x5"],
  ["a length with a blank", 400, post, "host: a", "content-length: 1 0"],
  ["a length of 16 digits", 400, post, "host: a", "content-length: 1000000000000000"],
  ["a length behind a no-break space", 400, post, "host: a", "content-length: \xa05"],
  ["an unknown coding", 400, post, "host: a", "transfer-encoding: gzip"],
  ["two codings", 400, post, "host: a", "transfer-encoding: gzip, chunked"],
  ["a repeated coding", 400, post, "host: a", "transfer-encoding: chunked", "Transfer-Encoding: x"],
  ["identity", 400, post, "host: a", "transfer-encoding: identity"],
  ["an empty coding", 400, post, "host: a", "transfer-encoding:"],
  ["a quoted coding", 400, post, "host: a", 'transfer-encoding: "chunked"'],
  ["a coding with a control character", 400, post, "host: a", "transfer-encoding: \x0bchunked"],
  ["a coding beside a tab", 400, post, "host: a", "transfer-encoding: chunked\t"],
  ["a length beside a tab", 400, post, "host: a", "content-length:\t5"],
  ["chunked in HTTP/1.0", 400, "POST / HTTP/1.0", "host: a", "transfer-encoding: chunked"],
  ["an unknown expectation", 417, post, "host: a", "expect: 200-ok"],
];

for (const [name, status, ...lines] of refused) {
  Deno.test(`parseRequestHead: refuses ${name} with ${status}`, () => {
    assertEquals(refusal(() => parse(...lines)), status);
  });
}

Deno.test("findRequestHeadEnd: finds the end wherever the search begins, and nothing behind `end`", () => {
  const wire = bytesOf("xxGET / HTTP/1.1\r\nhost: a\r\n\r\nGET");
  const headEnd = wire.length - 3;
  for (let from = 2; from < headEnd; from++) {
    assertEquals(findRequestHeadEnd(wire, 2, from, wire.length), headEnd, `from ${from}`);
  }
  for (let end = 2; end < headEnd; end++) {
    assertEquals(findRequestHeadEnd(wire, 2, 2, end), -1, `up to ${end}`);
  }
});

Deno.test("findRequestHeadEnd: refuses a line feed alone as soon as it is there", () => {
  for (const text of ["GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nhost: a\n\n", "\n"]) {
    const wire = bytesOf(text);
    assertEquals(refusal(() => findRequestHeadEnd(wire, 0, 0, wire.length)), 400, text);
  }
});

Deno.test("parseRequestHead: parses or refuses any bytes, in time linear in their number", () => {
  const alphabet = fc.constantFrom(..."GET /:aH1.\r\n\t \0;,".split(""));
  fc.assert(
    fc.property(fc.array(fc.oneof(alphabet, fc.string())), (parts) => {
      try {
        parseRequestHead(bytesOf(`${parts.join("")}\r\n\r\n`));
      } catch (error) {
        assert(error instanceof RequestRefusal, String(error));
      }
    }),
    { numRuns: 500 },
  );
  const long = "a".repeat(100_000);
  for (const line of [`x: ${long}\0`, `${long}`, `x:${"\t ".repeat(50_000)}\x01`]) {
    assertEquals(refusal(() => parse(post, "host: a", line)), 400);
  }
});
