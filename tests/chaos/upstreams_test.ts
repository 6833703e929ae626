import { assert, assertEquals } from "../support/assert.ts";
import type { BodyStyle } from "../support/body_style.ts";
import type { Conversation } from "../core/net/transport/raw_peer.ts";
import {
  type Answer,
  chunk,
  chunkedHead,
  lastChunk,
  plain,
  strictEnd,
  styles,
  transcripts,
  type Unruly,
  UnrulyWorld,
} from "../support/worlds/unruly_world.ts";

// Real sockets: connections of the runtime's own pools end when they end.
const options = { sanitizeOps: false, sanitizeResources: false };

const told = await transcripts();
const encoder = new TextEncoder();

/** A provider that does everything right, in the style it is asked in. */
const good: Unruly = async (conversation, { head }) => {
  const style = styleOf(head);
  if (!/^accept: text\/event-stream$/im.test(head)) {
    await conversation.say(plain(told[style].whole));
  } else await conversation.say(chunkedHead() + text(chunk(told[style].stream)) + lastChunk);
};

function styleOf(head: string): BodyStyle {
  const path = head.split(" ")[1] ?? "";
  return path.endsWith("/messages")
    ? "messages"
    : path.endsWith("/responses")
    ? "responses"
    : "chat";
}

/** A whole answer as the client gets it, with the model name that the client sent. */
function namedWhole(style: BodyStyle): string {
  return told[style].whole.replace('"model":"premium-1"', `"model":"m-${style}"`);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function errorTypeOf(style: BodyStyle, answer: Answer): string {
  const body: { type: string; error: { type: string; message: string }; request_id?: string } = JSON
    .parse(answer.text);
  assertEquals(body.type, "error");
  assert(body.error.message.length > 0);
  assertEquals(typeof body.request_id, style === "messages" ? "string" : "undefined");
  assert(!/127\.0\.0\.1|secret|os error|ECONN/i.test(answer.text), answer.text);
  return `${answer.status} ${body.error.type}`;
}

/** Works on all of `items`, a few at a time. */
async function inLanes<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

/** Which cut a request is to meet travels in the order of requests; one lane has one connection at a time. */
function cutter(cuts: number[], bytesOf: (style: BodyStyle) => Uint8Array): Unruly {
  return async (conversation, { head }) => {
    const whole = bytesOf(styleOf(head));
    const cut = cuts.shift() ?? 0;
    await conversation.say(chunkedHead());
    if (cut > 0) await conversation.say(chunk(whole.subarray(0, cut)));
  };
}

for (const style of styles) {
  Deno.test(
    `${style}: a stream cut at any byte is one clean error or one whole answer, and charged right`,
    options,
    async () => {
      const bytes = encoder.encode(told[style].stream);
      const cuts = Array.from({ length: bytes.length + 1 }, (_, i) => i);
      await using world = await UnrulyWorld.open({
        providers: { a: cutter([...cuts], () => bytes) },
      });
      const seen = { whole: 0, error: 0, refused: 0 };
      const expected = { whole: "completed", error: "broken", refused: "failed" };
      const outcomes = new Map<string, string>();
      await inLanes(cuts, async () => {
        const answer = await world.call(style, true);
        let end: keyof typeof seen = "refused";
        if (answer.status === 200) end = strictEnd(style, answer.bytes);
        else assertEquals(errorTypeOf(style, answer), "502 api_error");
        assert(!answer.broken);
        seen[end]++;
        outcomes.set(answer.headers.get("x-request-id") ?? "", expected[end]);
      });
      for (const receipt of await world.receipts()) {
        assertEquals(receipt.outcome, outcomes.get(receipt.requestId));
        if (receipt.outcome === "broken") assert(receipt.costMicroVnd > 0n, "what came is charged");
      }
      assert(seen.error > 50 && seen.refused > 50 && seen.whole >= 1, JSON.stringify(seen));
      await world.checkBooks(cuts.length);
    },
  );

  Deno.test(
    `${style}: cut before its first output a stream is told by the next provider, unnoticed`,
    options,
    async () => {
      const bytes = encoder.encode(told[style].stream);
      const cuts = Array.from({ length: Math.ceil(bytes.length / 9) }, (_, i) => i * 9);
      await using world = await UnrulyWorld.open({
        providers: { a: cutter([...cuts], () => bytes), b: good },
      });
      const seen = { whole: 0, error: 0 };
      await inLanes(cuts, async () => {
        const answer = await world.call(style, true);
        assertEquals(answer.status, 200);
        seen[strictEnd(style, answer.bytes)]++;
      });
      assert(seen.whole > 10, JSON.stringify(seen));
      await world.checkBooks(cuts.length);
    },
  );

  Deno.test(
    `${style}: a whole answer cut at any byte is asked of the next provider`,
    options,
    async () => {
      const bytes = encoder.encode(plain(told[style].whole));
      const cuts = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, i) => i * 5);
      const left = [...cuts];
      const cutting: Unruly = async (conversation) => {
        await conversation.say(bytes.subarray(0, left.shift() ?? 0));
      };
      await using world = await UnrulyWorld.open({ providers: { a: cutting, b: good } });
      await inLanes(cuts, async () => {
        const answer = await world.call(style, false);
        assertEquals(answer.status, 200);
        assertEquals(answer.text, namedWhole(style));
      });
      await world.checkBooks(cuts.length);
    },
  );
}

