/** Tests rate limits over several instances on one store: how far they can be exceeded, and what it costs the store. */
import * as fc from "../../../support/property.ts";
import { ProcessRateBook } from "../../../../core/limits/rate_book.ts";
import type { RateLimits } from "../../../../core/limits/rate_limits.ts";
import { RateExchange } from "../../../../kv/services/limits/rate_exchange.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { rateUsePrefix } from "../../../../kv/engine/schema/keys.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { until } from "../../../support/until.ts";

/** What a cold instance assumes. */
const assumedInstances = 4;

interface Instance {
  readonly book: ProcessRateBook;
  readonly exchange: RateExchange;
}

function openInstance(kv: KeyValueStore, time: ManualTime, failures: unknown[] = []): Instance {
  const book = new ProcessRateBook(() => time.monotonicMs(), {
    instances: assumedInstances,
    onUse: () => exchange.used(),
  });
  const exchange: RateExchange = new RateExchange({
    kv,
    book,
    clock: time,
    timer: time,
    assumedInstances,
    onFailure: (error) => failures.push(error),
  });
  return { book, exchange };
}

/** Instances whose exchanges a test makes itself. */
function openManual(kv: KeyValueStore, time: ManualTime): Instance {
  const book = new ProcessRateBook(() => time.monotonicMs(), { instances: assumedInstances });
  const { clock, timer, onFailure } = { clock: time, timer: time, onFailure: () => {} };
  return {
    book,
    exchange: new RateExchange({ kv, book, clock, timer, assumedInstances, onFailure }),
  };
}

function begin({ book }: Instance, limits: RateLimits, tokens = 0) {
  return book.begin({
    subjects: [{ id: "account", scope: "account", limits }],
    tokens,
    inputTokens: tokens,
  });
}

/** Calls until one is refused; returns how many were admitted. */
function burst(instance: Instance, limits: RateLimits, most = 1_000): number {
  for (let admitted = 0; admitted < most; admitted++) {
    const result = begin(instance, limits);
    if (!result.ok) return admitted;
    result.call.end({ tokens: 0, isCounted: true });
  }
  return most;
}

const rowsOf = (kv: KeyValueStore) => Array.fromAsync(kv.list({ prefix: rateUsePrefix() }));

Deno.test("instances together exceed a limit by half of it at most, whenever they exchange", async () => {
  const steps = fc.array(
    fc.record({
      instance: fc.nat(4),
      act: fc.constantFrom("burst", "burst", "some", "exchange", "exchange", "pause"),
      amount: fc.integer({ min: 1, max: 40 }),
    }),
    { maxLength: 60 },
  );
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 10, max: 200 }),
      async (
        steps,
        count,
        limit,
      ) => {
        using kv = await Deno.openKv(":memory:");
        const time = new ManualTime();
        const instances = Array.from({ length: count }, () => openManual(kv, time));
        const limits = { requestsPerMinute: limit };
        const seen: number[] = [];
        // All have begun to count, and know of each other.
        for (const one of instances) {
          assert(begin(one, { requestsPerMinute: 1_000 }).ok);
          await one.exchange.exchange();
        }
        for (const one of instances) await one.exchange.exchange();
        time.advance(61_000);
        // All have the same period, so they exchange in turn.
        let next = 0;
        for (const step of steps) {
          if (step.act === "pause") time.advance(step.amount * 100);
          else if (step.act === "exchange") await instances[next++ % count]!.exchange.exchange();
          else {
            const one = instances[step.instance % count]!;
            const admitted = burst(one, limits, step.act === "some" ? step.amount : 1_000);
            for (let call = 0; call < admitted; call++) seen.push(time.nowMs());
          }
          const inWindow = seen.filter((atMs) => atMs > time.nowMs() - 60_000).length;
          assert(inWindow <= 1.5 * limit + count, `${inWindow} of ${limit}`);
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("one instance alone gets all of a limit within seconds, and two share it", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  const limits = { requestsPerMinute: 100 };
  // Cold: a quarter, since up to four instances may be as cold.
  assertEquals(burst(one, limits), 25);
  await one.exchange.exchange();
  assertEquals(burst(one, limits), 75);
  assertEquals(burst(two, limits), 25);
  await one.exchange.exchange();
  await two.exchange.exchange();
  assertEquals([burst(one, limits), burst(two, limits)], [0, 0]);
  for (const _ of [1, 2]) {
    await one.exchange.exchange();
    await two.exchange.exchange();
    time.advance(61_000);
  }
  await two.exchange.exchange();
  await one.exchange.exchange();
  assertEquals(burst(one, limits), 100);
});

Deno.test("sums of others leave the window, and tokens that were not used are given back", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  const limits = { tokensPerMinute: 1_000 };
  const call = begin(one, limits, 800);
  assert(call.ok);
  await one.exchange.exchange();
  await two.exchange.exchange();
  assertEquals(two.book.use(["account"])[0], {
    requestsPerMinute: 1,
    tokensPerMinute: 800,
    vndPerHour: 0,
    callsAtOnce: 1,
  });
  assert(!begin(two, limits, 300).ok);
  call.call.end({ tokens: 100, isCounted: true });
  await one.exchange.exchange();
  await two.exchange.exchange();
  assertEquals(two.book.use(["account"])[0], {
    requestsPerMinute: 1,
    tokensPerMinute: 100,
    vndPerHour: 0,
    callsAtOnce: 0,
  });
  assert(begin(two, limits, 300).ok);
  time.advance(61_000);
  assertEquals(two.book.use(["account"])[0]?.tokensPerMinute, 0);
});

