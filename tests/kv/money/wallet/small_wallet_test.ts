/** Small wallets over several instances: what one of them does not need, the others can reserve. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { draftOf, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { countedKv, settledDown } from "../../../support/stores/counted_kv.ts";
import { passTurns } from "../../../support/turns.ts";
import { runRandom } from "../../../support/random.ts";

/** Longer than any call of these tests waits: none is refused because of its patience. */
const reservationWaitMs = 120_000;

/** Milliseconds by which time advances whenever the store has answered: the first pause of a call that waits for others. */
const stepMs = 20;

/** Three engines on one store, as three gateways have them. */
async function threeInstances() {
  const kv = await Deno.openKv(":memory:");
  const store = countedKv(kv);
  const time = new ManualTime();
  const open = () => openWalletEngine(kv, { clock: time, timer: time, reservationWaitMs });
  const engines = [await open(), await open(), await open()] as const;
  /** Lets time pass until the work is done. */
  const during = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = work.finally(() => isOver = true);
    over.catch(() => {});
    while (!isOver) {
      await settledDown(store);
      time.advance(stepMs);
    }
    return await over;
  };
  return {
    kv,
    engines,
    during,
    /** Ends the instances, so that all money is back, and checks what is left of it. */
    async close(account: AccountId, leftMicroVnd: bigint) {
      for (const engine of engines) await during(engine.close());
      const report = await verifyStore(kv);
      assertEquals([report.problems, report.leasedMicroVnd], [[], 0n]);
      assertEquals((await readWallet(kv, account)).availableMicroVnd, leftMicroVnd);
      kv.close();
    },
  };
}

const reservedMicroVnd = fromVnd(67);
const costMicroVnd = fromVnd(1) / 8n;

/** One call: reserves, takes a moment as a provider does, settles. */
async function call(engine: WalletEngine, account: AccountId): Promise<string> {
  const reserved = await engine.reserve(account, reservedMicroVnd);
  if (!reserved.ok) return reserved.reason;
  await passTurns(1 + Math.floor(runRandom() * 4));
  await engine.settle(reserved.reservation, draftOf(costMicroVnd));
  return "ok";
}

Deno.test("a wallet that pays one reservation serves a client that goes round three instances", async () => {
  const { kv, engines, during, close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(100));
  const ends: string[] = [];
  for (let at = 0; at < 60; at++) {
    const engine = engines[at % 3];
    assert(engine !== undefined);
    ends.push(await during(call(engine, account)));
  }
  assertEquals(ends.filter((end) => end !== "ok"), []);
  await close(account, fromVnd(100) - 60n * costMicroVnd);
});

for (const vnd of [67, 100, 300, 540, 2_000]) {
  Deno.test(`eight calls at once over three instances share a wallet of ${vnd} VND`, async () => {
    const { kv, engines, during, close } = await threeInstances();
    const account = newAccount();
    await topUp(kv, account, fromVnd(vnd) + 80n * costMicroVnd);
    const clients = Array.from({ length: 8 }, async (_, client) => {
      const ends: string[] = [];
      for (let at = 0; at < 10; at++) {
        const engine = engines[(client + at) % 3];
        assert(engine !== undefined);
        ends.push(await call(engine, account));
      }
      return ends;
    });
    const ends = (await during(Promise.all(clients))).flat();
    assertEquals(ends.filter((end) => end !== "ok"), []);
    await close(account, fromVnd(vnd));
  });
}

Deno.test("a wallet that became small takes back what an instance drew while it was rich", async () => {
  const { kv, engines: [first, second], during, close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(10_000));
  assertEquals(await during(call(first, account)), "ok");
  const held = (await first.balance(account)).leasedMicroVnd;
  assert(held > reservedMicroVnd, `drew ahead ${held}`);
  // The second instance reserves nearly all of the rest.
  const rest = (await first.balance(account)).availableMicroVnd;
  const large = await during(Promise.resolve(second.reserve(account, rest - fromVnd(10))));
  assert(large.ok);
  // The first is in use all the time, so its lease never becomes idle.
  let isOver = false;
  const busy = (async () => {
    let calls = 0n;
    for (; !isOver; calls++) assertEquals(await call(first, account), "ok");
    return calls;
  })();
  const end = await during(call(second, account));
  isOver = true;
  const calls = 2n + await during(busy);
  second.release(large.reservation);
  assertEquals(end, "ok");
  await close(account, fromVnd(10_000) - calls * costMicroVnd);
});

Deno.test("a wallet that is worth too little is refused as such, whatever its instances move", async () => {
  const { kv, engines, during, close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(60));
  const refused = await during(Promise.resolve(engines[0].reserve(account, reservedMicroVnd)));
  assertEquals([refused.ok, refused.ok ? "" : refused.reason], [false, "insufficient"]);
  await close(account, fromVnd(60));
});
