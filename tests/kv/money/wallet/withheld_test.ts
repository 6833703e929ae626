/** Tests of calls whose client was refused the answer while the receipt waited for the store. */
import { openWalletEngine, type WithheldAnswer } from "../../../../kv/money/wallet/mod.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { until } from "../../../support/until.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import { nextTurn } from "../../../support/turns.ts";

/** A wallet of 1,000 with a call that reserved 300, on a store that can fail. */
async function world() {
  let fault: Fault = "none";
  let commits = 0;
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const faulty = faultyKv(kv, (call) => {
    if (call === "commit") commits++;
    return fault;
  });
  const wallet = await openWalletEngine(faulty, { clock: time, timer: time, random: () => 0.5 });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  const reservation = await mustReserve(wallet, account, 300n);
  return {
    kv,
    time,
    wallet,
    account,
    reservation,
    setFault: (next: Fault) => fault = next,
    /** Resolves when another commit was tried. */
    async tried() {
      const before = commits;
      await until(() => commits > before, "a commit is tried");
    },
    /** Advances the time while `promise` is pending. */
    async pass<T>(promise: Promise<T>): Promise<T> {
      let isOver = false;
      const end = () => void (isOver = true);
      promise.then(end, end);
      while (!isOver) {
        time.advance(500);
        await nextTurn();
      }
      return await promise;
    },
    async available() {
      await this.pass(wallet.close());
      const { problems } = await verifyStore(kv);
      assertEquals(problems, []);
      return (await readWallet(kv, account)).availableMicroVnd;
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("a withheld call whose commit never took effect is free, with other rows", async () => {
  using w = await world();
  const draft = draftOf(120n);
  const late: { withheld?: WithheldAnswer } = {};
  w.setFault("before");
  const attach = (name: string) => ({
    mutations: 1,
    apply: (op: { set(key: Deno.KvKey, value: unknown): unknown }) => op.set(["test", name], 1),
  });
  const settling = w.wallet.settle(w.reservation, draft, attach("whole"), () => late.withheld);
  await w.tried();
  late.withheld = {
    draft: { ...draft, outcome: "withheld", status: 503, priceMicroVnd: 0n },
    attach: attach("withheld"),
  };
  w.setFault("none");
  const receipt = await w.pass(settling);
  assertEquals(
    [receipt.outcome, receipt.status, receipt.costMicroVnd, receipt.shortfallMicroVnd],
    ["withheld", 503, 0n, 0n],
  );
  const rows = await Array.fromAsync(w.kv.list({ prefix: ["test"] }));
  assertEquals(rows.map(({ key }) => key[1]), ["withheld"]);
  assertEquals(await w.available(), 1_000n);
});

Deno.test("a withheld call whose commit had taken effect is charged, and says so", async () => {
  using w = await world();
  const draft = draftOf(120n);
  const late: { withheld?: WithheldAnswer } = {};
  w.setFault("after");
  const settling = w.wallet.settle(w.reservation, draft, undefined, () => late.withheld);
  await w.tried();
  late.withheld = { draft: { ...draft, outcome: "withheld", priceMicroVnd: 0n } };
  w.setFault("none");
  const receipt = await w.pass(settling);
  assertEquals([receipt.outcome, receipt.costMicroVnd], ["completed", 120n]);
  assertEquals(await w.available(), 880n);
});

Deno.test("what a withheld call frees can be reserved at once", async () => {
  using w = await world();
  const draft = draftOf(300n);
  const rest = await mustReserve(w.wallet, w.account, 700n);
  const free: WithheldAnswer = { draft: { ...draft, outcome: "withheld", priceMicroVnd: 0n } };
  await w.pass(w.wallet.settle(w.reservation, draft, undefined, () => free));
  const again = await mustReserve(w.wallet, w.account, 300n);
  w.wallet.release(again);
  w.wallet.release(rest);
  assertEquals(await w.available(), 1_000n);
});

Deno.test("a call that needs money from a silent store is refused after 5 s", async () => {
  using w = await world();
  const account = newAccount();
  await topUp(w.kv, account, 1_000n);
  w.setFault("silence");
  const fromMs = w.time.nowMs();
  const result = await w.pass(Promise.resolve(w.wallet.reserve(account, 10n)));
  assertEquals(result.ok ? "ok" : result.reason, "unavailable");
  const waitedMs = w.time.nowMs() - fromMs;
  assertEquals(waitedMs >= 5_000 && waitedMs <= 6_000, true, `${waitedMs} ms`);
  w.setFault("none");
  w.wallet.release(w.reservation);
  assertEquals(await w.available(), 1_000n);
});

Deno.test("an answer is withheld for nothing or not at all", async () => {
  using w = await world();
  const draft = draftOf(120n);
  const priced: WithheldAnswer = { draft: { ...draft, outcome: "withheld" } };
  await assertRejects(
    () => w.pass(w.wallet.settle(w.reservation, draft, undefined, () => priced)),
    Error,
    "a withheld answer is free",
  );
});