Deno.test("calls at once are counted over instances, and those of a dead one end with it", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  const limits = { callsAtOnce: 4 };
  assert(begin(one, limits).ok);
  await one.exchange.exchange();
  for (let call = 0; call < 3; call++) assert(begin(one, limits).ok);
  await one.exchange.exchange();
  assert(begin(two, limits).ok, "a cold instance admits one");
  await two.exchange.exchange();
  assert(!begin(two, limits).ok);
  assertEquals(two.book.use(["account"])[0]?.callsAtOnce, 5);
  // The first instance is killed: it publishes no more.
  time.advance(5_500);
  await two.exchange.exchange();
  assertEquals(two.book.use(["account"])[0]?.callsAtOnce, 1);
  assert(begin(two, limits).ok);
});

Deno.test("the exchange runs while calls count, and rests with nothing in the store", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const instance = openInstance(kv, time);
  const limits = { requestsPerMinute: 10 };
  assertEquals(time.pending, 0);
  const call = begin(instance, limits);
  assert(call.ok);
  call.call.end({ tokens: 0, isCounted: true });
  await until(() => time.pending === 1, "an exchange");
  assertEquals((await rowsOf(kv)).length, 1);
  // After a minute nothing counts any more: the next exchange removes the row, and one more look ends it.
  for (let exchange = 0; exchange < 122; exchange++) {
    time.advance(500);
    await until(() => time.pending === 1, "an exchange");
  }
  time.advance(500);
  assertEquals((await rowsOf(kv)).length, 0);
  assertEquals(time.pending, 0);
  begin(instance, limits);
  await until(() => time.pending === 1, "an exchange");
  await instance.exchange.close();
  assertEquals([(await rowsOf(kv)).length, time.pending], [0, 0]);
});

Deno.test("refused calls cost the store two exchanges a second at most", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  let reads = 0;
  const counted = Object.assign(Object.create(kv), {
    set: kv.set.bind(kv),
    delete: kv.delete.bind(kv),
    list(...args: Parameters<KeyValueStore["list"]>) {
      reads++;
      return kv.list(...args);
    },
  }) as KeyValueStore;
  const instance = openInstance(counted, time);
  for (let second = 0; second < 10; second++) {
    for (let tick = 0; tick < 20; tick++) {
      for (let call = 0; call < 50; call++) begin(instance, { requestsPerMinute: 1 });
      time.advance(50);
      await until(() => time.pending === 1, "an exchange");
    }
  }
  assert(reads <= 22, `${reads} reads`);
  await instance.exchange.close();
});

Deno.test("without the store each instance goes on with what it knows", async () => {
  const time = new ManualTime();
  const kv = await Deno.openKv(":memory:");
  kv.close();
  const failures: unknown[] = [];
  const instance = openInstance(kv, time, failures);
  const limits = { requestsPerMinute: 20 };
  let admitted = burst(instance, limits);
  await until(() => time.pending === 1, "an exchange");
  for (let round = 0; round < 20; round++) {
    admitted += burst(instance, limits);
    time.advance(500);
    await until(() => time.pending === 1, "an exchange");
  }
  assertEquals(admitted, 20);
  assert(failures.length > 0);
});

Deno.test("thousands of subjects take some pages, and further ones are counted here", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  for (let at = 0; at < 5_000; at++) {
    const id = `acc_${String(at).padStart(26, "0")}`;
    one.book.begin({
      subjects: [{ id, scope: "account", limits: { requestsPerMinute: 4 } }],
      tokens: 0,
      inputTokens: 0,
    });
  }
  await one.exchange.exchange();
  assertEquals((await rowsOf(kv)).length, 10);
  await two.exchange.exchange();
  const [oldest, latest] = [0, 4_999].map((at) => `acc_${String(at).padStart(26, "0")}`);
  const known = two.book.use([oldest!, latest!]).map(({ requestsPerMinute }) => requestsPerMinute);
  assertEquals(known, [0, 1], "the latest are published");
  await one.exchange.close();
  assertEquals((await rowsOf(kv)).length, 0);
});

Deno.test("money of an hour reaches other instances once, however long an instance is silent", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime(0);
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  const spend = (vnd: number) => {
    const result = one.book.begin({
      subjects: [{ id: "model m", scope: "model", limits: { vndPerHour: 1_000 } }],
      tokens: 0,
      inputTokens: 0,
      cost: { expectedMicroVnd: BigInt(vnd) * 1_000_000n, leastMicroVnd: 0n },
    });
    assert(result.ok);
    result.call.end({ tokens: 0, costMicroVnd: BigInt(vnd) * 1_000_000n, isCounted: true });
  };
  const known = () => two.book.use(["model m"])[0]?.vndPerHour;
  for (
    const [minutes, vnd, sum] of [[0, 30, 30], [2, 40, 70], [0, 0, 70], [59, 5, 45], [62, 7, 7]]
  ) {
    await time.advance(minutes! * 60_000);
    if (vnd! > 0) spend(vnd!);
    await one.exchange.exchange();
    await two.exchange.exchange();
    assertEquals(known(), sum);
  }
});

Deno.test("pages stay below the bound of a value, however long the names of models are", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const [one, two] = [openManual(kv, time), openManual(kv, time)];
  const allLimits = {
    requestsPerMinute: 4,
    tokensPerMinute: 1_000_000_000,
    vndPerHour: 1_000_000_000,
  };
  const ids = Array.from({ length: 900 }, (_, at) => `acc_0 ${"m".repeat(120)}${at}`);
  for (const id of ids) {
    one.book.begin({
      subjects: [{ id, scope: "account_model", limits: allLimits }],
      tokens: 1_000_000_000,
      inputTokens: 9,
    });
  }
  await one.exchange.exchange();
  await two.exchange.exchange();
  for (const use of two.book.use(ids)) assertEquals(use.callsAtOnce, 1);
});
