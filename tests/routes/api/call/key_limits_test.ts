import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { type ApiKeyOptions } from "../../../../kv/people/api_keys/api_keys.ts";
import { type KeyLimitBook, openKeyLimitBook } from "../../../../kv/services/limits/limit_book.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import {
  openWalletEngine,
  type ReceiptDraft,
  type WalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { reserveMoney } from "../../../../routes/api/call/call_money.ts";

class TestClock {
  ms = Date.UTC(2026, 10, 20, 5);
  nowMs = () => this.ms;
  monotonicMs = () => this.ms;
}

/** Opens what the money of calls is taken from. */
async function openSources(kv: KeyValueStore, clock: TestClock, read: KeyValueStore = kv) {
  const wallet = await openWalletEngine(kv, { clock });
  return { wallet, limits: openKeyLimitBook({ kv: read, clock, kindOf: () => "chat" }) };
}

interface World {
  readonly wallet: WalletEngine;
  readonly limits: KeyLimitBook;
  readonly clock: TestClock;
  readonly key: Awaited<ReturnType<typeof makeKey>>;
}

async function makeKey(kv: KeyValueStore, options: Omit<ApiKeyOptions, "name">) {
  const account = await createAccount(kv, { nowMs: 1 });
  await credit(kv, {
    accountId: account.id,
    amountMicroVnd: fromVnd(1_000_000),
    kind: "admin",
    operationId: `test:${account.id}`,
    reason: "test",
    atMs: 1,
  });
  const masterKeys = await readMasterKeys(newMasterKey());
  const made = await createApiKey(kv, masterKeys, account.id, { name: "k", nowMs: 1, ...options });
  assert(made.ok);
  return made.record;
}

async function inWorld(options: Omit<ApiKeyOptions, "name">, run: (world: World) => Promise<void>) {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const sources = await openSources(kv, clock);
  try {
    await run({ ...sources, clock, key: await makeKey(kv, options) });
  } finally {
    await sources.wallet.close();
  }
}

function draft({ clock, key }: World, vnd: number): ReceiptDraft {
  return {
    requestId: newId("request", clock.ms),
    keyId: key.id,
    kind: "chat",
    model: "m",
    style: "chat",
    startedAtMs: clock.ms,
    latencyMs: 1,
    status: 200,
    stream: false,
    outcome: "completed",
    estimated: false,
    units: 1,
    price: { unit: "request", perUnitMicroVnd: fromVnd(vnd) },
    priceMicroVnd: fromVnd(vnd),
    attempts: [],
  };
}

function reserve(world: World, vnd: number, startedAtMs = world.clock.ms) {
  return reserveMoney(world, { key: world.key }, { money: fromVnd(vnd) }, startedAtMs);
}

/** Reserves and settles a call, which may have started earlier. */
async function spend(world: World, vnd: number, startedAtMs = world.clock.ms): Promise<boolean> {
  const result = await reserve(world, vnd, startedAtMs);
  if (!result.ok) return false;
  await result.settle({ ...draft(world, vnd), startedAtMs });
  return true;
}

