import { assert, assertEquals } from "../../../support/assert.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { ledgerKey, refundSumKey, tagRefundKey } from "../../../../kv/engine/schema/keys.ts";
import { readOperatorFigures } from "../../../../kv/services/operations/operator_figures.ts";
import {
  readRefundsOf,
  refundCall,
  refundOperationId,
} from "../../../../kv/money/ledger/refunds.ts";
import { readStatement } from "../../../../kv/money/ledger/statement.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import {
  addUp,
  netCostMicroVnd,
  readTagUsage,
  readUsage,
} from "../../../../kv/money/ledger/usage.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  draftOf,
  findMovement,
  mustReserve,
  newAccount,
  readUsageTotal,
  testKeyId,
  topUp,
} from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { nextTurn } from "../../../support/turns.ts";

/** 23:30 in Hà Nội, on the last day of a month. */
const lateMs = Date.parse("2026-11-30T23:30:00+07:00");
/** More than the days of calls and refunds. A year would take seconds: usage by tag is read day by day. */
const allDays = { fromDay: "2026-11-01", toDay: "2026-12-31" };

/** A tag of all calls. */
const team = { key: "team", value: "a" };

interface World {
  readonly kv: KeyValueStore;
  readonly wallet: WalletEngine;
  readonly account: AccountId;
  paid(priceMicroVnd: bigint, model?: string): Promise<Receipt>;
}

async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime(lateMs);
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = newAccount();
  await topUp(kv, account, 1_000_000n);
  const paid = async (priceMicroVnd: bigint, model = "video-a") =>
    await wallet.settle(
      await mustReserve(wallet, account, priceMicroVnd),
      draftOf(priceMicroVnd, {
        requestId: newId("request", lateMs),
        kind: "video",
        model,
        startedAtMs: lateMs,
        tags: [team, { key: "job", value: model }],
      }),
    );
  await run({ kv, wallet, account, paid });
  await wallet.close();
}

const refund = (kv: KeyValueStore, receipt: Receipt, atMs = lateMs + 3_600_000) =>
  refundCall(kv, receipt, { reason: "test", atMs });

Deno.test("a refund lowers the usage of the day of its call, however late it comes", async () => {
  await inWorld(async ({ kv, wallet, account, paid }) => {
    const failed = await paid(3_000n);
    await paid(500n);
    for (const isIndexed of [false, true]) {
      if (isIndexed) await wallet.indexOnce();
      else assertEquals((await refund(kv, failed)).status, "applied");
      const [row, ...more] = await readUsage(kv, account, {
        fromDay: "2026-11-30",
        toDay: "2026-11-30",
      });
      assertEquals(more, []);
      assertEquals(row?.usage.costMicroVnd, 3_500n, "receipts never change");
      assertEquals(row?.usage.refundedMicroVnd, 3_000n);
      assertEquals(netCostMicroVnd(row!.usage), 500n);
      for (const choice of [team, { key: "team" }]) {
        const tagged = await readTagUsage(kv, account, allDays, choice);
        const usage = tagged.map((one) => one.usage).reduce(addUp);
        assertEquals([usage.calls, netCostMicroVnd(usage)], [2, 500n], "with a tag");
      }
      assertEquals(await readTagUsage(kv, account, allDays, { key: "team", value: "b" }), []);
      assertEquals(
        await readUsage(kv, account, { fromDay: "2026-12-01", toDay: "2026-12-31" }),
        [],
      );
      assertEquals((await verifyStore(kv)).problems, []);
    }
    const statement = await readStatement(kv, account, allDays);
    assertEquals(statement.closingMicroVnd, (await wallet.balance(account)).totalMicroVnd);
    assertEquals((await readOperatorFigures(kv, lateMs)).revenueTodayMicroVnd, 500n);
  });
});

Deno.test("a call is refunded once, whoever tries how often and at the same time", async () => {
  await inWorld(async ({ kv, wallet, account, paid }) => {
    const receipts: Receipt[] = [];
    for (let i = 0; i < 30; i++) receipts.push(await paid(100n + BigInt(i), `video-${i % 2}`));
    const refunded = receipts.slice(0, 20);
    const tries = [...refunded, ...refunded].map(async (receipt) => {
      for (;;) {
        const { status } = await refund(kv, receipt);
        if (status !== "conflict") return status;
      }
    });
    const statuses = await Promise.all(tries);
    assertEquals(statuses.filter((status) => status === "applied").length, 20);
    const backMicroVnd = refunded.reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n);
    assertEquals((await readUsageTotal(kv, account, allDays)).refundedMicroVnd, backMicroVnd);
    const found = await readRefundsOf(kv, receipts);
    assertEquals([...found.keys()].sort(), refunded.map(({ requestId }) => requestId).sort());
    const chargedMicroVnd = receipts.reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n);
    assertEquals(
      (await wallet.balance(account)).totalMicroVnd,
      1_000_000n - chargedMicroVnd + backMicroVnd,
    );
    assertEquals((await verifyStore(kv)).problems, []);
  });
});

