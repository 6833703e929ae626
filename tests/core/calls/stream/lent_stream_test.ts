import { assert, assertEquals } from "../../../support/assert.ts";
import { attemptStream } from "../../../../core/calls/attempts/attempt.ts";
import { CallControl } from "../../../../core/calls/attempts/attempt_loop.ts";
import {
  keepAliveMs,
  meteredStream,
  type StreamBound,
} from "../../../../core/calls/stream/metered_stream.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Outcome } from "../../../../core/billing/usage/receipt.ts";
import type { ByteSink } from "../../../../core/lib/bytes/byte_parts.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { chatStream, newChatPipe, tickMs } from "../attempts/call_world.ts";
import { FakeExchange, settled } from "./fake_exchange.ts";

const hello = chatStream.text("Hello");
const more = [" one", " two", " three\\n"].map((text) => chatStream.text(text));
const end = [chatStream.stop, chatStream.usage(3, 2), chatStream.done];
const idleMs = 60_000;

/** A stream that is read by a sink which lends, pull by pull. */
class LentWorld implements ByteSink {
  readonly time = new ManualTime();
  readonly control = new CallControl();
  readonly exchange = new FakeExchange().head().send(hello);
  readonly deadlines = new Deadlines({ clock: this.time, timer: this.time, tickMs });
  readonly outcomes: Outcome[] = [];
  readonly bugs: unknown[] = [];
  lends = 0;
  text = "";
  ended: "closed" | "broken" | undefined;
  #source: ReturnType<typeof meteredStream> | undefined;
  readonly #decoder = new TextDecoder();

  get desiredSize(): number {
    return 0;
  }

  async open(bounds: readonly StreamBound[] = []): Promise<this> {
    const started = await attemptStream({
      exchange: this.exchange,
      createPipe: newChatPipe,
      readAnswer: () => {
        throw new Error("not a stream");
      },
      toClient: ({ bytes }) => bytes,
      decodeError: () => {
        throw new Error("no refusal");
      },
    }, { clock: this.time, deadlines: this.deadlines });
    this.#source = meteredStream({
      started,
      keepAlive: new TextEncoder().encode(": keep-alive\n\n"),
      idleMs,
      bounds,
      deadlines: this.deadlines,
      control: this.control,
      settle: (outcome) => {
        this.outcomes.push(outcome);
        return Promise.resolve();
      },
      bytesLeave: () => Promise.resolve(),
      onBug: (error) => this.bugs.push(error),
    });
    this.#source.start?.(this);
    await this.pull();
    return this;
  }

  async pull(): Promise<void> {
    await this.#source?.pull(this);
    await settled();
  }

  async leave(): Promise<void> {
    await this.#source?.cancel();
  }

  enqueue(bytes: Uint8Array): void {
    this.text += this.#decoder.decode(bytes, { stream: true });
  }

  lend(bytes: Uint8Array): void {
    this.lends++;
    this.enqueue(bytes);
  }

  close(): void {
    this.ended = "closed";
  }

  error(): void {
    this.ended = "broken";
  }
}

Deno.test("each pull gets what one read has brought, and the last event waits for the receipt", async () => {
  const world = await new LentWorld().open();
  assertEquals(world.text, hello);
  for (const [at, event] of more.entries()) {
    world.exchange.send(event);
    await world.pull();
    assertEquals([world.text, world.lends], [hello + more.slice(0, at + 1).join(""), at + 1]);
  }
  world.exchange.send(...end).end();
  while (world.ended === undefined) await world.pull();
  assertEquals(world.text, hello + more.join("") + end.join(""));
  assertEquals([world.outcomes, world.ended, world.bugs], [["completed"], "closed", []]);
  assert(world.exchange.wasDrained);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("a read that brings nothing for the client goes on with the next one", async () => {
  const world = await new LentWorld().open();
  world.exchange.send("data: {", `${more[0]?.slice("data: {".length)}`);
  await world.pull();
  assertEquals([world.text, world.lends], [hello + more[0], 1]);
});

Deno.test("a client that leaves while a read is pending is settled once, and its provider stopped", async () => {
  const world = await new LentWorld().open();
  await world.pull();
  await world.leave();
  world.exchange.send(...more);
  await settled();
  assertEquals([world.outcomes, world.text], [["client_gone"], hello]);
  assert(world.exchange.wasCancelled);
});

Deno.test("a client that leaves before the report still pays by it", async () => {
  const world = await new LentWorld().open();
  world.exchange.send(chatStream.stop);
  await world.pull();
  await world.pull();
  const left = world.leave();
  world.exchange.send(chatStream.usage(3, 900), chatStream.done).end();
  await left;
  assertEquals([world.outcomes, world.text], [["client_gone"], hello + chatStream.stop]);
});

Deno.test("a provider that stalls or breaks ends the stream with an error event", async () => {
  const stalled = await new LentWorld().open();
  await stalled.pull();
  for (let ms = 0; ms <= idleMs + 10 * tickMs; ms += tickMs) {
    stalled.time.advance(tickMs);
    await Promise.resolve();
  }
  await settled();
  assertEquals([stalled.outcomes, stalled.ended], [["broken"], "closed"]);
  assert(stalled.text.includes("stopped sending"), stalled.text);
  const cut = await new LentWorld().open();
  cut.exchange.fail("cut");
  await cut.pull();
  assertEquals([cut.outcomes, cut.ended, cut.bugs], [["broken"], "closed", []]);
});

Deno.test("a pull during a keep-alive does not read twice", async () => {
  const world = await new LentWorld().open();
  await world.pull();
  for (let ms = 0; ms <= keepAliveMs + 5 * tickMs; ms += tickMs) world.time.advance(tickMs);
  assert(world.text.endsWith(": keep-alive\n\n"), world.text);
  await world.pull();
  const { reads } = world.exchange;
  world.exchange.send(`${more[0]}`);
  await settled();
  assert(world.text.endsWith(`${more[0]}`));
  assertEquals(world.exchange.reads, reads);
});

Deno.test("a bound that was passed is asked before the next read, and pulls wait for it", async () => {
  const asked = Promise.withResolvers<undefined>();
  const bound = { outputBytes: 6, passed: () => asked.promise };
  const world = await new LentWorld().open([bound]);
  world.exchange.send(`${more[0]}`);
  await world.pull();
  const { reads } = world.exchange;
  const waiting = world.pull();
  world.exchange.send(`${more[1]}`);
  await settled();
  assertEquals([world.text, world.exchange.reads], [hello + more[0], reads]);
  bound.outputBytes = 1_000;
  asked.resolve(undefined);
  await waiting;
  await settled();
  assertEquals(world.text, hello + more[0] + more[1]);
});

Deno.test("a bound that ends the stream cuts it there", async () => {
  const world = await new LentWorld().open([{
    outputBytes: 6,
    passed: () => ({
      as: "error",
      error: new GatewayError("insufficient_balance", "no more"),
      usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 },
    }),
  }]);
  world.exchange.send(`${more[0]}`, `${more[1]}`);
  await world.pull();
  await world.pull();
  assertEquals([world.outcomes, world.ended], [["cut"], "closed"]);
  assert(world.text.startsWith(hello + more[0]) && world.text.includes("no more"), world.text);
});

Deno.test("a call that is stopped during a read ends with the error of its reason", async () => {
  const world = await new LentWorld().open();
  await world.pull();
  world.control.stop("shutdown");
  await settled();
  assertEquals([world.outcomes, world.ended], [["broken"], "closed"]);
  assert(world.text.includes("restarting"), world.text);
});