/** A store that reads lists at once but, while `gate` is set, returns them only when it opens. */
function slowLists(kv: KeyValueStore, gate: () => Promise<void> | undefined): KeyValueStore {
  return new Proxy(kv, {
    get(target, property) {
      if (property === "list") {
        return async function* (...args: Parameters<KeyValueStore["list"]>) {
          const rows = await Array.fromAsync(target.list(...args));
          await gate();
          yield* rows;
        };
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

Deno.test("a daily limit lets calls through up to it, and again the next day in Vietnam", async () => {
  await inWorld({ dailyLimitMicroVnd: fromVnd(100) }, async (world) => {
    assertEquals(await spend(world, 60), true);
    assertEquals(await spend(world, 60), false);
    assertEquals(await spend(world, 40), true);
    assertEquals(await spend(world, 1), false);
    world.clock.ms = Date.UTC(2026, 10, 20, 17); // midnight in Hà Nội
    assertEquals(await spend(world, 100), true);
  });
});

Deno.test("a monthly limit counts over days and ends with the month", async () => {
  await inWorld({ monthlyLimitMicroVnd: fromVnd(100) }, async (world) => {
    assertEquals(await spend(world, 70), true);
    world.clock.ms += 3 * 86_400_000;
    assertEquals(await spend(world, 40), false);
    assertEquals(await spend(world, 30), true);
    world.clock.ms = Date.UTC(2026, 11, 1, 1);
    assertEquals(await spend(world, 100), true);
  });
});

Deno.test("calls in flight count in full: a limit of ten calls admits ten of fifty at once", async () => {
  await inWorld({ dailyLimitMicroVnd: fromVnd(100) }, async (world) => {
    const results = await Promise.all(
      Array.from({ length: 50 }, async () => await reserve(world, 10)),
    );
    const admitted = results.filter((result) => result.ok);
    assertEquals(admitted.length, 10);
    for (const result of results) {
      if (!result.ok) assertEquals(result.reason, "key_limit");
    }
    for (const money of admitted) money.release();
    assertEquals(await spend(world, 100), true);
  });
});

Deno.test("what was spent counts at once for the month too, and the day turns between two looks", async () => {
  const options = { dailyLimitMicroVnd: fromVnd(60), monthlyLimitMicroVnd: fromVnd(100) };
  await inWorld(options, async (world) => {
    world.clock.ms = Date.UTC(2026, 10, 20, 16, 59, 59);
    assertEquals(await spend(world, 60), true);
    world.clock.ms += 1_000; // midnight in Hà Nội; the figures are a second old
    assertEquals(await spend(world, 40), true);
    const refused = await reserve(world, 1);
    assertEquals(refused.ok ? undefined : refused.reason, "key_limit");
  });
  await inWorld({ monthlyLimitMicroVnd: fromVnd(100) }, async (world) => {
    assertEquals(await spend(world, 70), true);
    assertEquals(await spend(world, 40), false);
  });
});

Deno.test("a call that began before midnight counts on its own day, however late it is admitted or ends", async () => {
  const lastSecond = Date.UTC(2026, 11, 31, 16, 59, 59); // of the year, in Hà Nội
  for (const limit of ["dailyLimitMicroVnd", "monthlyLimitMicroVnd"] as const) {
    await inWorld({ [limit]: fromVnd(100) }, async (world) => {
      world.clock.ms = lastSecond;
      const running = await reserve(world, 60);
      assert(running.ok);
      world.clock.ms += 60_000;
      // Their bodies arrived slowly: both started on the last day, whose limit has room for one of
      // them.
      assertEquals(await spend(world, 40, lastSecond), true);
      assertEquals(await spend(world, 40, lastSecond), false);
      // The new day and month have their whole limits, while the old call runs and afterwards.
      assertEquals(await spend(world, 50), true);
      await running.settle({
        ...draft(world, 60),
        startedAtMs: lastSecond,
      });
      assertEquals(await spend(world, 50), true);
      for (const waitMs of [0, 6_000]) { // from memory, and as the store says
        world.clock.ms += waitMs;
        assertEquals(await spend(world, 1), false);
        assertEquals(await spend(world, 1, lastSecond), false);
      }
    });
  }
});

Deno.test("a clock that steps back over midnight does not reset a limit", async () => {
  await inWorld({ dailyLimitMicroVnd: fromVnd(100) }, async (world) => {
    world.clock.ms = Date.UTC(2026, 10, 20, 16, 59, 59);
    assertEquals(await spend(world, 100), true);
    world.clock.ms += 2_000; // the next day
    assertEquals(await spend(world, 100), true);
    world.clock.ms -= 3_600_000;
    assertEquals(await spend(world, 1), false);
    world.clock.ms += 86_400_000;
    assertEquals(await spend(world, 1), false);
  });
});

Deno.test("a call whose settlement fails gives back what it held", async () => {
  await inWorld({ dailyLimitMicroVnd: fromVnd(100) }, async (world) => {
    const first = draft(world, 1);
    const done = await reserve(world, 1);
    assert(done.ok);
    await done.settle(first);
    const held = await reserve(world, 90);
    assert(held.ok);
    await assertRejects(() => held.settle(first));
    assertEquals(await spend(world, 90), true);
  });
});

Deno.test("what another instance spent is known after a few seconds", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const one = await openSources(kv, clock);
  const other = await openSources(kv, clock);
  try {
    const key = await makeKey(kv, { dailyLimitMicroVnd: fromVnd(100) });
    assertEquals(await spend({ ...one, clock, key }, 10), true);
    assertEquals(await spend({ ...other, clock, key }, 90), true);
    clock.ms += 6_000;
    assertEquals(await spend({ ...one, clock, key }, 10), false);
  } finally {
    await one.wallet.close();
    await other.wallet.close();
  }
});

Deno.test("a call that ends while the store is read is not forgotten by what was read", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  let gate: Promise<void> | undefined;
  const reading = Promise.withResolvers<void>();
  const read = slowLists(kv, () => {
    if (gate !== undefined) reading.resolve();
    return gate;
  });
  const sources = await openSources(kv, clock, read);
  try {
    const world = {
      ...sources,
      clock,
      key: await makeKey(kv, { dailyLimitMicroVnd: fromVnd(100) }),
    };
    const first = await reserve(world, 100);
    assert(first.ok);
    clock.ms += 6_000;
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    const second = reserve(world, 100);
    await reading.promise;
    await first.settle(draft(world, 100));
    opened.resolve();
    assertEquals((await second).ok, false);
  } finally {
    await sources.wallet.close();
  }
});
