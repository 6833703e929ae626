/** Small wallets over several instances: what one of them does not need, the others can reserve. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { draftOf, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { passTurns } from "../../../support/turns.ts";
import { runRandom } from "../../../support/random.ts";

/** Longer than the slowest machine needs: no call of these tests is refused because it waited. */
const reservationWaitMs = 120_000;

/** Three engines on one store, as three gateways have them. */
async function threeInstances() {
  const kv = await Deno.openKv(":memory:");
  const clock = new ManualTime();
  const open = () => openWalletEngine(kv, { clock, reservationWaitMs });
  const engines = [await open(), await open(), await open()] as const;
  return {
    kv,
    engines,
    /** Ends the instances, so that all money is back, and checks what is left of it. */
    async close(account: AccountId, leftMicroVnd: bigint) {
      for (const engine of engines) await engine.close();
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
  const { kv, engines, close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(100));
  const ends: string[] = [];
  for (let at = 0; at < 60; at++) {
    const engine = engines[at % 3];
    assert(engine !== undefined);
    ends.push(await call(engine, account));
  }
  assertEquals(ends.filter((end) => end !== "ok"), []);
  await close(account, fromVnd(100) - 60n * costMicroVnd);
});

for (const vnd of [67, 100, 300, 540, 2_000]) {
  Deno.test(`eight calls at once over three instances share a wallet of ${vnd} VND`, async () => {
    const { kv, engines, close } = await threeInstances();
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
    const ends = (await Promise.all(clients)).flat();
    assertEquals(ends.filter((end) => end !== "ok"), []);
    await close(account, fromVnd(vnd));
  });
}

Deno.test("a wallet that became small takes back what an instance drew while it was rich", async () => {
  const { kv, engines: [first, second], close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(10_000));
  assertEquals(await call(first, account), "ok");
  const held = (await first.balance(account)).leasedMicroVnd;
  assert(held > reservedMicroVnd, `drew ahead ${held}`);
  // The second instance reserves nearly all of the rest.
  const rest = (await first.balance(account)).availableMicroVnd;
  const large = await second.reserve(account, rest - fromVnd(10));
  assert(large.ok);
  // The first is in use all the time, so its lease never becomes idle.
  let isOver = false;
  const busy = (async () => {
    let calls = 0n;
    for (; !isOver; calls++) assertEquals(await call(first, account), "ok");
    return calls;
  })();
  const end = await call(second, account);
  isOver = true;
  const calls = 2n + await busy;
  second.release(large.reservation);
  assertEquals(end, "ok");
  await close(account, fromVnd(10_000) - calls * costMicroVnd);
});

Deno.test("a wallet that is worth too little is refused as such, whatever its instances move", async () => {
  const { kv, engines, close } = await threeInstances();
  const account = newAccount();
  await topUp(kv, account, fromVnd(60));
  const refused = await engines[0].reserve(account, reservedMicroVnd);
  assertEquals([refused.ok, refused.ok ? "" : refused.reason], [false, "insufficient"]);
  await close(account, fromVnd(60));
});
