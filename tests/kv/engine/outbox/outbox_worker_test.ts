import { assert, assertEquals } from "../../../support/assert.ts";
import { addToOutbox, type OutboxQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { finishClaim } from "../../../../kv/engine/outbox/outbox_claims.ts";
import { listDeadLetters } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import {
  type OutboxWork,
  type OutboxWorld,
  runDue,
  type Sleep,
  startOutboxWatch,
  startOutboxWorker,
} from "../../../../kv/engine/outbox/outbox_worker.ts";
import { faultyKv } from "../../../support/stores/faulty_kv.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const jobs: OutboxQueue<number> = {
  name: "jobs",
  parse: Number,
  claimMs: 60_000,
  maxAttempts: 4,
  backoffMs: [1_000],
};

function fakeClock() {
  const clock = { now: 0, nowMs: () => clock.now, monotonicMs: () => clock.now };
  return clock;
}

function world(
  kv: KeyValueStore,
  clock = fakeClock(),
  more: Partial<OutboxWorld> = {},
): OutboxWorld {
  return { kv, clock, random: () => 0, ...more };
}

async function fill(kv: KeyValueStore, count: number): Promise<void> {
  const operation = kv.atomic();
  for (let i = 0; i < count; i++) {
    addToOutbox(operation, jobs, { id: String(i).padStart(4, "0"), payload: i, nowMs: 0 });
  }
  await operation.commit();
}

Deno.test("runDue() handles every due row once, with no more handlers at a time than lanes", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 100);
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  const work: OutboxWork<number> = {
    queue: jobs,
    lanes: 7,
    async handle({ payload }) {
      most = Math.max(most, ++running);
      await Promise.resolve();
      seen.push(payload);
      running--;
      return "done";
    },
  };
  assertEquals(await runDue(world(kv), work), 100);
  assertEquals(most, 7);
  assertEquals(seen.toSorted((a, b) => a - b), Array.from({ length: 100 }, (_, i) => i));
  assertEquals(await runDue(world(kv), work), 0);
});

Deno.test("a handler that throws is retried later and reported, without delaying the others", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 3);
  const fates: string[] = [];
  const clock = fakeClock();
  const here = world(kv, clock, { onFailure: ({ id, fate }) => fates.push(`${id} ${fate}`) });
  const work: OutboxWork<number> = {
    queue: jobs,
    lanes: 2,
    handle: ({ payload }) =>
      payload === 1 ? Promise.reject(new TypeError("no")) : Promise.resolve("done"),
  };
  await runDue(here, work);
  for (let i = 0; i < 3; i++) {
    clock.now += 1_000;
    await runDue(here, work);
  }
  assertEquals(fates, ["0001 retried", "0001 retried", "0001 retried", "0001 dead"]);
  assertEquals((await listDeadLetters(kv, jobs, 9)).map(({ reason }) => reason), ["TypeError"]);
});

Deno.test("two workers on a failing store: the effect in the claim's atomic happens once per row", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 200);
  let calls = 0;
  // Every 7th call fails before it takes effect, every 11th afterwards.
  const shaky = faultyKv(kv, () => {
    calls++;
    return calls % 7 === 0 ? "before" : calls % 11 === 0 ? "after" : "none";
  });
  const patient = { ...jobs, maxAttempts: 1_000 };
  const work: OutboxWork<number> = {
    queue: patient,
    lanes: 5,
    async handle(claim) {
      const operation = shaky.atomic();
      finishClaim(operation, patient, claim);
      operation.set(["effect", claim.payload, crypto.randomUUID()], true);
      await operation.commit();
      return "settled";
    },
  };
  const clock = fakeClock();
  const here = world(shaky, clock);
  for (let round = 0; round < 500; round++) {
    clock.now += 61_000;
    await Promise.allSettled([runDue(here, work), runDue(here, work)]);
    const [left] = await Array.fromAsync(kv.list({ prefix: ["outbox"] }, { limit: 1 }));
    if (left === undefined) break;
  }
  const effects = await Array.fromAsync(kv.list({ prefix: ["effect"] }));
  assertEquals(effects.length, 200);
  assertEquals(new Set(effects.map(({ key }) => key[1])).size, 200);
  assert(calls > 1_000, "the store was exercised");
});