for (const [client, upstream] of [["messages", "chat"], ["chat", "messages"]] as const) {
  Deno.test(
    `${client} served by a ${upstream} provider: a stream cut at any byte ends as the client's style ends`,
    options,
    async () => {
      const bytes = encoder.encode(told[upstream].stream);
      const cuts = Array.from({ length: Math.ceil(bytes.length / 3) + 1 }, (_, i) => i * 3);
      await using world = await UnrulyWorld.open({
        upstreamStyle: upstream,
        providers: { a: cutter([...cuts], () => bytes) },
      });
      await inLanes(cuts, async () => {
        const answer = await world.call(client, true);
        if (answer.status === 200) strictEnd(client, answer.bytes);
        else assertEquals(errorTypeOf(client, answer), "502 api_error");
      });
      await world.checkBooks(cuts.length);
    },
  );
}

const hang = async (conversation: Conversation) => await conversation.clientGone();
const role = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n';
const preambles: Record<BodyStyle, string> = {
  chat: role,
  messages: told.messages.stream.slice(
    0,
    told.messages.stream.indexOf("event: content_block_delta"),
  ),
  responses: told.responses.stream.slice(
    0,
    told.responses.stream.indexOf("event: response.output_item.added"),
  ),
};

const broken: Record<string, Unruly | "refusing"> = {
  "refuses connections": "refusing",
  "accepts and closes": async () => {},
  "accepts and stalls": hang,
  "sends half a head and stalls": async (c) => {
    await c.say("HTTP/1.1 200 OK\r\ncontent-ty");
    await hang(c);
  },
  "sends a head and stalls": async (c) => {
    await c.say(chunkedHead());
    await hang(c);
  },
  "sends a preamble and stalls": async (c, { head }) => {
    await c.say(chunkedHead());
    await c.say(chunk(preambles[styleOf(head)]));
    await hang(c);
  },
  "sends pings for ever": async (c) => {
    await c.say(chunkedHead());
    while (await c.say(chunk(": ping\n\n"))) await new Promise((r) => setTimeout(r, 20));
  },
  "answers a page": async (c) =>
    void await c.say(plain("<html>Sorry</html>", { type: "text/html" })),
  "answers a page with status 502": async (c) =>
    void await c.say(plain("<html>Sorry</html>", { type: "text/html", status: 502 })),
  "answers brotli": async (c) => {
    const packed = new Uint8Array(
      await new Response(
        new Blob([told.chat.stream]).stream().pipeThrough(new CompressionStream("gzip")),
      ).arrayBuffer(),
    );
    await c.say(chunkedHead("text/event-stream", "content-encoding: br\r\n"));
    await c.say(chunk(packed));
    await c.say(lastChunk);
  },
  "redirects": async (c) =>
    void await c.say(plain("", { status: 307, extra: "location: http://127.0.0.1:1/\r\n" })),
  "answers 100 MB of nothing": async (c) => {
    await c.say(`HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 104857600\r\n\r\n`);
    const megabyte = new Uint8Array(1024 * 1024).fill(0x20);
    for (let i = 0; i < 100; i++) if (!await c.say(megabyte)) return;
  },
  "answers 100 MB of one event": async (c) => {
    await c.say(chunkedHead());
    await c.say(chunk("data: "));
    const megabyte = chunk(new Uint8Array(1024 * 1024).fill(0x61));
    for (let i = 0; i < 100; i++) if (!await c.say(megabyte)) return;
  },
  "answers 100 MB of header": async (c) => {
    await c.say("HTTP/1.1 200 OK\r\n");
    const line = `x-filler: ${"a".repeat(64 * 1024)}\r\n`;
    for (let i = 0; i < 1_600; i++) if (!await c.say(line)) return;
  },
  "speaks something else": async (c) => void await c.say("220 mail.example ESMTP\r\n"),
  "sends events that are no UTF-8": async (c) => {
    await c.say(chunkedHead());
    await c.say(chunk(new Uint8Array([...encoder.encode('data: {"a":'), 0xc3, 0x28, 10, 10])));
    await c.say(lastChunk);
  },
};

