import { assert, assertEquals } from "../../../../support/assert.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import type { Campaign } from "../../../../../core/trade/credits/campaign.ts";
import { expireCredit } from "../../../../../kv/money/credits/credit_expiry.ts";
import type { Grant, GrantBook } from "../../../../../kv/money/balances/grant_book.ts";
import {
  makeVouchers,
  redeemVoucher,
  type Voucher,
} from "../../../../../kv/money/credits/vouchers.ts";
import type { LedgerEntry } from "../../../../../kv/money/ledger/ledger.ts";
import { commandLine } from "../../../../../kv/people/audit/operator_audit.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { creditProblems } from "../../../../../kv/services/verify/checks/verify_credits.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import {
  campaign,
  creditStartMs,
  customer,
  give,
} from "../../../../support/worlds/credit_world.ts";
import { draftOf, mustReserve, topUp } from "../../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";

/** A live store with open, spent and expired credit, a redeemed code, leases and batches. */
async function creditStore() {
  const kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv, { perAccount: 2, expiresAfterDays: 1 });
  const { id: later } = await campaign(kv, { maxGrants: 3 });
  const made = await makeVouchers(kv, { campaignId: later, count: 2, maxUses: 2 }, {
    operator: commandLine,
    nowMs: creditStartMs,
  });
  if (!made.ok) throw new Error(made.why);
  const people = await Promise.all([customer(kv), customer(kv)]);
  const [ann, bob] = [people[0]!.id, people[1]!.id];
  await topUp(kv, ann, fromVnd(10_000));
  await give(kv, id, ann);
  await give(kv, id, bob);
  const redemption = { clientAddress: "203.0.113.1", nowMs: creditStartMs, spendGranted: "first" };
  for (const accountId of [ann, bob]) {
    const code = made.codes[0] ?? "";
    await redeemVoucher(kv, { ...redemption, accountId, code, spendGranted: "first" });
  }
  const time = new ManualTime(creditStartMs);
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const reservation = await mustReserve(wallet, ann, fromVnd(4_000));
  await wallet.settle(reservation, draftOf(fromVnd(3_000)));
  await expireCredit(kv, creditStartMs + dayMs + 1);
  await wallet.settle(await mustReserve(wallet, bob, fromVnd(500)), draftOf(fromVnd(400)));
  return { kv, ann, bob, [Symbol.dispose]: () => kv.close() };
}

async function texts(kv: KeyValueStore, fromMs?: number): Promise<string[]> {
  return (await creditProblems(kv, { fromMs, slices: undefined })).map(({ detail }) => detail);
}

Deno.test("credit of a live store is right", async () => {
  using store = await creditStore();
  assertEquals((await verifyStore(store.kv)).problems, []);
  assertEquals(await texts(store.kv), []);
  assertEquals(await texts(store.kv, creditStartMs - dayMs), []);
});

async function first<Value>(
  kv: KeyValueStore,
  kind: string,
  is: (value: Value) => boolean = () => true,
): Promise<Deno.KvEntry<Value>> {
  for await (const entry of kv.list<Value>({ prefix: [kind] })) if (is(entry.value)) return entry;
  throw new Error(`no such row of ${kind}`);
}

function change<Value extends object>(kind: string, some: (value: Value) => Partial<Value>) {
  return async (kv: KeyValueStore) => {
    const { key, value } = await first<Value>(kv, kind);
    await kv.set(key, { ...value, ...some(value) });
  };
}

function remove<Value>(kind: string, is?: (value: Value) => boolean) {
  return async (kv: KeyValueStore) => void await kv.delete((await first(kv, kind, is)).key);
}

