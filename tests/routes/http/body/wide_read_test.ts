import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { readRequestBody, widelyReadBodyBytes } from "../../../../routes/http/body/request_body.ts";
import { passTurns } from "../../../support/turns.ts";

const encoder = new TextEncoder();

type Read = (request: Request, deadlines: Deadlines) => Promise<string>;

const readWidely: Read = async (request, deadlines) => {
  const body = await readRequestBody(request, deadlines, { isReadWidely: true }).catch(String);
  return typeof body === "string" ? body : new TextDecoder().decode(body);
};

/** A server that reads every body, and a connection to it. Resolves with what was read. */
async function connected(
  run: (conn: Deno.TcpConn) => Promise<void>,
  read: Read = readWidely,
): Promise<string[]> {
  const deadlines = new Deadlines({ clock: systemClock });
  const seen: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    seen.push(await read(request, deadlines));
    return new Response("ok");
  });
  const conn = await Deno.connect({ hostname: "127.0.0.1", port: server.addr.port });
  conn.setNoDelay(true);
  try {
    await run(conn);
  } finally {
    conn.close();
    await server.shutdown();
    assertEquals(deadlines.armedCount, 0);
    deadlines.close();
  }
  return seen;
}

/** Sends bytes with pauses between, so that the server reads them apart. */
async function send(conn: Deno.Conn, text: string, pieceBytes: number): Promise<void> {
  const bytes = encoder.encode(text);
  for (let at = 0; at < bytes.length;) {
    at += await conn.write(bytes.subarray(at, at + pieceBytes));
    if (at < bytes.length) await passTurns(3);
  }
}

/** Reads one answer; none of them is longer. */
async function answer(conn: Deno.Conn): Promise<void> {
  const buffer = new Uint8Array(4_096);
  const count = await conn.read(buffer) ?? 0;
  assertStringIncludes(new TextDecoder().decode(buffer.subarray(0, count)), "200 OK");
}

function requestOf(body: string): string {
  return `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

Deno.test("bodies of one connection are read as they were sent, in one packet or in many", async () => {
  const sizes = [1, 900, 1_000, 1_500, 3_000, 3_000, 9_000, widelyReadBodyBytes, 20_000, 10];
  const bodies = sizes.flatMap((size, index) => [
    String.fromCharCode(97 + index).repeat(size),
    String.fromCharCode(65 + index).repeat(size),
  ]);
  const seen = await connected(async (conn) => {
    for (const [index, body] of bodies.entries()) {
      await send(
        conn,
        requestOf(body),
        index % 2 === 0 ? 100_000 : Math.ceil(body.length / 4) + 20,
      );
      await answer(conn);
    }
  });
  assertEquals(seen.map((body) => body.length), bodies.map((body) => body.length));
  assertEquals(seen, bodies);
});

Deno.test("a body that breaks off while it is read widely says so", async () => {
  const begun = Promise.withResolvers<void>();
  const seen = await connected(async (conn) => {
    await send(conn, requestOf("x".repeat(5_000)).slice(0, 3_000), 100_000);
    await begun.promise;
    await passTurns(3);
  }, async (request, deadlines) => {
    begun.resolve();
    return await readWidely(request, deadlines);
  });
  assertEquals(seen, ["GatewayError: The request body broke off"]);
});

/** Whether the body was there when the request came: only one that still comes is a stream of bytes. */
function cameWithHead(request: Request): string {
  try {
    request.body?.getReader({ mode: "byob" }).releaseLock();
    return "comes";
  } catch {
    return "is there";
  }
}

Deno.test("after a wide read the bodies of a connection come with their heads", async () => {
  const body = "x".repeat(1_000);
  const readings: Read[] = [
    async (request, deadlines) => {
      const found = cameWithHead(request);
      await readRequestBody(request, deadlines);
      return found;
    },
    readWidely,
    async (request) => {
      const found = cameWithHead(request);
      await request.bytes();
      return found;
    },
  ];
  let turn = 0;
  const seen = await connected(async (conn) => {
    for (let call = 0; call < readings.length; call++) {
      await send(conn, requestOf(body), 100_000);
      await answer(conn);
    }
  }, async (request, deadlines) => await readings[turn++]?.(request, deadlines) ?? "one too many");
  assertEquals(seen, ["comes", body, "is there"]);
});
