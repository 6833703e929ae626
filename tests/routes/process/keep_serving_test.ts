import { assertEquals } from "../../support/assert.ts";
import { keepServing, listenAgainMs, type Server } from "../../../routes/process/keep_serving.ts";
import { nextTurn } from "../../support/turns.ts";

/** A server that ends when the test says so, and what was asked of it. */
class TestServer implements Server {
  readonly #end = Promise.withResolvers<void>();
  readonly #lastAnswer = Promise.withResolvers<void>();
  isAsked = false;

  get finished(): Promise<void> {
    return this.#end.promise;
  }

  fail(error: unknown): void {
    this.#end.reject(error);
  }

  answerLast(): void {
    this.#end.resolve();
    this.#lastAnswer.resolve();
  }

  shutdown(): Promise<void> {
    this.isAsked = true;
    return this.#lastAnswer.promise;
  }
}

/** Servers one after the other; a step is what `listenAgain` gives. */
function served(steps: readonly (TestServer | Error)[]) {
  const first = new TestServer();
  const told: string[] = [];
  const pauses: { readonly delayMs: number; readonly end: () => void }[] = [];
  let listened = 0;
  const kept = keepServing(first, {
    listenAgain() {
      const step = steps[listened++];
      if (step instanceof TestServer) return step;
      throw step ?? new Error("asked too often");
    },
    onTrouble: (error) => told.push(String(error)),
    pause: (delayMs) =>
      new Promise((resolve) => {
        pauses.push({ delayMs, end: resolve });
      }),
  });
  return {
    first,
    told,
    kept,
    pauses,
    get listened() {
      return listened;
    },
    async endPause() {
      await nextTurn();
      pauses.pop()?.end();
      await nextTurn();
    },
  };
}

Deno.test("a server that cannot accept is replaced after a pause, and serves its connections until then", async () => {
  const second = new TestServer();
  const world = served([second]);
  world.first.fail(new Error("no descriptor is left"));
  await nextTurn();
  assertEquals(world.told, ["Error: no descriptor is left"]);
  assertEquals(world.pauses.map(({ delayMs }) => delayMs), [listenAgainMs]);
  assertEquals([world.first.isAsked, world.listened], [false, 0]);
  await world.endPause();
  assertEquals([world.first.isAsked, world.listened], [true, 1]);
  // Its last answer may take as long as a call does; the end waits for both.
  let isOver = false;
  const over = world.kept.shutdown().then(() => isOver = true);
  second.answerLast();
  await nextTurn();
  assertEquals([second.isAsked, isOver], [true, false]);
  world.first.answerLast();
  await over;
});

Deno.test("listening is tried until it works, with a pause each time", async () => {
  const last = new TestServer();
  const world = served([new Error("taken"), new Error("still taken"), last]);
  world.first.fail(new Error("gone"));
  for (let tries = 0; tries < 3; tries++) {
    assertEquals(world.listened, tries);
    await world.endPause();
  }
  assertEquals(world.told, ["Error: gone", "Error: taken", "Error: still taken"]);
  world.first.answerLast();
  last.answerLast();
  await world.kept.shutdown();
});

Deno.test("a server that ends unasked, without an error, is replaced too", async () => {
  const second = new TestServer();
  const world = served([second]);
  world.first.answerLast();
  await world.endPause();
  assertEquals([world.told, world.listened], [["Error: The server ended unexpectedly"], 1]);
  second.answerLast();
  await world.kept.shutdown();
});

Deno.test("stopped in the pause, it does not listen again", async () => {
  const world = served([new TestServer()]);
  world.first.fail(new Error("gone"));
  await nextTurn();
  const over = world.kept.shutdown();
  world.first.answerLast();
  await world.endPause();
  await over;
  assertEquals(world.listened, 0);
});

Deno.test("stopped while it begins to listen, it closes the new server", async () => {
  const late = new TestServer();
  const first = new TestServer();
  const listening = Promise.withResolvers<Server>();
  const kept = keepServing(first, {
    listenAgain: () => listening.promise,
    onTrouble() {},
    pause: () => Promise.resolve(),
  });
  first.fail(new Error("gone"));
  await nextTurn();
  const over = kept.shutdown();
  first.answerLast();
  listening.resolve(late);
  await nextTurn();
  assertEquals(late.isAsked, true);
  late.answerLast();
  await over;
});
