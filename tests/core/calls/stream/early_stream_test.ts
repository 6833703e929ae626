import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { attemptStream } from "../../../../core/calls/attempts/attempt.ts";
import { CallControl } from "../../../../core/calls/attempts/attempt_loop.ts";
import { type Arrival, earlyStream } from "../../../../core/calls/stream/early_stream.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { drainAfterEndMs, keepAliveMs } from "../../../../core/calls/stream/metered_stream.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { chatStream, newChatPipe, tickMs } from "../attempts/call_world.ts";
import { FakeExchange, settled } from "./fake_exchange.ts";

const keepAlive = ": keep-alive\n\n";
const hello = chatStream.text("Hello");
const encoder = new TextEncoder();

function newWorld() {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time, tickMs });
  const control = new CallControl();
  const arrival = Promise.withResolvers<Arrival>();
  arrival.promise.catch(() => {});
  const exchange = new FakeExchange().head().send(hello);
  const outcomes: Outcome[] = [];
  const source = earlyStream({
    arrival: arrival.promise,
    keepAlive: encoder.encode(keepAlive),
    deadlines,
    control,
  });
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  return {
    time,
    deadlines,
    control,
    exchange,
    outcomes,
    stream,
    arrive: arrival.resolve,
    refuse: arrival.reject,
    async arriveStream(): Promise<void> {
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
      arrival.resolve({
        kind: "stream",
        input: {
          started,
          keepAlive: encoder.encode(keepAlive),
          idleMs: 60_000,
          deadlines,
          control,
          settle: (outcome) => {
            outcomes.push(outcome);
            return Promise.resolve();
          },
          bytesLeave: () => Promise.resolve(),
          onBug: () => {},
        },
      });
    },
  };
}

Deno.test("the client gets a keep-alive at once, and again after each silence, until the stream begins", async () => {
  const world = newWorld();
  const reader = world.stream.getReader();
  const decoder = new TextDecoder();
  assertEquals(decoder.decode((await reader.read()).value), keepAlive);
  for (let i = 0; i < 3; i++) {
    const next = reader.read();
    await settled();
    world.time.advance(keepAliveMs + tickMs);
    assertEquals(decoder.decode((await next).value), keepAlive);
  }
  await world.arriveStream();
  world.exchange.send(chatStream.stop, chatStream.done).end();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    rest += decoder.decode(piece.value);
  }
  assertEquals(rest, hello + chatStream.stop + chatStream.done);
  assertEquals(world.outcomes, ["completed"]);
  await settled();
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("when every route has failed the stream ends with the error event it is given", async () => {
  const world = newWorld();
  const reading = new Response(world.stream).text();
  await settled();
  world.arrive({ kind: "error", bytes: encoder.encode(chatStream.error("api_error")) });
  assertEquals(await reading, keepAlive + chatStream.error("api_error"));
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("if the receipt of the failure cannot be written the connection breaks", async () => {
  const world = newWorld();
  const reading = new Response(world.stream).text();
  world.refuse(new Error("ledger closed"));
  await assertRejects(() => reading, Error, "ledger closed");
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("a client that leaves while routes are tried stops the call", async () => {
  const world = newWorld();
  const leaving = world.stream.cancel();
  assertEquals(world.control.stopped, "client_gone");
  world.arrive({ kind: "error", bytes: new Uint8Array(0) });
  await leaving;
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("output that arrives as the client leaves is settled with its own outcome", async () => {
  const world = newWorld();
  const leaving = world.stream.cancel();
  await world.arriveStream();
  await leaving;
  assertEquals(world.outcomes, ["client_gone"]);
  assert(world.exchange.wasCancelled);
});

Deno.test("a client that does not read does not keep a call from ending", async () => {
  const world = newWorld();
  await world.arriveStream();
  await settled();
  world.control.stop("shutdown");
  await settled();
  assertEquals(world.outcomes, ["broken"]);
  const text = await new Response(world.stream).text();
  assert(text.startsWith(keepAlive + hello), text);
  assert(text.includes("restarting"), text);
});

Deno.test("early streams too are settled exactly once, whatever the order", async () => {
  const step = fc.constantFrom(
    "arrive",
    "last",
    "cut",
    "read",
    "cancel",
    "stop",
    "turn",
    "silence",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const world = newWorld();
      const reader = world.stream.getReader();
      reader.closed.catch(() => {});
      let over = false;
      let arrived = false;
      for (const one of steps) {
        if (one === "arrive" && !arrived) {
          arrived = true;
          await world.arriveStream();
        }
        if (!over && one === "last") {
          over = true;
          world.exchange.send(chatStream.stop, chatStream.done).end();
        }
        if (!over && one === "cut") {
          over = true;
          world.exchange.fail("cut");
        }
        if (one === "read") void reader.read().catch(() => {});
        if (one === "cancel") void reader.cancel().catch(() => {});
        if (one === "stop") world.control.stop("shutdown");
        if (one === "turn") await settled();
        if (one === "silence") world.time.advance(keepAliveMs + tickMs);
      }
      if (!arrived) world.arrive({ kind: "error", bytes: new Uint8Array(1) });
      void reader.cancel().catch(() => {});
      await settled();
      assertEquals(world.outcomes.length, arrived ? 1 : 0);
      world.time.advance(drainAfterEndMs + 2 * tickMs);
      await settled();
      assertEquals(world.deadlines.armedCount, 0);
    }),
    { numRuns: 150 },
  );
});
