import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import {
  createGuardedConnect,
  type DialTarget,
} from "../../../../core/net/remote/guarded_connect.ts";
import { fetchRemoteMedia, imageMediaTypes } from "../../../../core/net/remote/guarded_fetch.ts";
import type { Connection } from "../../../../core/net/transport/connection.ts";
import { createHttp1Transport } from "../../../../core/net/http1/transport.ts";

const png = "\x89PNG\r\n\x1a\n and the rest";

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

/** A peer that sends a fixed answer, in given pieces; `endless` repeats the last piece for ever. */
class FakePeer implements Connection {
  sent = "";
  closed = false;
  readonly #pieces: string[];
  readonly #endless: boolean;
  readonly #stalls: boolean;
  readonly #closing = Promise.withResolvers<never>();

  constructor(pieces: string[], more: { endless?: boolean; stalls?: boolean } = {}) {
    this.#pieces = pieces;
    this.#endless = more.endless ?? false;
    this.#stalls = more.stalls ?? false;
    this.#closing.promise.catch(() => {});
  }

  async read(into: Uint8Array<ArrayBuffer>): Promise<number | null> {
    await Promise.resolve();
    if (this.closed) throw new Error("closed");
    const piece = this.#pieces[0];
    if (piece === undefined) return this.#stalls ? await this.#closing.promise : null;
    const bytes = bytesOf(piece).subarray(0, into.length);
    into.set(bytes);
    const rest = piece.slice(bytes.length);
    if (rest !== "") this.#pieces[0] = rest;
    else if (!this.#endless || this.#pieces.length > 1) this.#pieces.shift();
    return bytes.length;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.sent += new TextDecoder().decode(bytes);
    return Promise.resolve(bytes.length);
  }

  close(): void {
    this.closed = true;
    this.#closing.reject(new Error("closed"));
  }
}

function answer(body: string, more: { status?: string; headers?: string[] } = {}): string {
  const { status = "200 OK", headers = [] } = more;
  return [`HTTP/1.1 ${status}`, `content-length: ${body.length}`, ...headers, "", body].join(
    "\r\n",
  );
}

interface World {
  /** Answers of the name server, one list per question; the last one repeats. */
  readonly names?: Record<string, string[][]>;
  /** What each address serves, in order of connection. */
  readonly peers: Record<string, FakePeer[]>;
}

async function fetchWith(
  world: World,
  url: string,
  more: { totalMs?: number; maxBytes?: number } = {},
) {
  const dialled: DialTarget[] = [];
  const asked: string[] = [];
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 5 });
  const transport = createHttp1Transport({
    deadlines,
    idleConnectionsPerOrigin: 0,
    connect: createGuardedConnect({
      resolve: (name) => {
        asked.push(name);
        const answers = world.names?.[name] ?? [];
        const next = answers.length > 1 ? answers.shift() : answers[0];
        return next === undefined
          ? Promise.reject(new Error("no such name"))
          : Promise.resolve(next);
      },
      dial: (target) => {
        dialled.push(target);
        const peer = world.peers[target.address]?.shift();
        return peer === undefined ? Promise.reject(new Error("refused")) : Promise.resolve(peer);
      },
    }),
  });
  try {
    const result = await fetchRemoteMedia({ transport, deadlines }, url, {
      field: "image",
      accepts: imageMediaTypes,
      ...more,
    }).catch((error: unknown) => error);
    return { result, dialled, asked };
  } finally {
    transport.close();
    deadlines.close();
  }
}

function messageOf(result: unknown): string {
  assert(result instanceof GatewayError, `accepted: ${JSON.stringify(result)}`);
  assertEquals([result.status, result.param], [400, "image"]);
  return result.message;
}

const unreachable = "image: the URL could not be fetched";

