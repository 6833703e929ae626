import { assert, assertEquals } from "../../../support/assert.ts";
import { chatStream, tryRoutes } from "../attempts/call_world.ts";
import { settled } from "./fake_exchange.ts";

const hedged = { hedge: { afterMs: 500 }, slowAfterMs: 30_000 };
const json = { "content-type": "application/json" };

Deno.test("no second route starts when the first is quick", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], ...hedged });
  world.time.advance(400);
  world.of("a").head().send(chatStream.text("A"));
  assert((await result).ok);
  world.time.advance(10_000);
  assertEquals(world.tries.length, 1);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("after the hedge delay a second route runs beside the first; the loser is closed and not blamed", async () => {
  for (const winner of ["a", "b"]) {
    const loser = winner === "a" ? "b" : "a";
    const { world, result } = tryRoutes({ routes: ["a", "b", "c"], ...hedged });
    world.time.advance(520);
    await settled();
    assertEquals(world.tries.map(({ route }) => route), ["a", "b"]);
    world.of(loser).head().send(chatStream.role);
    await settled();
    world.of(winner).head().send(chatStream.text("first"));
    const found = await result;
    assert(found.ok);
    assertEquals(found.route.id, winner);
    assertEquals(
      found.attempts.map(({ route, outcome }) => `${route} ${outcome}`).sort(),
      [
        ...[`${winner} ok`, `${loser} beaten`],
      ].sort(),
    );
    assert(world.of(loser).wasCancelled);
    assertEquals(world.of(winner).cancels, 0);
    const kinds = Object.fromEntries(
      world.reports.map(({ route, result }) => [route, result.kind]),
    );
    assertEquals(kinds, { [winner]: "ok", [loser]: "beaten" });
    assertEquals(world.deadlines.armedCount, 0);
  }
});

Deno.test("when one of two routes fails the other may still win", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], ...hedged });
  world.time.advance(520);
  await settled();
  world.of("b").fail("connect");
  await settled();
  world.of("a").head().send(chatStream.text("A"));
  const found = await result;
  assert(found.ok && found.route.id === "a");
});

Deno.test("when both fail the next route is tried", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"], ...hedged });
  world.time.advance(520);
  await settled();
  world.of("a").fail("cut");
  world.of("b").fail("connect");
  await settled();
  world.of("c").head().send(chatStream.text("C"));
  const found = await result;
  assert(found.ok && found.route.id === "c");
  assertEquals(found.attempts.length, 3);
});

Deno.test("the route whose key was refused is tried again, not the other", async () => {
  let refused = 0;
  const { world, result } = tryRoutes({
    routes: ["a", "b"],
    ...hedged,
    mayRepeat: (route) => route === "b" && refused++ === 0,
  });
  world.time.advance(520);
  await settled();
  world.of("a").fail("connect");
  await settled();
  world.of("b").head(401, json).send("{}").end();
  await settled();
  assertEquals(world.tries.map(({ route }) => route), ["a", "b", "b"]);
  world.tries[2]!.exchange.head().send(chatStream.text("B"));
  const found = await result;
  assert(found.ok && found.route.id === "b");
});

Deno.test("the error of the first of two failed routes is not forgotten", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], ...hedged });
  world.time.advance(520);
  await settled();
  world.of("b").head(429, { ...json, "retry-after": "9" }).send("{}").end();
  await settled();
  world.of("a").fail("cut");
  const found = await result;
  assert(!found.ok);
  assertEquals([found.error.status, found.error.retryAfterSeconds], [429, 9]);
});

Deno.test("a refusal of the request itself ends both", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"], ...hedged });
  world.time.advance(520);
  await settled();
  world.of("b").head(400, json).send("{}").end();
  const found = await result;
  assert(!found.ok);
  assertEquals(found.error.code, "invalid_request");
  assert(world.of("a").wasCancelled);
  assertEquals(world.tries.length, 2);
});

Deno.test("when both have output at the same moment one wins, and the other's exchange is closed", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], ...hedged });
  world.time.advance(520);
  await settled();
  world.of("a").head().send(chatStream.text("A"));
  world.of("b").head().send(chatStream.text("B"));
  const found = await result;
  assert(found.ok);
  const loser = found.route.id === "a" ? "b" : "a";
  assert(world.of(loser).wasCancelled);
  assertEquals(world.of(found.route.id).cancels, 0);
  assertEquals(found.attempts.map(({ outcome }) => outcome).sort(), ["beaten", "ok"]);
});

Deno.test("a stop ends both", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b", "c"], ...hedged });
  world.time.advance(520);
  await settled();
  world.control.stop("client_gone");
  const found = await result;
  assert(!found.ok);
  assert(world.of("a").wasCancelled && world.of("b").wasCancelled);
  assertEquals(found.attempts.map(({ outcome }) => outcome), ["stopped", "stopped"]);
  assertEquals(world.tries.length, 2);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("the condition of a hedge is checked repeatedly", async () => {
  let stuck = false;
  let asked = 0;
  const when = () => {
    asked++;
    return stuck;
  };
  const { world, result } = tryRoutes({ routes: ["a", "b"], hedge: { afterMs: 500, when } });
  world.time.advance(520);
  await settled();
  assertEquals([asked, world.tries.length], [1, 1]);
  stuck = true;
  world.time.advance(520);
  await settled();
  assertEquals([asked, world.tries.length], [2, 2]);
  world.of("b").head().send(chatStream.text("B"));
  assert((await result).ok);
  assertEquals(world.deadlines.armedCount, 0);
});
