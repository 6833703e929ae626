import { assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { findHeadEnd, parseResponseHead } from "../../../../core/net/http1/heads.ts";
import { UpstreamFailure } from "../../../../core/net/transport/transport.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const parse = (...lines: string[]) => parseResponseHead(encode(lines.join("\r\n") + "\r\n\r\n"));

Deno.test("parseResponseHead: reads status and headers, names in any case, values trimmed", () => {
  const head = parse(
    "HTTP/1.1 201 Created",
    "Content-Type:application/json",
    "X-Request-Id: \t abc \t",
    "X-Empty:",
    "Set-Cookie: a=1",
    "set-cookie: b=2",
    "Content-Length: 42",
  );
  assertEquals(head.status, 201);
  assertEquals(head.header("content-type"), "application/json");
  assertEquals(head.header("x-request-id"), "abc");
  assertEquals(head.header("x-empty"), "");
  assertEquals(head.header("set-cookie"), "a=1, b=2");
  assertEquals(head.header("x-absent"), undefined);
  assertEquals(head.framing, { kind: "length", bytes: 42 });
  assertEquals(head.keepAlive, true);
});

const framings = [
  { lines: ["HTTP/1.1 200 OK", "content-length: 0"], framing: { kind: "length", bytes: 0 } },
  { lines: ["HTTP/1.1 200", "transfer-encoding: Chunked"], framing: { kind: "chunked" } },
  { lines: ["HTTP/1.1 200 "], framing: { kind: "until_close" } },
  { lines: ["HTTP/1.1 204 No Content", "content-length: 5"], framing: { kind: "none" } },
  { lines: ["HTTP/1.1 304 Not Modified", "content-length: 5"], framing: { kind: "none" } },
  { lines: ["HTTP/1.1 100 Continue"], framing: { kind: "none" } },
  { lines: ["HTTP/1.0 200 OK"], framing: { kind: "until_close" } },
] as const;

for (const { lines, framing } of framings) {
  Deno.test(`parseResponseHead: ${lines.join(" | ")} is framed as ${framing.kind}`, () => {
    assertEquals(parse(...lines).framing, framing);
  });
}

const keepAlives = [
  { lines: ["HTTP/1.1 200 OK", "content-length: 1"], keepAlive: true },
  { lines: ["HTTP/1.1 200 OK", "content-length: 1", "connection: close"], keepAlive: false },
  { lines: ["HTTP/1.1 200 OK", "content-length: 1", "Connection: foo, Close"], keepAlive: false },
  { lines: ["HTTP/1.1 200 OK", "content-length: 1", "connection: closed"], keepAlive: true },
  { lines: ["HTTP/1.0 200 OK", "content-length: 1"], keepAlive: false },
  { lines: ["HTTP/1.1 200 OK"], keepAlive: false },
] as const;

for (const { lines, keepAlive } of keepAlives) {
  Deno.test(`parseResponseHead: ${lines.join(" | ")} ${keepAlive ? "keeps" : "closes"}`, () => {
    assertEquals(parse(...lines).keepAlive, keepAlive);
  });
}

Deno.test("parseResponseHead: reads for how long the peer keeps an idle connection", () => {
  const seconds = (value: string) =>
    parse("HTTP/1.1 200 OK", "content-length: 0", `keep-alive: ${value}`).keepAliveSeconds;
  assertEquals(seconds("timeout=5"), 5);
  assertEquals(seconds("max=100, Timeout = 72"), 72);
  assertEquals(seconds("xtimeout=5"), undefined);
});

const refused: readonly (readonly [name: string, lines: readonly string[]])[] = [
  ["another protocol", ["ICY 200 OK"]],
  ["HTTP/2", ["HTTP/2 200"]],
  ["HTTP/1.2", ["HTTP/1.2 200 OK"]],
  ["lower case http", ["http/1.1 200 OK"]],
  ["a status of two digits", ["HTTP/1.1 20 OK"]],
  ["a status of four digits", ["HTTP/1.1 2000 OK"]],
  ["a status above 599", ["HTTP/1.1 600 Odd"]],
  ["a status below 100", ["HTTP/1.1 099 Odd"]],
  ["no space before the reason", ["HTTP/1.1 200OK"]],
  ["two spaces before the status", ["HTTP/1.1  200 OK"]],
  ["NUL in the reason", ["HTTP/1.1 200 O\0K"]],
  ["a byte order mark", ["\ufeffHTTP/1.1 200 OK"]],
  ["a folded line", ["HTTP/1.1 200 OK", "a: b", " c"]],
  ["a folded first line", ["HTTP/1.1 200 OK", "\tc: d"]],
  ["space before the colon", ["HTTP/1.1 200 OK", "content-length : 5"]],
  ["no colon", ["HTTP/1.1 200 OK", "content-length 5"]],
  ["an empty name", ["HTTP/1.1 200 OK", ": 5"]],
  ["a name with a comma", ["HTTP/1.1 200 OK", "a,b: 5"]],
  ["NUL in a value", ["HTTP/1.1 200 OK", "a: b\0c"]],
  ["a line feed in a value", ["HTTP/1.1 200 OK", "a: b\nc: d"]],
  ["a carriage return in a value", ["HTTP/1.1 200 OK", "a: b\rc: d"]],
  ["two lengths", ["HTTP/1.1 200 OK", "content-length: 5", "content-length: 6"]],
  ["the same length twice", ["HTTP/1.1 200 OK", "content-length: 5", "Content-Length: 5"]],
  ["a list of lengths", ["HTTP/1.1 200 OK", "content-length: 5, 5"]],
  ["a negative length", ["HTTP/1.1 200 OK", "content-length: -5"]],
  ["a signed length", ["HTTP/1.1 200 OK", "content-length: +5"]],
  ["a hexadecimal length", ["HTTP/1.1 200 OK", "content-length: 0x5"]],
  ["an empty length", ["HTTP/1.1 200 OK", "content-length:"]],
  ["a length beyond exact numbers", ["HTTP/1.1 200 OK", "content-length: 9999999999999999"]],
  ["length and coding", ["HTTP/1.1 200 OK", "content-length: 5", "transfer-encoding: chunked"]],
  ["another coding", ["HTTP/1.1 200 OK", "transfer-encoding: gzip"]],
  ["two codings", ["HTTP/1.1 200 OK", "transfer-encoding: gzip, chunked"]],
  ["chunked twice", [
    "HTTP/1.1 200 OK",
    "transfer-encoding: chunked",
    "transfer-encoding: chunked",
  ]],
  ["chunked in HTTP/1.0", ["HTTP/1.0 200 OK", "transfer-encoding: chunked"]],
  ["an empty status line", ["", "a: b"]],
];

for (const [name, lines] of refused) {
  Deno.test(`parseResponseHead: refuses ${name}`, () => {
    assertThrows(() => parse(...lines), UpstreamFailure, "Cannot read the answer");
  });
}

Deno.test("findHeadEnd: finds the same end for bytes together and one by one", () => {
  const header = fc.string({ unit: fc.constantFrom("a", ":", " ", "\r", "\n"), maxLength: 40 });
  fc.assert(fc.property(header, fc.nat({ max: 9 }), (text, offset) => {
    const bytes = encode("x".repeat(offset) + text + "\r\n\r\nbody\r\n\r\n");
    const expected = bytes.length === 0
      ? -1
      : new TextDecoder().decode(bytes).indexOf("\r\n\r\n", Math.max(0, offset - 3)) + 4;
    assertEquals(findHeadEnd(bytes, offset, bytes.length), expected);
    let found = -1;
    for (let end = offset; end <= bytes.length && found === -1; end++) {
      found = findHeadEnd(bytes, Math.max(offset, end - 1), end);
    }
    assertEquals(found, expected);
  }));
});

Deno.test("findHeadEnd: does not search beyond the bytes that were read", () => {
  const stale = encode("HTTP/1.1 200 OK\r\n\r\n");
  assertEquals(findHeadEnd(stale, 0, stale.length - 1), -1);
  assertEquals(findHeadEnd(stale, 0, stale.length), stale.length);
});

Deno.test("parseResponseHead: reads or refuses any bytes", () => {
  const line = fc.oneof(
    fc.constantFrom("a: b", "content-length: 3", "transfer-encoding: chunked", "connection: close"),
    fc.string({ unit: "binary", maxLength: 30 }),
  );
  fc.assert(fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
    try {
      const head = parse("HTTP/1.1 200 OK", ...lines);
      assertEquals(head.status, 200);
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      assertEquals(error.code, "protocol");
    }
  }));
});