Deno.test("a picture is fetched from the address that was checked, under its own name", async () => {
  const peer = new FakePeer([answer(png, { headers: ["content-type: text/html"] })]);
  const { result, dialled } = await fetchWith(
    { names: { "pics.example": [["93.184.215.14"]] }, peers: { "93.184.215.14": [peer] } },
    "https://pics.example:8443/a.png?x=1#frag",
  );
  assertEquals(result, { mediaType: "image/png", bytes: bytesOf(png) });
  assertEquals(dialled, [{ address: "93.184.215.14", port: 8443, serverName: "pics.example" }]);
  assert(peer.sent.startsWith("GET /a.png?x=1 HTTP/1.1\r\n"), peer.sent);
  assert(/\r\nhost: pics\.example:8443\r\n/i.test(peer.sent), peer.sent);
  assert(!/cookie|authorization|referer/i.test(peer.sent), peer.sent);
  assert(peer.closed, "the connection is not kept");
});

Deno.test("a name with a private address is refused, even if it has public ones as well", async () => {
  const inside = [["10.0.0.7"], ["127.0.0.1"], ["::1"], ["::ffff:93.184.215.14"], [
    "93.184.215.14",
    "169.254.169.254",
  ], []];
  for (const addresses of inside) {
    const peers = { "93.184.215.14": [new FakePeer([answer(png)])] };
    const { result, dialled } = await fetchWith(
      { names: { "evil.example": [addresses] }, peers },
      "http://evil.example/a.png",
    );
    assertEquals(messageOf(result), unreachable, addresses.join());
    assertEquals(dialled, [], addresses.join());
  }
});

Deno.test("a name server that answers differently the second time is asked only once", async () => {
  const peer = new FakePeer([answer(png)]);
  const { result, dialled, asked } = await fetchWith(
    {
      names: { "rebind.example": [["93.184.215.14"], ["127.0.0.1"]] },
      peers: { "93.184.215.14": [peer] },
    },
    "http://rebind.example/a.png",
  );
  assert(!(result instanceof Error));
  assertEquals(asked, ["rebind.example"]);
  assertEquals(dialled.map(({ address }) => address), ["93.184.215.14"]);
});

Deno.test("each redirect is checked again: rebinding and private targets are refused", async () => {
  const targets: [string, string][] = [
    ["http://rebind.example/two.png", unreachable],
    ["http://127.0.0.1/admin", "image: must point to a public address"],
    ["http://0x7f000001/", "image: must point to a public address"],
    ["//[::1]/", "image: must point to a public address"],
    ["file:///etc/passwd", "image: must begin with http:// or https://"],
    ["http://user:pw@pics.example/", "image: must not carry a user name or password"],
    ["http://pics.example:25/", "image: must use port 80, 443, 8080 or 8443"],
    ["http://:::/", unreachable],
  ];
  for (const [location, message] of targets) {
    const first = new FakePeer([
      answer("", { status: "302 Found", headers: [`location: ${location}`] }),
    ]);
    const { result, dialled } = await fetchWith(
      {
        names: { "rebind.example": [["93.184.215.14"], ["192.168.1.1"]] },
        peers: { "93.184.215.14": [first], "192.168.1.1": [new FakePeer([answer(png)])] },
      },
      "http://rebind.example/one.png",
    );
    assertEquals(messageOf(result), message, location);
    assertEquals(dialled.map(({ address }) => address), ["93.184.215.14"], location);
  }
});

Deno.test("a few redirects are followed, relative ones too, and no more", async () => {
  const hop = (location: string) =>
    new FakePeer([answer("", { status: "301 Moved", headers: [`location: ${location}`] })]);
  const names = { "pics.example": [["1.1.1.1"]], "cdn.example": [["8.8.8.8"]] };
  const good = await fetchWith(
    {
      names,
      peers: {
        "1.1.1.1": [hop("/b"), hop("https://cdn.example/c")],
        "8.8.8.8": [new FakePeer([answer(png)])],
      },
    },
    "http://pics.example/a",
  );
  assert(!(good.result instanceof Error));
  assertEquals(good.dialled.map(({ address, port }) => `${address}:${port}`), [
    "1.1.1.1:80",
    "1.1.1.1:80",
    "8.8.8.8:443",
  ]);
  const endless = await fetchWith(
    { names, peers: { "1.1.1.1": Array.from({ length: 9 }, () => hop("/again")) } },
    "http://pics.example/a",
  );
  assertEquals(messageOf(endless.result), unreachable);
  assertEquals(endless.dialled.length, 4);
});

