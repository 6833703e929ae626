/** The HTTP/1.1 driver against peers that misbehave, over real sockets. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import {
  createHttp1Transport,
  type Http1TransportOptions,
} from "../../../../core/net/http1/transport.ts";
import { denoConnect } from "../../../../routes/process/deno_connect.ts";
import { RawPeer, type Script } from "../transport/raw_peer.ts";
import { failureCode } from "./fake_connection.ts";
import { call, readWhole } from "./read_whole.ts";
import { nextTurn, passTurns } from "../../../support/turns.ts";

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function withPeer(
  script: Script,
  run: (peer: RawPeer, transport: ReturnType<typeof createHttp1Transport>) => Promise<void>,
  options: Partial<Http1TransportOptions> = {},
): Promise<void> {
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 10 });
  const transport = createHttp1Transport({ connect: denoConnect(), deadlines, ...options });
  try {
    await using peer = new RawPeer(script);
    await run(peer, transport);
    transport.close();
  } finally {
    transport.close();
    deadlines.close();
  }
}

/** Answers every request on a connection. */
const always = (answer: string): Script => async (peer) => {
  while (await peer.request()) await peer.say(answer);
};

Deno.test("sockets: calls one after another share a connection; calls at once do not", async () => {
  await withPeer(
    async (peer) => {
      for (let got = await peer.request(); got; got = await peer.request()) {
        const text = decode(got.body);
        await peer.say(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
      }
    },
    async (peer, transport) => {
      for (let turn = 0; turn < 20; turn++) {
        const body = new TextEncoder().encode(`turn ${turn}`);
        assertEquals(decode((await call(transport, { url: peer.url, body })).body), `turn ${turn}`);
      }
      assertEquals([peer.acceptedCount, transport.counts().reused], [1, 19]);
      await Promise.all([1, 2, 3].map(() => call(transport, { url: peer.url })));
      assertEquals([peer.acceptedCount, transport.counts().idle], [3, 3]);
    },
  );
});

Deno.test("sockets: no server listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  await withPeer(async () => {}, async (_peer, transport) => {
    const url = `http://127.0.0.1:${port}/`;
    assertEquals(await failureCode(call(transport, { url })), "connect");
  });
});

Deno.test("sockets: a name that does not exist", async () => {
  await withPeer(async () => {}, async (_peer, transport) => {
    assertEquals(await failureCode(call(transport, { url: "http://none.invalid/" })), "connect");
  });
});

Deno.test("sockets: accepts and closes", async () => {
  await withPeer(async () => {}, async (peer, transport) => {
    assertEquals(await failureCode(call(transport, { url: peer.url })), "cut");
  });
});

Deno.test("sockets: a peer that closes after every answer without saying so", async () => {
  await withPeer(
    async (peer) => {
      if (await peer.request()) await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    },
    async (peer, transport) => {
      for (let turn = 0; turn < 30; turn++) {
        const onSentAgain = turn % 2 === 0 ? () => {} : undefined;
        assertEquals(decode((await call(transport, { url: peer.url, onSentAgain })).body), "ok");
      }
      assertEquals(peer.acceptedCount, 30);
    },
  );
});

Deno.test("sockets: a peer that reads a request on a kept connection and dies gets it only once", async () => {
  for (const bytes of [10, 3_000_000]) {
    for (const onSentAgain of [undefined, () => {}]) {
      let read = 0;
      await withPeer(
        async (peer) => {
          while (await peer.request()) {
            // The first is answered, so that its connection is kept.
            if (read++ > 0) return;
            await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
          }
        },
        async (peer, transport) => {
          await call(transport, { url: peer.url });
          const body = new Uint8Array(bytes);
          const order = call(transport, { url: peer.url, body, onSentAgain });
          assertEquals(await failureCode(order), "cut");
          assertEquals(read, onSentAgain === undefined ? 2 : 3);
          assertEquals(transport.counts().reused, 1);
        },
        { provenRestMs: 0 },
      );
    }
  }
});

Deno.test("sockets: an answer cut at any byte is a cut, never a clean end", async () => {
  const whole = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" +
    "6;x=y\r\nhello \r\n5\r\nworld\r\n0\r\nt: v\r\n\r\n";
  await withPeer(
    async (peer) => {
      await peer.request();
      await peer.say(whole.slice(0, peer.index));
    },
    async (peer, transport) => {
      for (let length = 0; length < whole.length; length++) {
        const code = await failureCode(call(transport, { url: peer.url }));
        assertEquals(code, "cut", `after ${length} bytes`);
      }
      assertEquals(decode((await call(transport, { url: peer.url })).body), "hello world");
    },
  );
});

Deno.test("sockets: a trickle of single bytes", async () => {
  const whole =
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  await withPeer(
    async (peer) => {
      await peer.request();
      for (const byte of whole) {
        await peer.say(byte);
        await nextTurn();
      }
      await peer.clientGone();
    },
    async (peer, transport) => {
      assertEquals(decode((await call(transport, { url: peer.url })).body), "abcde");
      assertEquals(transport.counts().idle, 1);
    },
  );
});

Deno.test("sockets: 100 MB pass through one buffer of at most 64 KiB", async () => {
  const block = new Uint8Array(256 * 1024).map((_, index) => index % 251);
  await withPeer(
    async (peer) => {
      await peer.request();
      await peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      for (let sent = 0; sent < 400; sent++) {
        await peer.say("40000\r\n");
        await peer.say(block);
        await peer.say("\r\n");
      }
      await peer.say("0\r\n\r\n");
      await peer.clientGone();
    },
    async (peer, transport) => {
      const request = { method: "GET", url: peer.url, headers: [], body: null } as const;
      const { body } = await transport.open(request).response;
      const buffers = new Set<ArrayBufferLike>();
      let bytes = 0;
      for (let view = await body.read(); view !== null; view = await body.read()) {
        if (view[0] !== bytes % (256 * 1024) % 251) throw new Error(`wrong byte at ${bytes}`);
        bytes += view.length;
        buffers.add(view.buffer);
        assert(view.buffer.byteLength <= 64 * 1024);
      }
      assertEquals(bytes, 100 * 1024 * 1024);
      assert(buffers.size <= 5, `${buffers.size} buffers`);
      assertEquals(transport.counts().idle, 1);
    },
  );
});

