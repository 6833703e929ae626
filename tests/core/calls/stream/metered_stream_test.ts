import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { attemptStream } from "../../../../core/calls/attempts/attempt.ts";
import { CallControl } from "../../../../core/calls/attempts/attempt_loop.ts";
import {
  drainAfterEndMs,
  keepAliveMs,
  meteredStream,
  type MeteredStreamInput,
  type StreamBound,
  type StreamCut,
} from "../../../../core/calls/stream/metered_stream.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { StreamReading } from "../../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { chatStream, newChatPipe, tickMs } from "../attempts/call_world.ts";
import { FakeExchange, settled } from "./fake_exchange.ts";

const keepAlive = ": keep-alive\n\n";
const hello = chatStream.text("Hello");
const whole = hello + chatStream.stop + chatStream.usage(3, 2) + chatStream.done;

interface StreamWorld {
  readonly time: ManualTime;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  readonly exchange: FakeExchange;
  readonly outcomes: Outcome[];
  /** What the receipt says ended each stream. */
  readonly endCodes: (string | undefined)[];
  readonly bugs: unknown[];
  readonly stream: ReadableStream<Uint8Array>;
  readonly reading: { readonly usage: unknown; readonly outputBytes: number };
}

/** A stream whose route has produced `first`; more comes as the test sends it. */
async function open(
  first: string,
  changes: {
    readonly settle?: (outcome: Outcome) => Promise<void>;
    readonly bytesLeave?: () => Promise<void>;
    readonly then?: (exchange: FakeExchange) => void;
    readonly breakPipe?: boolean;
    readonly idleMs?: number;
    readonly bounds?: readonly StreamBound[];
  } = {},
): Promise<StreamWorld> {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time, tickMs });
  const control = new CallControl();
  const exchange = new FakeExchange().head().send(first);
  changes.then?.(exchange);
  const outcomes: Outcome[] = [];
  const endCodes: (string | undefined)[] = [];
  const bugs: unknown[] = [];
  const started = await attemptStream({
    exchange,
    createPipe: newChatPipe,
    readAnswer: () => {
      throw new Error("not a stream");
    },
    toClient: ({ bytes }) => bytes,
    decodeError: () => {
      throw new Error("no refusal");
    },
  }, { clock: time, deadlines });
  const { pipe } = started;
  const input: MeteredStreamInput = {
    started: changes.breakPipe !== true ? started : {
      ...started,
      pipe: {
        reading: pipe.reading,
        push: () => {
          throw new TypeError("a bug");
        },
        end: () => pipe.end(),
        fail: (error) => pipe.fail(error),
        stopForLength: () => undefined,
      },
    },
    keepAlive: new TextEncoder().encode(keepAlive),
    idleMs: changes.idleMs ?? 60_000,
    bounds: changes.bounds ?? [],
    deadlines,
    control,
    settle: async (outcome, endCode) => {
      outcomes.push(outcome);
      endCodes.push(endCode);
      await changes.settle?.(outcome);
    },
    bytesLeave: changes.bytesLeave ?? (() => Promise.resolve()),
    onBug: (error) => bugs.push(error),
  };
  return {
    time,
    deadlines,
    control,
    exchange,
    outcomes,
    endCodes,
    bugs,
    stream: new ReadableStream(meteredStream(input), { highWaterMark: 0 }),
    reading: pipe.reading,
  };
}

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream).text();
}

Deno.test("what came in one read with the end leaves before the receipt is made", async () => {
  const left = Promise.withResolvers<void>();
  const world = await open(whole, { bytesLeave: () => left.promise });
  const reader = world.stream.getReader();
  const { value } = await reader.read();
  const end = reader.read();
  await settled();
  assertEquals(world.outcomes, []);
  left.resolve();
  const rest = await end;
  assertEquals(world.outcomes, ["completed"]);
  const decoder = new TextDecoder();
  assertEquals(decoder.decode(value) + decoder.decode(rest.value), whole);
  assertEquals((await reader.read()).done, true);
});