const impatient = {
  timeouts: { connectMs: 300, idleMs: 1_000, firstOutputMs: 200 },
  slowAfterMs: 200,
};

for (const [what, script] of Object.entries(broken)) {
  Deno.test(
    `a provider that ${what}: the next one answers, unnoticed; without another it is one clean error`,
    options,
    async () => {
      await using pair = await UnrulyWorld.open({
        providers: { a: script, b: good },
        ...impatient,
      });
      let calls = 0;
      for (const style of styles) {
        const streamed = await pair.call(style, true);
        assertEquals(streamed.status, 200, streamed.text);
        assertEquals(strictEnd(style, streamed.bytes), "whole");
        const whole = await pair.call(style, false);
        assertEquals([whole.status, whole.text], [200, namedWhole(style)]);
        calls += 2;
      }
      await pair.checkBooks(calls);

      await using alone = await UnrulyWorld.open({ providers: { a: script }, ...impatient });
      for (const style of styles) {
        for (const stream of [true, false]) {
          const answer = await alone.call(style, stream);
          const type = errorTypeOf(style, answer);
          assert(type === "502 api_error" || type === "504 timeout_error", type);
          assert(!answer.broken);
        }
      }
      await alone.checkBooks(6);
    },
  );
}

Deno.test(
  "an upstream that stalls after output: an error event within its idle time, charged for what was produced",
  options,
  async () => {
    for (const style of styles) {
      const stalling: Unruly = async (c) => {
        const { stream } = told[style];
        await c.say(chunkedHead());
        await c.say(chunk(stream.slice(0, stream.indexOf("You said: Hi") + 200)));
        await hang(c);
      };
      await using world = await UnrulyWorld.open({ providers: { a: stalling }, ...impatient });
      const answer = await world.call(style, true);
      assertEquals(strictEnd(style, answer.bytes), "error");
      assert(answer.text.includes("stopped sending"), answer.text);
      const receipt = await world.receiptOf(answer);
      assertEquals([receipt.outcome, receipt.status], ["broken", 200]);
      assert(receipt.costMicroVnd > 0n);
      await world.checkBooks(1);
    }
  },
);

