/**
 * A client that hangs up between the last text of an answer and its usage report has the whole answer, and pays for it.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { attemptStream } from "../../core/calls/attempts/attempt.ts";
import { CallControl } from "../../core/calls/attempts/attempt_loop.ts";
import { drainAfterEndMs, meteredStream } from "../../core/calls/stream/metered_stream.ts";
import { Deadlines } from "../../core/lib/time/deadlines.ts";
import { defaultIdleMs } from "../../core/net/http1/heads.ts";
import type { Outcome } from "../../core/billing/usage/receipt.ts";
import { chatStream, newChatPipe, tickMs } from "../core/calls/attempts/call_world.ts";
import { FakeExchange, settled } from "../core/calls/stream/fake_exchange.ts";
import { ManualTime } from "../support/manual_time.ts";

async function open() {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time, tickMs });
  const control = new CallControl();
  const exchange = new FakeExchange().head().send(chatStream.text("Hello"));
  const never = (): never => {
    throw new Error("not asked");
  };
  const started = await attemptStream({
    exchange,
    createPipe: newChatPipe,
    readAnswer: never,
    toClient: never,
    decodeError: never,
  }, { clock: time, deadlines });
  const outcomes: Outcome[] = [];
  const source = meteredStream({
    started,
    keepAlive: new Uint8Array(0),
    idleMs: defaultIdleMs,
    deadlines,
    control,
    settle: (outcome) => Promise.resolve(void outcomes.push(outcome)),
    bytesLeave: () => Promise.resolve(),
    onBug: (bug) => {
      throw bug;
    },
  });
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  exchange.send(chatStream.stop);
  const reader = stream.getReader();
  await reader.read();
  await reader.read();
  return { time, deadlines, control, exchange, outcomes, reader, reading: started.pipe.reading };
}

const ways = ["hangs up", "hangs up while it reads", "is gone by its signal"] as const;
for (const way of ways) {
  Deno.test(`a client that ${way} after the last text pays what the provider reports`, async () => {
    const world = await open();
    const waiting = way === "hangs up" ? undefined : world.reader.read();
    await settled();
    const leaving = way === "is gone by its signal"
      ? Promise.resolve(world.control.stop("client_gone"))
      : world.reader.cancel();
    await settled();
    assertEquals(world.outcomes, [], "settled before the report");
    world.exchange.send(chatStream.usage(3, 5_000), chatStream.done).end();
    await settled();
    await Promise.all([leaving, waiting]);
    assertEquals(world.outcomes, ["client_gone"]);
    assertEquals(world.reading.usage?.output, 5_000);
    assert(world.exchange.wasCancelled || world.exchange.wasDrained);
    assertEquals(world.deadlines.armedCount, 0);
  });
}

Deno.test("the charge does not wait for a report that never comes", async () => {
  const world = await open();
  const leaving = world.reader.cancel();
  await settled();
  world.time.advance(drainAfterEndMs + 2 * tickMs);
  await leaving;
  assertEquals(world.outcomes, ["client_gone"]);
  assertEquals(world.reading.usage, undefined);
  assert(world.exchange.wasCancelled);
  assertEquals(world.deadlines.armedCount, 0);
});
