/** The server on real sockets: what only the system can show. */
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { until } from "../../../support/until.ts";
import { Reply } from "../../../../core/net/http1/server/reply.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { type ServerBounds, serverBounds } from "../../../../routes/server/http1/request_body.ts";
import type { RequestHandler } from "../../../../routes/server/http1/client_connection.ts";
import { HttpServer } from "../../../../routes/server/http1/http_server.ts";
import { latin1, textOf } from "./fake_client.ts";

const get = "GET / HTTP/1.1\r\nhost: h\r\n\r\n";

class World implements AsyncDisposable {
  readonly deadlines = new Deadlines({ clock: systemClock });
  readonly troubles: unknown[] = [];
  readonly listeners: Deno.TcpListener[] = [];
  readonly server: HttpServer;

  constructor(
    handler: RequestHandler,
    bounds: Partial<ServerBounds> = {},
    /** Connections for which the system has descriptors. */
    maxOpen = Infinity,
  ) {
    this.server = new HttpServer({
      hostname: "127.0.0.1",
      port: 0,
      isShared: false,
      bounds: { ...serverBounds, ...bounds },
      deadlines: this.deadlines,
      handler,
      failed: (status) => new Reply(status, [], null),
      date: () => "now",
      open: (options) => {
        const listener = Deno.listen({ ...options, transport: "tcp" });
        this.listeners.push(listener);
        return maxOpen === Infinity ? listener : this.#short(listener, maxOpen);
      },
      onTrouble: (error) => this.troubles.push(error),
    });
  }

  /** A listener that fails as the system does when all descriptors are in use. */
  #short(listener: Deno.TcpListener, maxOpen: number): Deno.TcpListener {
    const accept = async () => {
      await Promise.resolve(); // the server is made first
      if (this.server.connections >= maxOpen) {
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      }
      return await listener.accept();
    };
    return new Proxy(listener, {
      get(target, name) {
        if (name === "accept") return accept;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}`;
  }

  connect(): Promise<Deno.TcpConn> {
    return Deno.connect({ hostname: "127.0.0.1", port: this.server.address.port });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.shutdown();
    this.deadlines.close();
  }
}

/** Reads until a pattern is there. */
async function readUntil(client: Deno.TcpConn, pattern: RegExp): Promise<string> {
  let text = "";
  const buffer = new Uint8Array(10_000);
  while (!pattern.test(text)) {
    const bytes = await client.read(buffer);
    if (bytes === null) throw new Error(`Ended: ${text}`);
    text += textOf(buffer.subarray(0, bytes));
  }
  return text;
}

Deno.test("calls of `fetch`: bodies both ways, several at a time", async () => {
  await using world = new World(async (request) =>
    new Response(await request.toRequest()!.bytes())
  );
  const bodies = Array.from({ length: 40 }, (_, i) => "x".repeat(i * 10_007));
  const answers = await Promise.all(bodies.map(async (body) => {
    const response = await fetch(world.url, { method: "POST", body });
    return await response.text();
  }));
  assertEquals(answers, bodies);
});

Deno.test("a client that closes its connection aborts its request", async () => {
  const gone = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  await using world = new World((request) => {
    request.signal.addEventListener("abort", () => gone.resolve());
    began.resolve();
    return gone.promise.then(() => new Reply(200, [], null));
  });
  const client = await world.connect();
  await client.write(latin1(get));
  await began.promise;
  client.close();
  await gone.promise;
  await until(() => world.server.connections === 0, "the connection is over");
});

Deno.test("a refused client with much to send reads its answer", async () => {
  await using world = new World(() => new Reply(413, [], latin1("too much")));
  using client = await world.connect();
  await client.write(latin1("POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 3000000\r\n\r\n"));
  // More than sockets hold: it is written only while the server reads.
  const sending = client.write(new Uint8Array(300_000));
  assertMatch(await readUntil(client, /too much/), /^HTTP\/1.1 413 [^]*connection: close/);
  await sending.catch(() => {});
});

Deno.test("shutdown closes idle connections at once and lets answers end", async () => {
  const end = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const world = new World(async ({ url }) => {
    if (!url.endsWith("/slow")) return new Reply(200, [], latin1("quick"));
    began.resolve();
    await end.promise;
    return new Reply(200, [], latin1("slow"));
  });
  using idle = await world.connect();
  await idle.write(latin1(get));
  await readUntil(idle, /quick/);
  using fresh = await world.connect();
  using running = await world.connect();
  await running.write(latin1(get.replace("/", "/slow")));
  await began.promise;
  await until(() => world.server.connections === 3, "all are accepted");
  const stopped = world.server.shutdown();
  assertEquals([await idle.read(new Uint8Array(9)), await fresh.read(new Uint8Array(9))], [
    null,
    null,
  ]);
  await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(world.url).port) }).then(
    (connection) => {
      connection.close();
      throw new Error("it still accepts");
    },
    (error) => assert(error instanceof Deno.errors.ConnectionRefused, String(error)),
  );
  end.resolve();
  assertMatch(await readUntil(running, /slow$/), /connection: close/);
  await stopped;
  world.deadlines.close();
});

Deno.test("at the bound of connections the oldest idle one makes room; running ones stay", async () => {
  const end = Promise.withResolvers<void>();
  await using world = new World(async ({ url }) => {
    if (url.endsWith("/slow")) await end.promise;
    return new Reply(200, [], latin1("answer"));
  }, { connections: 2 });
  using running = await world.connect();
  await running.write(latin1(get.replace("/", "/slow")));
  using idle = await world.connect();
  await idle.write(latin1(get));
  await readUntil(idle, /answer/);
  using third = await world.connect();
  await third.write(latin1(get.replace("/", "/slow")));
  assertEquals(await idle.read(new Uint8Array(9)), null);
  using fourth = await world.connect();
  // Nobody is idle: it is closed, by a reset if its request was under way.
  assertEquals(await fourth.read(new Uint8Array(9)).catch(() => null), null);
  end.resolve();
  await readUntil(running, /answer/);
  await readUntil(third, /answer/);
});

Deno.test("a listener that breaks is replaced, and running connections go on", async () => {
  const end = Promise.withResolvers<void>();
  await using world = new World(async () => {
    await end.promise;
    return new Reply(200, [], latin1("answer"));
  });
  using running = await world.connect();
  await running.write(latin1(get));
  await until(() => world.server.connections === 1, "it is accepted");
  const { url } = world;
  world.listeners[0]!.close();
  end.resolve();
  await readUntil(running, /answer/);
  const again = () => fetch(url).then((response) => response.text(), () => false as const);
  assertEquals(await until(again, "it listens again"), "answer");
  assertEquals(world.troubles.length > 0, true);
});

for (const sent of ["GET / HTTP/1.1\r\nhost:", ""]) {
  for (const where of ["at the bound of connections", "when descriptors run out"]) {
    Deno.test(`${where}, ${sent === "" ? "silent clients" : "unfinished heads"} lock nobody out`, async () => {
      await using world = new World(
        () => new Reply(200, [], latin1("answer")),
        where.startsWith("at") ? { connections: 40 } : {},
        where.startsWith("at") ? undefined : 40,
      );
      const stalled: Deno.TcpConn[] = [];
      for (let i = 0; i < 100; i++) {
        const client = await world.connect();
        stalled.push(client);
        await client.write(latin1(sent)).catch(() => {}); // it may be evicted already
      }
      for (let i = 0; i < 20; i++) {
        using good = await world.connect();
        await good.write(latin1(get));
        await readUntil(good, /answer/);
      }
      for (const client of stalled) client.close();
    });
  }
}
