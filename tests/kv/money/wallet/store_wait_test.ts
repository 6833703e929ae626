/** Calls that begin while the store is away wait for it, up to a bound, and the books stay exact. */
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { seededRandom } from "../../../support/random.ts";
import { countedKv, settledDown } from "../../../support/stores/counted_kv.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { draftOf, newAccount, topUp } from "../../../support/worlds/money_world.ts";

const storeWaitMs = 30_000;
const stepMs = 500;
/** Milliseconds after the end of an outage in which the engine has found it: its longest pause between two tries. */
const noticedMs = 20_000;

async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const store = countedKv(kv);
  const time = new ManualTime();
  let fault: Fault = "none";
  const wallet = await openWalletEngine(faultyKv(kv, () => fault), {
    clock: time,
    timer: time,
    random: () => 0,
    reservationWaitMs: 0,
    storeWaitMs,
  });
  return {
    kv,
    time,
    wallet,
    fail: (next: Fault) => fault = next,
    async step(steps = 1) {
      for (let step = 0; step < steps; step++) {
        time.advance(stepMs);
        await settledDown(store);
      }
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

const seeds = Array.from({ length: 12 }, (_, at) => at + 1);

for (const seed of seeds) {
  Deno.test(`calls wait for a store that comes back, and each is charged once: seed ${seed}`, async () => {
    using world = await openWorld();
    const { kv, time, wallet } = world;
    const random = seededRandom(seed);
    const account = newAccount();
    await topUp(kv, account, 1_000n);
    let answered = 0;
    let refused = 0;
    const call = async () => {
      const beganMs = time.nowMs();
      const result = await wallet.reserve(account, 2n);
      const waitedMs = time.nowMs() - beganMs;
      if (result.ok) {
        await wallet.settle(result.reservation, draftOf(2n));
        answered++;
        return;
      }
      assertEquals(result.reason, "unavailable");
      assert(waitedMs >= storeWaitMs - stepMs, `refused after ${waitedMs} ms`);
      assert(waitedMs <= storeWaitMs + noticedMs, `refused after ${waitedMs} ms only`);
      refused++;
    };
    const running = [call()];
    await world.step();
    // Short enough that each call that waits is still there when the engine notices the end.
    const outageSteps = Math.floor(random() * (storeWaitMs - noticedMs) / stepMs);
    world.fail(random() < 0.5 ? "before" : "after");
    for (let step = 0; step < outageSteps; step++) {
      if (random() < 0.3) running.push(call());
      await world.step();
    }
    world.fail("none");
    await world.step(2 * (storeWaitMs + noticedMs) / stepMs);
    await Promise.all(running);
    assertEquals([answered, refused], [running.length, 0]);
    await wallet.close();
    const { availableMicroVnd } = await readWallet(kv, account);
    assertEquals(availableMicroVnd, 1_000n - 2n * BigInt(answered));
    assertEquals((await verifyStore(kv)).problems, []);
  });
}

Deno.test("a store that stays away refuses after the bound, and one that closes at once", async () => {
  using world = await openWorld();
  const { kv, time, wallet } = world;
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  world.fail("before");
  let refusedAtMs: number | undefined;
  const beganMs = time.nowMs();
  const first = Promise.resolve(wallet.reserve(account, 2n)).then((result) => {
    refusedAtMs = time.nowMs();
    return result;
  });
  await world.step(storeWaitMs / stepMs - 2);
  assertEquals(refusedAtMs, undefined);
  await world.step(noticedMs / stepMs);
  assert(!(await first).ok, "it was refused");
  assert(refusedAtMs! - beganMs >= storeWaitMs - stepMs);

  const second = wallet.reserve(account, 2n);
  await world.step(2);
  world.fail("none");
  const closing = wallet.close();
  assert(!(await second).ok, "the engine closes");
  await world.step(noticedMs / stepMs);
  await closing;
  assertEquals(time.pending, 0, "no timer is left");
});