Deno.test("sockets: a body of 20 MB reaches a peer that reads late", async () => {
  const body = new Uint8Array(20 * 1024 * 1024).map((_, index) => index % 253);
  await withPeer(
    async (peer) => {
      await passTurns(20);
      const got = await peer.request();
      const isSame = got?.body.every((byte, index) => byte === index % 253);
      await peer.say(`HTTP/1.1 200 OK\r\n\r\n${got?.body.length} ${isSame}`);
    },
    async (peer, transport) => {
      const answer = await call(transport, { url: peer.url, body });
      assertEquals(decode(answer.body), `${body.length} true`);
    },
  );
});

Deno.test("sockets: a peer that answers before it has read and hangs up", async () => {
  await withPeer(
    async (peer) => {
      await peer.say("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig");
      await peer.clientGone();
    },
    async (peer, transport) => {
      const body = new Uint8Array(8 * 1024 * 1024);
      const answer = await call(transport, { url: peer.url, body });
      assertEquals([answer.status, decode(answer.body)], [413, "big"]);
    },
  );
});

Deno.test("sockets: cancel closes the socket in every state", async () => {
  const states: readonly (readonly [name: string, said: string, bodyBytes: number])[] = [
    ["waiting for the head", "", 0],
    ["in the head", "HTTP/1.1 200 OK\r\n", 0],
    ["in the body", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", 0],
    ["writing to a peer that does not read", "", 20 * 1024 * 1024],
  ];
  for (const [name, said, bodyBytes] of states) {
    const gone = Promise.withResolvers<void>();
    const spoken = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    await withPeer(
      async (peer) => {
        if (bodyBytes === 0) await peer.request();
        await peer.say(said);
        spoken.resolve();
        await cancelled.promise;
        await peer.clientGone();
        gone.resolve();
      },
      async (peer, transport) => {
        const exchange = transport.open({
          method: "POST",
          url: peer.url,
          headers: [],
          body: new Uint8Array(bodyBytes),
        });
        const whole = failureCode(exchange.response.then(({ body }) => readWhole(body)));
        await spoken.promise;
        exchange.cancel();
        cancelled.resolve();
        assertEquals(await whole, "cancelled", name);
        await gone.promise;
        assertEquals(transport.counts().idle, 0, name);
      },
    );
  }
});

Deno.test("sockets: none of 50 exchanges cancelled at many points returns to the pool", async () => {
  await withPeer(
    async (peer) => {
      while (await peer.request()) {
        await peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for (let event = 0; event < 20; event++) {
          if (!await peer.say("5\r\nevent\r\n")) return;
          await nextTurn();
        }
        if (!await peer.say("0\r\n\r\n")) return;
      }
    },
    async (peer, transport) => {
      const request = { method: "POST", url: peer.url, headers: [], body: null } as const;
      await Promise.all(Array.from({ length: 50 }, async (_, index) => {
        const exchange = transport.open(request);
        const { body } = await exchange.response;
        for (let read = 0; read < index % 10; read++) {
          if (await body.read() === null) return;
        }
        exchange.cancel();
      }));
      // A single read can give several events, so a few may have come to their clean end.
      const pooled = transport.counts().idle;
      for (let turn = 0; turn < 10; turn++) {
        const answer = await call(transport, { url: peer.url });
        assertEquals(decode(answer.body), "event".repeat(20));
      }
      assertEquals(transport.counts().retried, 0, `${pooled} pooled`);
    },
  );
});

Deno.test("sockets: silence before the head and inside the body times out", async () => {
  for (const said of ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"]) {
    await withPeer(
      async (peer) => {
        await peer.request();
        await peer.say(said);
        await peer.clientGone();
      },
      async (peer, transport) => {
        assertEquals(await failureCode(call(transport, { url: peer.url })), "timeout");
        assertEquals(transport.counts().idle, 0);
      },
      { headMs: 50, idleMs: 50 },
    );
  }
});

Deno.test("sockets: redirects are returned, not followed", async () => {
  await withPeer(
    always("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"),
    async (peer, transport) => {
      const answer = await call(transport, { url: peer.url });
      assertEquals([answer.status, answer.header("location")], [302, "http://127.0.0.1:1/"]);
    },
  );
});

Deno.test("sockets: a connection to ::1 works if the machine has IPv6", async () => {
  let listener: Deno.Listener<Deno.Conn>;
  try {
    listener = Deno.listen({ hostname: "::1", port: 0 });
  } catch {
    return;
  }
  const port = listener.addr.transport === "tcp" ? listener.addr.port : 0;
  let host = "";
  const deadlines = new Deadlines({ clock: systemClock });
  const transport = createHttp1Transport({ connect: denoConnect(), deadlines });
  {
    await using _peer = new RawPeer(async (peer) => {
      host = /^host: (.*)$/m.exec((await peer.request())?.head ?? "")?.[1] ?? "";
      await peer.say("HTTP/1.1 204 No Content\r\n\r\n");
    }, listener);
    assertEquals((await call(transport, { url: `http://[::1]:${port}/` })).status, 204);
  }
  assertEquals(host.trim(), `[::1]:${port}`);
  transport.close();
  deadlines.close();
});