Deno.test("a client that leaves before the end of one read has left is settled once", async () => {
  const left = Promise.withResolvers<void>();
  const world = await open(whole, { bytesLeave: () => left.promise });
  const reader = world.stream.getReader();
  await reader.read();
  void reader.read();
  await settled();
  await reader.cancel();
  left.resolve();
  await settled();
  assertEquals(world.outcomes, ["client_gone"]);
});

Deno.test("the bytes come as they were sent, and the last event only after the receipt", async () => {
  const receipt = Promise.withResolvers<void>();
  const world = await open(hello, { settle: () => receipt.promise });
  world.exchange.send(chatStream.stop, chatStream.usage(3, 2), chatStream.done).end();
  let seen = "";
  const reading = (async () => {
    for await (const chunk of world.stream) seen += new TextDecoder().decode(chunk);
  })();
  await settled();
  assertEquals(world.outcomes, ["completed"]);
  assertEquals(seen, hello + chatStream.stop + chatStream.usage(3, 2));
  receipt.resolve();
  await reading;
  assertEquals(seen, whole);
  assert(world.exchange.wasDrained, "the connection can be used again");
  assertEquals([world.exchange.cancels, world.deadlines.armedCount], [0, 0]);
});

Deno.test("nothing is read ahead of the client", async () => {
  const world = await open(hello);
  world.exchange.send(chatStream.text("1"), chatStream.text("2"));
  const readsBefore = world.exchange.reads;
  const reader = world.stream.getReader();
  await settled();
  assertEquals(world.exchange.reads, readsBefore);
  await reader.read();
  await settled();
  assertEquals(world.exchange.reads, readsBefore, "the preamble needs no reading");
  await reader.read();
  assertEquals(world.exchange.reads, readsBefore + 1);
  await reader.cancel();
});

