import { assertEquals, assertThrows } from "../../../support/assert.ts";
import { encodeRequest, parseDestination, WriteBuffers } from "../../../../core/net/http1/heads.ts";
import { UpstreamFailure, type UpstreamRequest } from "../../../../core/net/transport/transport.ts";
import { concat } from "./bytes.ts";

const url = "https://api.example/v1/x?y=z";
const buffers = new WriteBuffers();

function wire(change: Partial<UpstreamRequest>, singleWriteBytes = 1_000): string {
  const request: UpstreamRequest = { method: "POST", url, headers: [], body: null, ...change };
  const { first, rest } = encodeRequest(
    request,
    parseDestination(request.url),
    singleWriteBytes,
    buffers,
  );
  return new TextDecoder("latin1").decode(concat([first, ...rest]));
}

Deno.test("encodeRequest: writes request line, host, headers in order, length and body", () => {
  const body = new TextEncoder().encode('{"a":1}');
  assertEquals(
    wire({ headers: [["content-type", "application/json"], ["x-b", "c"]], body }),
    "POST /v1/x?y=z HTTP/1.1\r\nhost: api.example\r\ncontent-type: application/json\r\nx-b: c\r\n" +
      'accept-encoding: identity\r\ncontent-length: 7\r\n\r\n{"a":1}',
  );
});

Deno.test("encodeRequest: a POST without a body has length 0, other methods have none", () => {
  const tail = "accept-encoding: identity\r\n";
  assertEquals(wire({}).endsWith(`${tail}content-length: 0\r\n\r\n`), true);
  assertEquals(wire({ method: "GET" }).endsWith(`${tail}\r\n`), true);
  assertEquals(wire({ method: "DELETE" }).endsWith(`${tail}\r\n`), true);
  assertEquals(wire({ method: "DELETE", body: Uint8Array.of(65) }).includes("length: 1"), true);
});

Deno.test("encodeRequest: a caller's accept-encoding is kept", () => {
  const text = wire({ headers: [["accept-encoding", "gzip"]] });
  assertEquals(text.match(/accept-encoding/g)?.length, 1);
});

Deno.test("encodeRequest: a small body is joined to the head, a large one is not copied", () => {
  const body = Uint8Array.from({ length: 5_000 }, (_, index) => index & 255);
  const request: UpstreamRequest = { method: "POST", url, headers: [], body };
  const joined = encodeRequest(request, parseDestination(url), 5_000, buffers);
  assertEquals(joined.rest, []);
  const apart = encodeRequest(request, parseDestination(url), 4_999, buffers);
  assertEquals(apart.rest.length === 1 && apart.rest[0] === body, true);
  assertEquals(concat([apart.first, body]), concat([joined.first]));
  const pieces = [body.subarray(0, 900), body.subarray(900, 4_000), body.subarray(4_000)];
  const inPieces = encodeRequest(
    { ...request, body: pieces },
    parseDestination(url),
    1_000,
    buffers,
  );
  assertEquals(inPieces.rest.length === 2 && inPieces.rest[0] === pieces[1], true);
  assertEquals(concat([inPieces.first, ...inPieces.rest]), concat([joined.first]));
});

Deno.test("encodeRequest: a value above ASCII is sent byte for byte as Latin-1", () => {
  const body = new TextEncoder().encode("é");
  assertEquals(
    wire({ headers: [["x-name", "caf\u00e9"]], body }).includes("x-name: caf\u00e9\r\n"),
    true,
  );
});

const refusedHeaders: readonly (readonly [name: string, value: string])[] = [
  ["x-a", "b\r\nx-c: d"],
  ["x-a", "b\nx-c: d"],
  ["x-a", "b\rc"],
  ["x-a", "b\0c"],
  ["x-a", "b\x7f"],
  ["x-a", "\u0100"],
  ["x-a", "\u{1f600}"],
  ["x-a\r\nx-b", "c"],
  ["x a", "b"],
  ["x:a", "b"],
  ["", "b"],
  ["X-A", "b"],
  ["x-\u00e9", "b"],
  ["host", "other.example"],
  ["content-length", "3"],
  ["transfer-encoding", "chunked"],
  ["connection", "close"],
  ["expect", "100-continue"],
  ["upgrade", "h2c"],
];

for (const header of refusedHeaders) {
  Deno.test(`encodeRequest: refuses the header ${JSON.stringify(header)}`, () => {
    assertThrows(() => wire({ headers: [header] }), UpstreamFailure, "Cannot send the request");
  });
}

Deno.test("parseDestination: hosts, ports, paths and addresses", () => {
  const cases = [
    ["http://a.example", "a.example", 80, false, "a.example", "/"],
    ["https://a.example:443/b", "a.example", 443, true, "a.example", "/b"],
    ["https://A.Example:8443/b/?c#d", "a.example", 8443, true, "a.example:8443", "/b/?c"],
    ["http://[2001:DB8::1]:81/x", "2001:db8::1", 81, false, "[2001:db8::1]:81", "/x"],
    ["https://[::1]/x", "::1", 443, true, "[::1]", "/x"],
    ["http://127.0.0.1:8000/ä b", "127.0.0.1", 8000, false, "127.0.0.1:8000", "/%C3%A4%20b"],
  ] as const;
  for (const [text, hostname, port, tls, host, path] of cases) {
    const destination = parseDestination(text);
    assertEquals(destination.target, { hostname, port, tls }, text);
    assertEquals([destination.host, destination.path], [host, path], text);
  }
});

Deno.test("parseDestination: the origin distinguishes schemes and ports", () => {
  const origin = (text: string) => parseDestination(text).origin;
  assertEquals(origin("http://a.example/x"), origin("http://A.example:80/y?z"));
  assertEquals(origin("http://a.example/") === origin("https://a.example/"), false);
  assertEquals(origin("http://a.example/") === origin("http://a.example:81/"), false);
});

for (
  const text of [
    "",
    "/v1",
    "a.example/v1",
    "ftp://a.example/",
    "file:///etc/passwd",
    "http://user@a.example/",
    "https://user:secret@a.example/",
    "https://:secret@a.example/",
    "http://",
    "http://a b/",
    "http://a.example:99999/",
  ]
) {
  Deno.test(`parseDestination: refuses ${JSON.stringify(text)} without naming it`, () => {
    const error = assertThrowsMessage(() => parseDestination(text));
    assertEquals(error.includes("secret"), false);
  });
}

function assertThrowsMessage(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.message;
    throw error;
  }
  throw new Error("Expected an UpstreamFailure");
}

Deno.test("encodeRequest: a frozen list of headers is sent as it is, to whatever address and method", () => {
  const headers = Object.freeze([["x-a", "b"]] as const);
  const fresh: readonly (readonly [string, string])[] = [["x-a", "b"]];
  const requests: Partial<UpstreamRequest>[] = [
    {},
    { body: Uint8Array.of(65) },
    { method: "GET" },
    { url: "https://other.example/" },
    { body: Uint8Array.of(65, 66) },
  ];
  for (const request of [...requests, ...requests]) {
    assertEquals(wire({ ...request, headers }), wire({ ...request, headers: fresh }));
  }
});

Deno.test("WriteBuffers: bytes that were given back are used again, larger ones are not kept", () => {
  const some = new WriteBuffers();
  const first = some.take(100);
  assertEquals(some.take(50).buffer === first.buffer, false);
  some.give(first);
  const again = some.take(50);
  assertEquals([again.buffer === first.buffer, again.length], [true, 50]);
  const large = some.take(1_000_000);
  some.give(large);
  assertEquals(some.take(1_000_000).buffer === large.buffer, false);
});