Deno.test("an upstream that trickles one byte at a time is slow but whole", options, async () => {
  for (const style of styles) {
    const trickling: Unruly = async (c) => {
      await c.say(chunkedHead());
      for (const byte of encoder.encode(told[style].stream)) {
        if (!await c.say(chunk(new Uint8Array([byte])))) return;
      }
      await c.say(lastChunk);
    };
    await using world = await UnrulyWorld.open({ providers: { a: trickling } });
    const answer = await world.call(style, true);
    assertEquals(strictEnd(style, answer.bytes), "whole");
    assertEquals((await world.receiptOf(answer)).outcome, "completed");
    await world.checkBooks(1);
  }
});

Deno.test(
  "invalid UTF-8 within the text reaches the client unchanged, and is charged",
  options,
  async () => {
    const bytes = encoder.encode(told.chat.stream);
    const at = told.chat.stream.indexOf("You said");
    bytes[at] = 0xff;
    await using world = await UnrulyWorld.open({
      providers: {
        a: async (c) => {
          await c.say(chunkedHead());
          await c.say(chunk(bytes));
          await c.say(lastChunk);
        },
      },
    });
    const answer = await world.call("chat", true);
    assert(answer.bytes.includes(0xff), "bytes are faithful");
    assert(answer.text.includes("[DONE]"));
    await world.checkBooks(1);
  },
);

Deno.test(
  "keep-alive connections that are closed under the client cost no call",
  options,
  async () => {
    let served = 0;
    // Each connection serves one answer, announces keep-alive, and is closed a moment later, often during the next
    // request.
    const fickle: Unruly = async (c, request) => {
      served++;
      await good(c, request);
      await new Promise((resolve) => setTimeout(resolve, served % 4));
    };
    for (const driver of ["http1", "fetch"] as const) {
      await using world = await UnrulyWorld.open({ providers: { a: fickle }, driver });
      const calls = 200;
      let failed = 0;
      await inLanes(Array.from({ length: calls }, (_, i) => i), async (i) => {
        const style = styles[i % 3] ?? "chat";
        const answer = await world.call(style, i % 2 === 0);
        if (answer.status !== 200) failed++;
        else if (i % 2 === 0) assertEquals(strictEnd(style, answer.bytes), "whole");
      });
      // The gateway's client notices a dead connection before it writes to it and tries once more; `fetch` has its own
      // rules and loses some calls under load. Every failure is a clean error that costs nothing.
      const mayFail = driver === "http1" ? 0 : calls / 4;
      assert(failed <= mayFail, `${driver}: ${failed} of ${calls} calls failed`);
      await world.checkBooks(calls);
    }
  },
);

Deno.test("the `fetch` driver handles the same failures in the same way", options, async () => {
  for (
    const what of [
      "refuses connections",
      "accepts and closes",
      "sends a preamble and stalls",
      "answers brotli",
      "redirects",
    ]
  ) {
    const script = broken[what];
    assert(script !== undefined);
    await using world = await UnrulyWorld.open({
      providers: { a: script, b: good },
      ...impatient,
      driver: "fetch",
    });
    for (const style of styles) {
      const answer = await world.call(style, true);
      assertEquals([answer.status, strictEnd(style, answer.bytes)], [200, "whole"], what);
    }
    await world.checkBooks(3);
  }
});

Deno.test(
  "clients that leave at any moment are charged for what was produced, once",
  options,
  async () => {
    const slow: Unruly = async (c, { head }) => {
      const { stream } = told[styleOf(head)];
      await c.say(chunkedHead());
      for (let i = 0; i < stream.length; i += 40) {
        if (!await c.say(chunk(stream.slice(i, i + 40)))) return;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await c.say(lastChunk);
    };
    await using world = await UnrulyWorld.open({ providers: { a: slow } });
    const calls = 120;
    await inLanes(Array.from({ length: calls }, (_, i) => i), async (i) => {
      let left = i % 7;
      await world.call(styles[i % 3] ?? "chat", true, () => left-- > 0);
    });
    await world.checkBooks(calls);
    const outcomes = new Set((await world.receipts()).map(({ outcome }) => outcome));
    assert(outcomes.has("client_gone"), [...outcomes].join());
  },
);