Deno.test("a provider that sends more after its last event is not read for ever", async () => {
  const world = await open(hello);
  world.exchange.send(chatStream.stop, chatStream.done);
  for (let i = 0; i < 100; i++) world.exchange.send(": more\n\n");
  await textOf(world.stream);
  await settled();
  assert(world.exchange.wasCancelled);
  assert(world.exchange.reads < 30, `${world.exchange.reads} reads`);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("a provider that does not close after its last event gets half a second", async () => {
  const world = await open(hello);
  world.exchange.send(chatStream.stop, chatStream.done);
  await textOf(world.stream);
  await settled();
  assertEquals(world.exchange.cancels, 0);
  world.time.advance(drainAfterEndMs + 2 * tickMs);
  await settled();
  assert(world.exchange.wasCancelled);
});

const broken: Record<string, [code: string, script: (world: StreamWorld) => void]> = {
  "is cut": ["upstream_unreachable", ({ exchange }) => exchange.fail("cut")],
  "ends without its last event": ["upstream_unreachable", ({ exchange }) => exchange.end()],
  "reports an error": [
    "overloaded",
    ({ exchange }) => exchange.send(chatStream.error("overloaded_error")).end(),
  ],
  "sends nonsense": [
    "upstream_unreachable",
    ({ exchange }) => exchange.send("data: {nonsense\n\n"),
  ],
  "stalls": ["upstream_timeout", ({ time }) => time.advance(60_000 + 2 * tickMs)],
};

for (const [what, [code, script]] of Object.entries(broken)) {
  Deno.test(`a stream that ${what} after output ends with an error event, never as if it were whole`, async () => {
    const world = await open(hello);
    const reading = textOf(world.stream);
    await settled();
    script(world);
    const text = await reading;
    assert(text.startsWith(hello), text);
    const rest = text.slice(hello.length).replaceAll(keepAlive, "");
    assert(rest.startsWith('data: {"error":'), text);
    assert(!text.includes("[DONE]"));
    assertEquals([world.outcomes, world.endCodes], [["broken"], [code]]);
    assert(rest.includes(`"code":"${code}"`), rest);
    await settled();
    assert(world.exchange.wasCancelled || world.exchange.wasDrained);
    assertEquals([world.bugs.length, world.deadlines.armedCount], [0, 0]);
  });
}

Deno.test("a stalled provider is reported as a timeout", async () => {
  const world = await open(hello, { idleMs: 1_000 });
  const reading = textOf(world.stream);
  await settled();
  world.time.advance(1_000 + 2 * tickMs);
  assert((await reading).includes('"timeout_error"'));
});

Deno.test("each byte of the provider restarts the idle timeout", async () => {
  const world = await open(hello, { idleMs: 1_000 });
  const reading = textOf(world.stream);
  for (let i = 0; i < 10; i++) {
    await settled();
    world.time.advance(900);
    world.exchange.send(": still thinking\n\n");
  }
  await settled();
  world.exchange.send(chatStream.stop, chatStream.done).end();
  assert((await reading).includes("[DONE]"));
  assertEquals(world.outcomes, ["completed"]);
});

Deno.test("during silence the client gets keep-alives, none while it does not read", async () => {
  const world = await open(hello, { idleMs: 10 * keepAliveMs });
  const reader = world.stream.getReader();
  await reader.read();
  const next = reader.read();
  await settled();
  world.time.advance(keepAliveMs + 2 * tickMs);
  assertEquals(new TextDecoder().decode((await next).value), keepAlive);
  // Nobody reads now: keep-alives do not pile up.
  world.time.advance(5 * keepAliveMs);
  await settled();
  world.exchange.send(chatStream.stop, chatStream.done).end();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    rest += new TextDecoder().decode(piece.value);
  }
  assertEquals(rest.replaceAll(keepAlive, ""), chatStream.stop + chatStream.done);
  assert(rest.split(keepAlive).length <= 3, "keep-alives piled up");
  await settled();
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("when a client leaves while a read is pending the provider is stopped at once, and the call settled once", async () => {
  const world = await open(hello);
  const reader = world.stream.getReader();
  await reader.read();
  const waiting = reader.read();
  await settled();
  await reader.cancel();
  await waiting;
  await settled();
  assert(world.exchange.wasCancelled);
  assertEquals(world.outcomes, ["client_gone"]);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("a client that leaves before it read anything is settled for what was produced", async () => {
  const world = await open(hello);
  await world.stream.cancel();
  assertEquals(world.outcomes, ["client_gone"]);
  assertEquals(world.reading.outputBytes, "Hello".length);
});

Deno.test("a client that leaves while the receipt is written does not change it", async () => {
  const receipt = Promise.withResolvers<void>();
  const world = await open(hello, { settle: () => receipt.promise });
  world.exchange.send(chatStream.stop, chatStream.done).end();
  const reader = world.stream.getReader();
  await reader.read();
  await reader.read();
  const last = reader.read();
  await settled();
  const leaving = reader.cancel();
  receipt.resolve();
  await Promise.all([leaving, last]);
  assertEquals(world.outcomes, ["completed"]);
});

for (const reason of ["call_timeout", "shutdown"] as const) {
  for (const reads of [0, 1, 2]) {
    Deno.test(`${reason} with a client that has read ${reads} times and stopped reading: settled at once`, async () => {
      const world = await open(hello);
      const reader = world.stream.getReader();
      if (reads > 0) await reader.read();
      const waiting = reads > 1 ? reader.read() : undefined;
      await settled();
      world.control.stop(reason);
      await settled();
      // Whoever waits for the provider did not leave; whoever reads nothing until the time is up is as good as gone.
      const isUnread = reason === "call_timeout" && reads < 2;
      assertEquals(world.outcomes, [isUnread ? "client_gone" : "broken"]);
      assertEquals(world.endCodes, [isUnread ? undefined : reason]);
      assert(world.exchange.wasCancelled);
      // It still gets to know when it reads again.
      let rest = new TextDecoder().decode((await waiting)?.value);
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        rest += new TextDecoder().decode(piece.value);
      }
      if (reads === 0) assert(rest.startsWith(hello), "what is charged is sent");
      assert(rest.includes(reason === "shutdown" ? "restarting" : "15 minutes"), rest);
      assertEquals(world.deadlines.armedCount, 0);
    });
  }
}

Deno.test("a client that stops reading before the report until the time is up still pays by the report", async () => {
  const world = await open(hello);
  const reader = world.stream.getReader();
  await reader.read();
  const word = reader.read();
  world.exchange.send(chatStream.stop);
  await word;
  world.exchange.send(chatStream.usage(3, 900), chatStream.done).end();
  world.control.stop("call_timeout");
  await settled();
  assertEquals(world.outcomes, ["client_gone"]);
  assert(
    JSON.stringify(world.reading.usage).includes("900"),
    "hidden reasoning was had for nothing",
  );
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    rest += new TextDecoder().decode(piece.value);
  }
  assert(rest.includes("15 minutes") && !rest.includes("[DONE]"), rest);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("when a call is stopped as bytes arrive they are sent, then the call is settled, without another read", async () => {
  const world = await open(hello);
  const reader = world.stream.getReader();
  await reader.read();
  const waiting = reader.read();
  await settled();
  world.exchange.send(chatStream.text("more"));
  world.control.stop("shutdown");
  await settled();
  assertEquals(world.outcomes, ["broken"]);
  assertEquals(new TextDecoder().decode((await waiting).value), chatStream.text("more"));
  await reader.cancel();
});

Deno.test("a call stopped before its stream exists is settled too", async () => {
  const world = await open(hello);
  await world.stream.cancel(); // the first one is another test's matter
  const control = new CallControl();
  control.stop("client_gone");
  const outcomes: Outcome[] = [];
  const exchange = new FakeExchange().head().send(hello);
  const started = await attemptStream({
    exchange,
    createPipe: newChatPipe,
    readAnswer: () => {
      throw new Error("not a stream");
    },
    toClient: ({ bytes }) => bytes,
    decodeError: () => {
      throw new Error("no refusal");
    },
  }, { clock: world.time, deadlines: world.deadlines });
  const source = meteredStream({
    started,
    keepAlive: new Uint8Array(0),
    idleMs: 1_000,
    deadlines: world.deadlines,
    control,
    settle: (outcome) => {
      outcomes.push(outcome);
      return Promise.resolve();
    },
    bytesLeave: () => Promise.resolve(),
    onBug: () => {},
  });
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  await settled();
  assertEquals(outcomes, ["client_gone"]);
  await stream.cancel();
  assertEquals(outcomes.length, 1);
});

Deno.test("if the receipt cannot be written the connection breaks", async () => {
  const world = await open(hello, { settle: () => Promise.reject(new Error("ledger closed")) });
  world.exchange.send(chatStream.stop, chatStream.done).end();
  let seen = "";
  await assertRejects(
    async () => {
      for await (const chunk of world.stream) seen += new TextDecoder().decode(chunk);
    },
    Error,
    "ledger closed",
  );
  assertEquals(seen, hello + chatStream.stop, "no last event");
});

Deno.test("a client that leaves when the receipt cannot be written causes no exception", async () => {
  const world = await open(hello, { settle: () => Promise.reject(new Error("ledger closed")) });
  await world.stream.cancel();
  assertEquals(world.outcomes, ["client_gone"]);
});

Deno.test("a defect of ours in the middle of a stream is reported, and the stream is settled and ended with an error event", async () => {
  const world = await open(hello, { breakPipe: true });
  const reading = textOf(world.stream);
  await settled();
  world.exchange.send(chatStream.text("more"));
  const text = await reading;
  assert(text.includes('"api_error"'), text);
  assertEquals(world.outcomes, ["broken"]);
  assertEquals(world.bugs.length, 1);
  assert(world.exchange.wasCancelled);
});

Deno.test("a whole short answer in one piece", async () => {
  const world = await open(whole, { then: (exchange) => exchange.end() });
  assertEquals(await textOf(world.stream), whole);
  assertEquals(world.outcomes, ["completed"]);
});

Deno.test("an answer without content and without a report is empty", async () => {
  const cut = chatStream.stop.replace('"stop"', '"length"');
  const world = await open(chatStream.role + cut + chatStream.done);
  world.exchange.end();
  await textOf(world.stream);
  assertEquals(world.outcomes, ["empty"]);
});

type Step =
  | "text"
  | "last"
  | "end"
  | "cut"
  | "read"
  | "cancel"
  | "stop"
  | "turn"
  | "silence"
  | "receipt"
  | "no_receipt";

Deno.test("in any order of events a stream is settled exactly once, with the right outcome", async () => {
  const step: fc.Arbitrary<Step> = fc.constantFrom(
    "text",
    "last",
    "end",
    "cut",
    "read",
    "read",
    "cancel",
    "stop",
    "turn",
    "turn",
    "silence",
    "receipt",
    "no_receipt",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const receipt = Promise.withResolvers<void>();
      receipt.promise.catch(() => {});
      const world = await open(hello, { settle: () => receipt.promise });
      const { exchange, control, time } = world;
      const reader = world.stream.getReader();
      reader.closed.catch(() => {});
      let upstreamOver = false;
      let received = "";
      let clean = false;
      let failed = false;
      const read = () =>
        void reader.read().then(({ done, value }) => {
          if (done) clean = true;
          else received += new TextDecoder().decode(value);
        }, () => failed = true);
      for (const one of steps) {
        if (!upstreamOver && ["text", "last", "end", "cut"].includes(one)) {
          if (one === "text") exchange.send(chatStream.text("x"));
          if (one === "last") exchange.send(chatStream.stop, chatStream.done).end();
          if (one === "end") exchange.end();
          if (one === "cut") exchange.fail("cut");
          upstreamOver = one !== "text";
        }
        if (one === "read") read();
        if (one === "cancel") void reader.cancel().catch(() => {});
        if (one === "stop") control.stop("shutdown");
        if (one === "turn") await settled();
        if (one === "silence") time.advance(keepAliveMs + tickMs);
        if (one === "receipt") receipt.resolve();
        if (one === "no_receipt") receipt.reject(new Error("ledger closed"));
      }
      // In any case the client leaves in the end and the ledger answers.
      await settled();
      const whole = clean && !failed;
      void reader.cancel().catch(() => {});
      receipt.resolve();
      await settled();
      assertEquals(world.outcomes.length, 1, "settled exactly once");
      const [outcome] = world.outcomes;
      const sawEnd = received.includes("[DONE]");
      if (outcome !== "completed") assert(!sawEnd, `a clean end for ${outcome}`);
      if (whole && outcome === "completed" && !steps.includes("cancel")) assert(sawEnd, "no end");
      if (outcome === "completed") assert(steps.includes("last"), "completed without its end");
      assertEquals(world.bugs, []);
      time.advance(drainAfterEndMs + 2 * tickMs);
      await settled();
      assert(exchange.wasCancelled || exchange.wasDrained, "the connection is left open");
      assertEquals(world.deadlines.armedCount, 0);
    }),
    { numRuns: 150 },
  );
});

type BoundAnswer = StreamCut | undefined | Promise<StreamCut | undefined>;

/** Lets `first` bytes of output pass, then answers as it was made to. */
class TestBound implements StreamBound {
  outputBytes: number;
  asked = 0;
  sawBytes = 0;
  readonly #answer: (bound: TestBound) => BoundAnswer;

  constructor(first: number, answer: (bound: TestBound) => BoundAnswer) {
    this.outputBytes = first;
    this.#answer = answer;
  }

  passed({ outputBytes }: StreamReading): BoundAnswer {
    this.asked++;
    this.sawBytes = outputBytes;
    return this.#answer(this);
  }
}

const cutUsage = { input: 3, cacheRead: 0, cacheWrite: 0, output: 4, reasoning: 0 };
const cutAs = (as: StreamCut["as"]): StreamCut => ({
  as,
  error: new GatewayError("insufficient_balance", "The balance is used up"),
  usage: cutUsage,
});

Deno.test("a bound that is passed ends the stream in the client's style, once and settled", async () => {
  const ends = {
    length: ['"finish_reason":"length"', "data: [DONE]\n\n"],
    error: ['"insufficient_balance"', "}}\n\n"],
  } as const;
  for (const as of ["length", "error"] as const) {
    for (const isSlow of [false, true]) {
      const bound = new TestBound(
        8,
        () => isSlow ? Promise.resolve().then(() => cutAs(as)) : cutAs(as),
      );
      const world = await open(hello, { bounds: [bound] });
      world.exchange.send(chatStream.text(", you"), chatStream.text(" never sent"));
      const text = await textOf(world.stream);
      assertEquals([bound.asked, world.outcomes], [1, ["cut"]], as);
      assertEquals(world.endCodes, ["insufficient_balance"]);
      assert(text.startsWith(hello + chatStream.text(", you")), text);
      assert(!text.includes("never sent"), text);
      assert(text.includes(ends[as][0]) && text.endsWith(ends[as][1]), text);
      assert(world.exchange.wasCancelled, "the upstream is stopped");
      assertEquals(world.bugs, []);
    }
  }
});

Deno.test("a bound that is raised lets the stream continue, and is not asked before it is passed", async () => {
  const bound = new TestBound(5, (passed) => {
    passed.outputBytes = 1_000;
    return Promise.resolve(undefined);
  });
  const world = await open(hello, { bounds: [bound] });
  const rest = chatStream.text(", ") + chatStream.text("you");
  world.exchange.send(chatStream.text(", "), chatStream.text("you"), chatStream.stop);
  world.exchange.send(chatStream.usage(3, 2), chatStream.done).end();
  const text = await textOf(world.stream);
  assertEquals(text, hello + rest + chatStream.stop + chatStream.usage(3, 2) + chatStream.done);
  assertEquals([bound.asked, world.outcomes], [1, ["completed"]]);
});

Deno.test("a bound is not passed by a whole read, only by the event that passes it", async () => {
  const piece = chatStream.text("x".repeat(50));
  for (const first of [hello + piece.repeat(500), hello]) {
    const bound = new TestBound(1_000, () => cutAs("length"));
    const world = await open(first, { bounds: [bound] });
    world.exchange.send(piece.repeat(500));
    const text = await textOf(world.stream);
    assertEquals([bound.asked, world.outcomes], [1, ["cut"]]);
    // The slices are of 256 bytes at least, in which there are three more events at most.
    assert(bound.sawBytes > 1_000 && bound.sawBytes <= 1_150, `${bound.sawBytes}`);
    assertEquals(text.split("xxx").length > 1, true);
    assert(text.endsWith(chatStream.done), text.slice(-100));
  }
});

Deno.test("a client that leaves while a bound is asked is settled once", async () => {
  const answer = Promise.withResolvers<StreamCut | undefined>();
  const world = await open(hello, { bounds: [new TestBound(5, () => answer.promise)] });
  const reader = world.stream.getReader();
  await reader.read();
  world.exchange.send(chatStream.text(" and more"));
  await reader.read();
  void reader.read();
  await settled();
  await reader.cancel();
  answer.resolve(cutAs("length"));
  await settled();
  assertEquals(world.outcomes, ["client_gone"]);
});

Deno.test("an answer that has ended is not cut", async () => {
  const bound = new TestBound(5, () => cutAs("length"));
  const world = await open(hello, { bounds: [bound] });
  world.exchange.send(chatStream.text(" and more") + chatStream.stop + chatStream.done).end();
  await textOf(world.stream);
  assertEquals([bound.asked, world.outcomes], [0, ["completed"]]);
});