/** Records each sleep and ends it on request, or when the signal of the worker aborts. */
function controlledSleep() {
  const asked: number[] = [];
  let wake = () => {};
  let arrived = Promise.withResolvers<void>();
  const sleep: Sleep = (ms, signal) => {
    asked.push(ms);
    arrived.resolve();
    arrived = Promise.withResolvers();
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      wake = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
  return { asked, sleep, nextSleep: () => arrived.promise, wake: () => wake() };
}

Deno.test("a worker sleeps until the next row is due, and a nudge wakes it", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const here = world(kv, clock);
  const seen: number[] = [];
  const naps = controlledSleep();
  const work: OutboxWork<number> = {
    queue: jobs,
    lanes: 2,
    handle: ({ payload }) => {
      seen.push(payload);
      return Promise.resolve("done");
    },
  };
  let slept = naps.nextSleep();
  const worker = startOutboxWorker(here, work, naps.sleep);
  await slept;
  assertEquals(naps.asked, [15_000], "an empty queue is looked at four times a minute");

  const write = kv.atomic();
  addToOutbox(write, jobs, { id: "now", payload: 1, nowMs: 0 });
  addToOutbox(write, jobs, { id: "soon", payload: 2, nowMs: 0, dueAtMs: 250 });
  await write.commit();
  slept = naps.nextSleep();
  worker.nudge();
  await slept;
  assertEquals(seen, [1]);
  assertEquals(naps.asked.at(-1), 250);

  clock.now = 250;
  slept = naps.nextSleep();
  naps.wake();
  await slept;
  assertEquals(seen, [1, 2]);
  await worker.stop();
});

Deno.test("a worker survives a store that fails for a while", async () => {
  using kv = await Deno.openKv(":memory:");
  await fill(kv, 1);
  let broken = true;
  const here = world(faultyKv(kv, () => broken ? "before" : "none"));
  const naps = controlledSleep();
  let handled = 0;
  const work: OutboxWork<number> = {
    queue: jobs,
    lanes: 1,
    handle: () => Promise.resolve(handled++ < 0 ? "settled" : "done"),
  };
  let slept = naps.nextSleep();
  const worker = startOutboxWorker(here, work, naps.sleep);
  await slept;
  assertEquals([handled, naps.asked], [0, [1_000]]);
  broken = false;
  slept = naps.nextSleep();
  naps.wake();
  await slept;
  assertEquals(handled, 1);
  await worker.stop();
});

Deno.test("a watch reads once for all its queues, and wakes their workers for a row or a broken store", async () => {
  using kv = await Deno.openKv(":memory:");
  let broken = false;
  let reads = 0;
  const here = world(faultyKv(kv, () => {
    reads++;
    return broken ? "before" : "none";
  }));
  const naps = controlledSleep();
  let nudges = 0;
  const workers = [{ nudge: () => nudges++ }, { nudge: () => nudges++ }];
  let slept = naps.nextSleep();
  const endWatch = startOutboxWatch(here, "job", workers, naps.sleep);
  await slept;
  const look = async () => {
    slept = naps.nextSleep();
    naps.wake();
    await slept;
  };
  const other = kv.atomic();
  addToOutbox(other, { ...jobs, name: "mail" }, { id: "1", payload: 1, nowMs: 0 });
  await other.commit();
  await look();
  assertEquals([naps.asked, reads, nudges], [[15_000, 15_000], 1, 0]);

  broken = true;
  await look();
  assertEquals(nudges, 2, "the workers report what is wrong with the store");
  broken = false;

  await fill(kv, 1);
  await look();
  assertEquals(nudges, 4);
  await endWatch();
});