const damages: readonly (readonly [string, RegExp, (kv: KeyValueStore) => Promise<void>])[] = [
  [
    "a campaign that says it gave less",
    /its grants and its givenMicroVnd disagree/,
    change<Campaign>("campaign", ({ givenMicroVnd }) => ({ givenMicroVnd: givenMicroVnd - 1n })),
  ],
  [
    "a campaign that counts one grant less",
    /its grants and its grants disagree|numbers per account disagree/,
    change<Campaign>("campaign", ({ grants }) => ({ grants: grants - 1 })),
  ],
  [
    "a campaign that says less expired",
    /its expiredMicroVnd disagree/,
    change<Campaign>("campaign", () => ({ expiredMicroVnd: 0n })),
  ],
  [
    "a campaign above its budget",
    /has given more than its budget/,
    change<Campaign>("campaign", ({ givenMicroVnd }) => ({ budgetMicroVnd: givenMicroVnd - 1n })),
  ],
  [
    "a campaign with more grants than it may have",
    /has given more than its budget/,
    change<Campaign>("campaign", () => ({ maxGrants: 1 })),
  ],
  ["a grant that is gone", /is not what its grant says/, remove<Grant>("grant")],
  [
    "a grant of more than its line gave",
    /is not what its line says/,
    change<Grant>("grant", ({ amountMicroVnd }) => ({ amountMicroVnd: amountMicroVnd + 1n })),
  ],
  [
    "an open grant that is marked as closed",
    /the book and the grant \w+ disagree/,
    async (kv) => {
      const open = await first<Grant>(kv, "grant", ({ closedAtMs }) => closedAtMs === undefined);
      await kv.set(open.key, { ...open.value, closedAtMs: 1 });
    },
  ],
  [
    "a closed grant that is marked as open",
    /the open grant \w+ is not in the book/,
    async (kv) => {
      const closed = await first<Grant>(kv, "grant", ({ closedAtMs }) => closedAtMs !== undefined);
      const { closedAtMs: _, ...open } = closed.value;
      await kv.set(closed.key, open);
    },
  ],
  ["a book that is gone", /the open grant \w+ is not in the book/, remove("grant_book")],
  [
    "a book that has less than its wallet",
    /the book has less than the wallet/,
    change<GrantBook>("grant_book", ({ ownMicroVnd, grants: [grant, ...rest] }) => ({
      ownMicroVnd,
      grants: [{ ...grant!, leftMicroVnd: 1n }, ...rest],
    })),
  ],
  [
    "a book that has more than ever moved",
    /the book has more than ever moved/,
    change<GrantBook>("grant_book", ({ ownMicroVnd }) => ({
      ownMicroVnd: ownMicroVnd + fromVnd(90_000),
    })),
  ],
  [
    "a book in which more is left than was given",
    /not a grant of a book/,
    change<GrantBook>("grant_book", ({ grants: [grant, ...rest] }) => ({
      grants: [{ ...grant!, leftMicroVnd: grant!.amountMicroVnd + 1n }, ...rest],
    })),
  ],
  ["an entry of the expiry that is gone", /would never expire/, remove("grant_expiry")],
  [
    "a code that was used more often than it may be",
    /was used more often than it may be/,
    async (kv) => {
      const used = await first<Voucher>(kv, "voucher", ({ uses }) => uses > 0);
      await kv.set(used.key, { ...used.value, maxUses: 1 });
    },
  ],
  [
    "a use of a code that is not counted",
    /the uses of \w+ and its grants disagree/,
    async (kv) => {
      const used = await first<Voucher>(kv, "voucher", ({ uses }) => uses > 0);
      await kv.set(used.key, { ...used.value, uses: 1 });
    },
  ],
  [
    "a code that is gone",
    /grants name the code \w+, which does not exist/,
    remove<Voucher>("voucher", ({ uses }) => uses > 0),
  ],
  [
    "an account whose grants are not counted",
    /their numbers per account disagree/,
    remove("grant_count"),
  ],
  [
    "an account with more grants than its campaign allows",
    /has given 3 times to one account/,
    async (kv) => {
      const { key } = await first(kv, "grant_count");
      await kv.set(key, 3);
    },
  ],
];

for (const [what, problem, damage] of damages) {
  Deno.test(`verification finds ${what}`, async () => {
    using store = await creditStore();
    await damage(store.kv);
    const { ok, problems } = await verifyStore(store.kv);
    const found = problems.map(({ kind, detail }) => `${kind}: ${detail}`);
    assert(
      !ok && found.some((text) => text.startsWith("credit: ") && problem.test(text)),
      found.join("\n"),
    );
  });
}

Deno.test("a line that gives credit without a grant is found, in recent days too", async () => {
  using store = await creditStore();
  const { kv } = store;
  for (const fromMs of [undefined, creditStartMs - dayMs]) {
    const { key, value } = await first<LedgerEntry>(
      kv,
      "ledger_by_time",
      ({ kind }) => kind === "voucher",
    );
    await kv.delete(["grant", value.grant!.campaignId, value.ledgerId]);
    assert((await texts(kv, fromMs)).some((text) => /is not what its grant says/.test(text)));
    assertEquals(key.length, 2);
  }
});

Deno.test("credit that is given and expires during a verification is not reported", async () => {
  using store = await creditStore();
  const { kv } = store;
  const { id } = await campaign(kv, {
    budgetMicroVnd: fromVnd(90_000_000),
    perAccount: 100,
    expiresAfterDays: 2,
  });
  let isOver = false;
  const giving = async () => {
    for (let at = 0; !isOver; at++) {
      await give(kv, id, at % 2 === 0 ? store.ann : (await customer(kv)).id);
      if (at % 7 === 0) await expireCredit(kv, creditStartMs + 3 * dayMs);
    }
  };
  const busy = Promise.all([giving(), giving()]);
  for (let round = 0; round < 30; round++) assertEquals(await texts(kv), []);
  isOver = true;
  await busy;
  assertEquals((await verifyStore(kv)).problems, []);
});