/** Refunds on a store with a fault; resolves when it is done, or hangs in the silence with its call carried out. */
async function refundWith(
  kv: KeyValueStore,
  fault: Fault,
  at: number,
  receipt: Receipt,
): Promise<void> {
  const silent = Promise.withResolvers<void>();
  let calls = 0;
  const faulty = faultyKv(kv, () => {
    if (++calls !== at) return "none";
    if (fault.startsWith("silence")) silent.resolve();
    return fault;
  });
  const hung = silent.promise.then(async () => {
    // The store carries calls out in their order: once it answers one behind the silent one, that has been carried out.
    await nextTurn();
    await kv.get(["behind"]);
  });
  await Promise.race([refund(faulty, receipt).then(() => {}, () => {}), hung]);
}

Deno.test("a refund whose store fails, or never answers, is written whole or not at all", async () => {
  for (const fault of ["before", "after", "silence", "silence_after"] as const) {
    await inWorld(async ({ kv, account, paid }) => {
      let backMicroVnd = 0n;
      for (let at = 1; at <= 7; at++) {
        const receipt = await paid(3_000n);
        await refundWith(kv, fault, at, receipt);
        const line = await findMovement(kv, refundOperationId(receipt.requestId));
        const before = backMicroVnd + (line?.amountMicroVnd ?? 0n);
        const used = await readUsageTotal(kv, account, allDays);
        assertEquals(used.refundedMicroVnd, before, `${fault} ${at}`);
        const again = await refund(kv, receipt);
        assertEquals(again.status, line === undefined ? "applied" : "duplicate", `${fault} ${at}`);
        backMicroVnd += 3_000n;
      }
      const used = await readUsageTotal(kv, account, allDays);
      assertEquals(used.refundedMicroVnd, backMicroVnd);
      assertEquals((await verifyStore(kv)).problems, [], fault);
    });
  }
});

const day = vietnamDay(lateMs);
const cellOf = (accountId: AccountId) => ({ accountId, day, keyId: testKeyId, model: "video-a" });
const damages: readonly (readonly [
  name: string,
  damage: (world: World, refunded: Receipt) => Promise<unknown>,
])[] = [
  [
    "a sum of refunds that vanished",
    ({ kv, account }) => kv.delete(refundSumKey(account, day, testKeyId, "video-a")),
  ],
  [
    "a sum of refunds that is too high",
    ({ kv, account }) =>
      kv.set(refundSumKey(account, day, testKeyId, "video-a"), { refundedMicroVnd: 3_001n }),
  ],
  [
    "a sum of refunds of a day without any",
    ({ kv, account }) =>
      kv.set(refundSumKey(account, "2026-11-29", testKeyId, "video-a"), { refundedMicroVnd: 1n }),
  ],
  [
    "a sum of refunds by tag that vanished",
    ({ kv, account }) => kv.delete(tagRefundKey(cellOf(account), team)),
  ],
  [
    "a sum of refunds by tag that is too low",
    ({ kv, account }) => kv.set(tagRefundKey(cellOf(account), team), { refundedMicroVnd: 1n }),
  ],
  [
    "a sum of refunds of a tag without any",
    ({ kv, account }) =>
      kv.set(tagRefundKey(cellOf(account), { key: "team", value: "b" }), { refundedMicroVnd: 1n }),
  ],
  [
    "a refund that moved to another model",
    async ({ kv, account }) => {
      await kv.delete(refundSumKey(account, day, testKeyId, "video-a"));
      await kv.set(refundSumKey(account, day, testKeyId, "video-b"), { refundedMicroVnd: 3_000n });
    },
  ],
  [
    "a refund that names another call",
    async ({ kv, account, paid }, refunded) => {
      const { requestId } = await paid(3_000n, "video-b");
      const line = await findMovement(kv, refundOperationId(refunded.requestId));
      await kv.set(ledgerKey(account, line!.ledgerId), { ...line, requestId });
    },
  ],
];

for (const [name, damage] of damages) {
  Deno.test(`verification finds ${name}`, async () => {
    await inWorld(async (world) => {
      const refunded = await world.paid(3_000n);
      await refund(world.kv, refunded);
      await damage(world, refunded);
      for (const rowsAtOnce of [1, 1_000]) {
        const { problems } = await verifyStore(world.kv, { rowsAtOnce });
        assert(problems.some(({ kind }) => kind === "refund"), JSON.stringify(problems));
      }
    });
  });
}

Deno.test("verification finds a refund above what its call cost", async () => {
  await inWorld(async ({ kv, paid }) => {
    const receipt = await paid(3_000n);
    await refund(kv, { ...receipt, costMicroVnd: 3_001n });
    const details = (await verifyStore(kv)).problems.map(({ detail }) => detail);
    assertEquals(details, [`0.003001 VND went back of 0.003 for ${receipt.requestId}`]);
  });
});