Deno.test("a file that is not a picture is refused after its first bytes, whatever its declared type", async () => {
  const bodies = ["<html><script>", '{"secret":1}  ', "", "\x89PN", "%PDF-1.7 ........"];
  for (const body of bodies) {
    const peer = new FakePeer([
      answer(body, { headers: ["content-type: image/png"] }),
    ]);
    const { result } = await fetchWith({ peers: { "1.1.1.1": [peer] } }, "http://1.1.1.1/a.png");
    assertEquals(messageOf(result), "image: the URL is not an image that is supported here", body);
  }
  const endlessPage = new FakePeer(
    ["HTTP/1.1 200 OK\r\n\r\n", "<html>".repeat(100)],
    { endless: true },
  );
  const { result } = await fetchWith({ peers: { "1.1.1.1": [endlessPage] } }, "http://1.1.1.1/a");
  assertEquals(messageOf(result), "image: the URL is not an image that is supported here");
});

Deno.test("an endless picture stops at the bound of bytes, a declared large one before its body", async () => {
  const endless = new FakePeer(["HTTP/1.1 200 OK\r\n\r\n", png.repeat(40)], { endless: true });
  const first = await fetchWith(
    { peers: { "1.1.1.1": [endless] } },
    "http://1.1.1.1/a",
    { maxBytes: 5_000 },
  );
  assertEquals(messageOf(first.result), "image: the file is over 5000 bytes");
  assert(endless.closed);
  const declared = new FakePeer(["HTTP/1.1 200 OK\r\ncontent-length: 5001\r\n\r\n"], {
    stalls: true,
  });
  const second = await fetchWith(
    { peers: { "1.1.1.1": [declared] } },
    "http://1.1.1.1/a",
    { maxBytes: 5_000 },
  );
  assertEquals(messageOf(second.result), "image: the file is over 5000 bytes");
});

Deno.test("a server that stalls before or within its answer is abandoned", async () => {
  const starts = [[], ["HTTP/1.1 200"], ["HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n", png]];
  for (const start of starts) {
    const peer = new FakePeer(start, { stalls: true });
    const { result } = await fetchWith(
      { peers: { "1.1.1.1": [peer] } },
      "http://1.1.1.1/a",
      { totalMs: 20 },
    );
    assertEquals(messageOf(result), "image: the URL took too long to fetch");
    assert(peer.closed);
  }
});

Deno.test("other statuses, cut bodies, compressed bodies and refused connections have one message", async () => {
  const answers = [
    answer(png, { status: "404 Not Found" }),
    answer(png, { status: "206 Partial Content" }),
    answer("", { status: "204 No Content" }),
    answer("", { status: "302 Found" }),
    `HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n${png}`,
    "SSH-2.0-OpenSSH_9.9\r\n",
    "",
  ];
  for (const text of answers) {
    const peers = { "1.1.1.1": [new FakePeer(text === "" ? [] : [text])] };
    const { result } = await fetchWith({ peers }, "http://1.1.1.1/a");
    assertEquals(messageOf(result), unreachable, text);
  }
  const zipped = new FakePeer([answer(png, { headers: ["content-encoding: gzip"] })]);
  const compressed = await fetchWith({ peers: { "1.1.1.1": [zipped] } }, "http://1.1.1.1/a");
  assertEquals(messageOf(compressed.result), "image: the server sent a compressed file");
  const refused = await fetchWith({ peers: {} }, "http://1.1.1.1/a");
  assertEquals(messageOf(refused.result), unreachable);
  const unknown = await fetchWith({ peers: {} }, "http://nowhere.example/a");
  assertEquals(messageOf(unknown.result), unreachable);
});

Deno.test("if the first address of a name does not answer, the next one is tried", async () => {
  const { result, dialled } = await fetchWith(
    {
      names: { "pics.example": [["2606:4700::1", "1.1.1.1"]] },
      peers: { "1.1.1.1": [new FakePeer([answer(png)])] },
    },
    "http://pics.example/a",
  );
  assert(!(result instanceof Error));
  assertEquals(dialled.map(({ address }) => address), ["2606:4700::1", "1.1.1.1"]);
});
