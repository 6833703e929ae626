/** Notices of a queue that loses, doubles and delays messages, or does not work at all. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { addToOutbox, type OutboxQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { startOutboxWorker } from "../../../../kv/engine/outbox/outbox_worker.ts";
import { queueNotices, type QueueStore } from "../../../../kv/engine/opening/store.ts";
import { until } from "../../../support/until.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { runRandom } from "../../../support/random.ts";
import { nextTurn } from "../../../support/turns.ts";

/** A queue whose messages meet a fate, in turn: lost, delivered twice, late, or foreign to us. */
function unreliableQueue(): QueueStore & { deliverLate(): Promise<void>; close(): void } {
  let handler: (message: unknown) => unknown = () => {};
  const over = Promise.withResolvers<void>();
  let sent = 0;
  const late: unknown[] = [];
  return {
    async enqueue(message) {
      const fate = sent++ % 4;
      if (fate === 1) { for (let copy = 0; copy < 2; copy++) await handler(message); }
      if (fate === 2) late.push(message);
      if (fate === 3) await handler({ another: "program" });
      return { ok: true, versionstamp: "0".repeat(20) };
    },
    listenQueue(given) {
      handler = given;
      return over.promise;
    },
    async deliverLate() {
      for (const message of late.splice(0)) await handler(message);
    },
    close: () => over.resolve(),
  };
}

const jobs: OutboxQueue<number> = {
  name: "jobs",
  parse: Number,
  claimMs: 60_000,
  maxAttempts: 4,
  backoffMs: [1_000],
};

Deno.test("whatever the queue does with notices, each row of the outbox is handled once", async () => {
  using kv = await Deno.openKv(":memory:");
  const queue = unreliableQueue();
  const notices = queueNotices(queue, (error) => {
    throw error;
  });
  const handled: number[] = [];
  const world = { kv, clock: new ManualTime(), random: runRandom };
  const worker = startOutboxWorker(world, {
    queue: jobs,
    lanes: 4,
    handle: ({ payload }) => {
      handled.push(payload);
      return Promise.resolve("done");
    },
    // Without notices it would look once in a long time.
  }, (_ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    }));
  const end = notices.listen(() => worker.nudge());
  for (let id = 0; id < 40; id++) {
    const write = kv.atomic();
    addToOutbox(write, jobs, { id: String(id), payload: id, nowMs: world.clock.nowMs() });
    await write.commit();
    notices.announce?.("outbox");
    await nextTurn();
    if (id % 10 === 9) await queue.deliverLate();
  }
  // What the last notices would have said, a worker finds at its next look.
  worker.nudge();
  await until(() => handled.length === 40, "all are done");
  await queue.deliverLate();
  await worker.stop();
  assertEquals(
    handled.toSorted((one, other) => one - other),
    Array.from({ length: 40 }, (_, i) => i),
  );
  await end();
  queue.close();
});

Deno.test("a queue that fails is used no more, and is reported once", async () => {
  const errors: unknown[] = [];
  let calls = 0;
  const broken: QueueStore = {
    enqueue() {
      calls++;
      return Promise.reject(new Error("the disk is full"));
    },
    listenQueue: () => Promise.reject(new Error("the reader ended")),
  };
  const notices = queueNotices(broken, (error) => errors.push(error));
  const end = notices.listen(() => {});
  for (let at = 0; at < 5; at++) {
    notices.announce?.("outbox");
    await nextTurn();
  }
  assertEquals(errors.length, 1);
  assert(calls <= 1, `${calls} calls`);
  await end();
});
