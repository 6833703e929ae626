import { assert, assertEquals } from "../../../support/assert.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import {
  RefusedBodies,
  refusedBodiesPerAddress,
} from "../../../../routes/http/body/refused_bodies.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { nextTurn } from "../../../support/turns.ts";

/** A refused request whose client sends one byte and then nothing, until the test says so. */
function stalled() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const state = { isClosed: false };
  const body = new ReadableStream<Uint8Array>({
    start(of) {
      controller = of;
      of.enqueue(new Uint8Array(1));
    },
    cancel: () => void (state.isClosed = true),
  });
  const request = new Request("http://gateway.example/v1/messages", { method: "POST", body });
  return {
    request,
    state,
    send: () => controller?.enqueue(new Uint8Array(1_000)),
    end: () => controller?.close(),
  };
}

function open() {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  return { time, deadlines, bodies: new RefusedBodies(deadlines) };
}

Deno.test("a refused client that stalls is answered within seconds; one that sends on may finish", async () => {
  const { time, deadlines, bodies } = open();
  const [silent, busy] = [stalled(), stalled()];
  const discarded = [silent, busy].map(({ request }) => bodies.discard(request, "192.0.2.1"));
  for (let second = 0; second < 10; second++) {
    await nextTurn();
    busy.send();
    await nextTurn();
    time.advance(1_000);
  }
  assertEquals([silent.state.isClosed, busy.state.isClosed], [true, false]);
  assertEquals(bodies.of("192.0.2.1"), 1);
  busy.end();
  await Promise.all(discarded);
  assertEquals([bodies.of("192.0.2.1"), deadlines.armedCount], [0, 0]);
});

Deno.test("an address has a bounded number of stalled sockets; others are not touched by them", async () => {
  const { time, bodies } = open();
  const senders = Array.from({ length: refusedBodiesPerAddress }, stalled);
  const waiting = senders.map(({ request }) => bodies.discard(request, "192.0.2.1"));
  await nextTurn();
  const [tooMany, other] = [stalled(), stalled()];
  await bodies.discard(tooMany.request, "192.0.2.1");
  assert(tooMany.state.isClosed, "let be at once");
  const polite = bodies.discard(other.request, "198.51.100.7");
  await nextTurn();
  assert(!other.state.isClosed);
  other.end();
  await polite;
  await nextTurn();
  time.advance(5_000);
  await Promise.all(waiting);
  assert(senders.every(({ state }) => state.isClosed));
  assertEquals(bodies.of("192.0.2.1"), 0);
});
