import { assert, assertEquals } from "../../../support/assert.ts";
import { roomAfterSilenceMs } from "../../../../core/calls/attempts/attempt_loop.ts";
import { defaultFirstOutputMs } from "../../../../core/catalog/entries/model.ts";
import { maxCallMs } from "../../../../core/lib/base/limits.ts";
import { chatStream, tryRoutes, type World } from "./call_world.ts";
import { settled } from "../stream/fake_exchange.ts";

const slowMs = defaultFirstOutputMs;
const ping = ": ping\n\n";

/** Lets time pass in steps, so that what one moment starts sees the next one. */
async function pass(world: World, ms: number, each: () => void = () => {}): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 5_000) {
    world.time.advance(Math.min(5_000, ms - passedMs));
    await settled();
    each();
  }
}

const tried = (world: World) => world.tries.map(({ route }) => route);

for (const [what, silenceMs] of [["40 s", 40_000], ["5 min", 300_000]] as const) {
  Deno.test(`a model that thinks for ${what} without a byte on its only route answers by its one try`, async () => {
    const { world, result } = tryRoutes({ routes: ["a"] });
    await pass(world, silenceMs);
    world.of("a").head().send(chatStream.text("Thought"));
    const found = await result;
    assert(found.ok);
    assertEquals(found.attempts.map(({ outcome }) => outcome), ["ok"]);
    assertEquals(world.deadlines.armedCount, 0);
  });

  Deno.test(`a model that pings for ${what} on its only route answers by its one try`, async () => {
    const { world, result } = tryRoutes({ routes: ["a"] });
    world.of("a").head().send(chatStream.role);
    await pass(world, silenceMs, () => world.of("a").send(ping));
    world.of("a").send(chatStream.text("Thought"));
    const found = await result;
    assert(found.ok);
    assertEquals(found.attempts.map(({ outcome }) => outcome), ["ok"]);
  });

  Deno.test(`of two routes that think for ${what} both go on, and the first output wins`, async () => {
    const { world, result } = tryRoutes({ routes: ["a", "b"] });
    await pass(world, silenceMs);
    assertEquals(tried(world), ["a", "b"]);
    assertEquals(world.of("a").cancels + world.of("b").cancels, 0);
    world.of("a").head().send(chatStream.text("Thought"));
    const found = await result;
    assert(found.ok && found.route.id === "a");
    assertEquals(found.attempts.map(({ route, outcome }) => `${route} ${outcome}`), [
      "a ok",
      "b beaten",
    ]);
    assert(world.of("b").wasCancelled);
    assertEquals(world.deadlines.armedCount, 0);
  });
}

Deno.test("a dead connection is hedged in time, and its silence counts against the route", async () => {
  const { world, result } = tryRoutes({ routes: ["dead", "b"] });
  await pass(world, slowMs + 100);
  world.of("b").head().send(chatStream.text("Quick"));
  const found = await result;
  assert(found.ok && found.route.id === "b");
  const [, loser] = world.reports;
  assertEquals(loser?.route, "dead");
  assert(loser?.result.kind === "beaten" && loser.result.silent === true);
});

Deno.test("a route that pings is only slower: its loss is no failure", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"] });
  world.of("a").head().send(chatStream.role);
  await pass(world, slowMs + 5_000, () => world.of("a").send(ping));
  world.of("b").head().send(chatStream.text("Quick"));
  assert((await result).ok);
  const [, loser] = world.reports;
  assert(loser?.result.kind === "beaten" && loser.result.silent === false);
});

Deno.test("two attempts run at once; of three routes a dead one is replaced after two minutes", async () => {
  const { world, result } = tryRoutes({ routes: ["dead", "pinging", "c"] });
  const pings = () => {
    if (world.tries.length > 1) world.of("pinging").send(ping);
  };
  await pass(world, slowMs);
  world.of("pinging").head();
  await pass(world, roomAfterSilenceMs - slowMs - 1_000, pings);
  assertEquals(tried(world), ["dead", "pinging"]);
  await pass(world, 2_000, pings);
  assertEquals(tried(world), ["dead", "pinging", "c"]);
  assert(world.of("dead").wasCancelled && !world.of("pinging").wasCancelled);
  world.of("c").head().send(chatStream.text("C"));
  const found = await result;
  assert(found.ok && found.route.id === "c");
  assertEquals(found.attempts.map(({ route, outcome }) => `${route} ${outcome}`).sort(), [
    "c ok",
    "dead upstream_timeout",
    "pinging beaten",
  ]);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("no call gives up more than two attempts for their silence, whatever the number of routes", async () => {
  const routes = ["a", "b", "c", "d", "e", "f", "g"];
  const { world, result } = tryRoutes({ routes });
  await pass(world, maxCallMs - 10_000);
  assertEquals(tried(world), ["a", "b", "c", "d"]);
  assertEquals(world.tries.map(({ exchange }) => exchange.wasCancelled), [
    true,
    true,
    false,
    false,
  ]);
  world.of("d").head().send(chatStream.text("At last"));
  const found = await result;
  assert(found.ok && found.route.id === "d");
  assertEquals(found.attempts.length, 4);
});

Deno.test("when a hedge fails the slow route beside it gets the next one at once", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"] });
  await pass(world, slowMs + 100);
  world.of("b").fail("connect");
  await settled();
  assertEquals(tried(world), ["a", "b", "c"]);
  world.of("c").head().send(chatStream.text("C"));
  const found = await result;
  assert(found.ok && found.route.id === "c");
});

Deno.test("a route that is beaten in time leaves the rest of the queue alone", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"], hedge: { afterMs: 500 } });
  world.time.advance(520);
  await settled();
  assertEquals(tried(world), ["a", "b"]);
  world.of("b").fail("connect");
  await settled();
  assertEquals(tried(world), ["a", "b"], "the first one is not slow yet");
  world.of("a").head().send(chatStream.text("A"));
  assert((await result).ok);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("the configured timeout of a provider ends even the last route, pings or not", async () => {
  const { world, result } = tryRoutes({ routes: ["a"], givenUpAfterMs: 1_000 });
  world.of("a").head().send(ping);
  await settled();
  world.time.advance(600);
  world.of("a").send(ping);
  await settled();
  assertEquals(world.of("a").cancels, 0);
  world.time.advance(500);
  const found = await result;
  assert(!found.ok);
  assertEquals(found.error.code, "upstream_timeout");
});

Deno.test("a stop ends every attempt of a hedged call, and each is on the receipt", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"] });
  await pass(world, roomAfterSilenceMs + 1_000);
  world.control.stop("call_timeout");
  const found = await result;
  assert(!found.ok);
  assertEquals(found.error.code, "upstream_timeout");
  assertEquals(found.attempts.map(({ route, outcome }) => `${route} ${outcome}`), [
    "a upstream_timeout",
    "b upstream_timeout",
    "c upstream_timeout",
  ]);
  assertEquals(world.deadlines.armedCount, 0);
});
