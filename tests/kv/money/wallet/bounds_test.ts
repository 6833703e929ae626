/** Refusals and priorities of the wallet engine that show only at its bounds. */
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import {
  maxAttachedRowBytes,
  maxAttachedRows,
} from "../../../../kv/money/wallet/settle/settlements.ts";
import { reapExpiredInstances } from "../../../../kv/money/wallet/reaper.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import {
  type Attachment,
  instanceTtlMs,
  openWalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { draftOf, mustReserve, newAccount, topUp } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

async function quietWalletEngine(kv: KeyValueStore) {
  const time = new ManualTime();
  const timer = { start: () => () => {} };
  // As on a file: what is left of a small wallet stays in the lease.
  const wallet = await openWalletEngine(kv, { clock: time, timer, isShared: false });
  const account = newAccount();
  await topUp(kv, account, 1_000n);
  return { time, wallet, account };
}

/** Rows of another module in a settlement. */
function attachment(rows: number, characters = 1): Attachment {
  return {
    mutations: rows,
    apply(op) {
      for (let row = 0; row < rows; row++) op.set(["attached", row], "x".repeat(characters));
    },
  };
}

Deno.test("an instance that overslept with all its money at hand shows life before it admits", async () => {
  using kv = await Deno.openKv(":memory:");
  const { time, wallet, account } = await quietWalletEngine(kv);
  // The whole wallet is in the lease and free: a call needs nothing from the store but the renewal
  // of the instance lease.
  wallet.release(await mustReserve(wallet, account, 1_000n));
  time.advance(instanceTtlMs);
  await reapExpiredInstances(kv, time.nowMs());
  const before = wallet.instanceId;
  const reservation = await mustReserve(wallet, account, 1_000n);
  assert(wallet.instanceId !== before, "it has started again");
  await wallet.settle(reservation, draftOf(1_000n));
  await wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("a settlement carries eight rows of others and not a ninth", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, account } = await quietWalletEngine(kv);
  const reservation = await mustReserve(wallet, account, 10n);
  await assertRejects(
    () => wallet.settle(reservation, draftOf(10n), attachment(maxAttachedRows + 1)),
    InvariantError,
    "more rows than it announced",
  );
  await wallet.settle(reservation, draftOf(10n), attachment(maxAttachedRows));
  assertEquals((await Array.fromAsync(kv.list({ prefix: ["attached"] }))).length, 8);
  await wallet.close();
});

Deno.test("rows of others in a settlement expire when they say so, and only then", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, account } = await quietWalletEngine(kv);
  const lives = new Map<string, number | undefined>();
  const { set } = Deno.AtomicOperation.prototype;
  Deno.AtomicOperation.prototype.set = function (key, value, options) {
    if (key[0] === "attached") lives.set(String(key[1]), options?.expireIn);
    return set.call(this, key, value, options);
  };
  try {
    const reservation = await mustReserve(wallet, account, 10n);
    await wallet.settle(reservation, draftOf(10n), {
      mutations: 2,
      apply: (op) =>
        void [
          op.set(["attached", "for_a_while"], 1, { expireIn: 5_000 }),
          op.set(["attached", "kept"], 1),
        ],
    });
  } finally {
    Deno.AtomicOperation.prototype.set = set;
  }
  assertEquals([...lives], [["for_a_while", 5_000], ["kept", undefined]]);
  await wallet.close();
});

Deno.test("calls whose rows are too many bytes for one commit are settled in several", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, account } = await quietWalletEngine(kv);
  const reservations = await Promise.all(
    Array.from({ length: 40 }, () => mustReserve(wallet, account, 1n)),
  );
  const large = attachment(1, maxAttachedRowBytes - 100);
  const receipts = await Promise.all(
    reservations.map((reservation) => wallet.settle(reservation, draftOf(1n), large)),
  );
  for (const { requestId } of receipts) assert(await readReceipt(kv, requestId) !== undefined);
  await wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("a request id is refused again after ten thousand others", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, account } = await quietWalletEngine(kv);
  const first = draftOf(0n);
  await wallet.settle(await mustReserve(wallet, account, 0n), first);
  for (let call = 0; call < 10_000;) {
    const batch = Array.from({ length: 500 }, () => mustReserve(wallet, account, 0n));
    call += batch.length;
    await Promise.all(
      (await Promise.all(batch)).map((reservation) => wallet.settle(reservation, draftOf(0n))),
    );
  }
  const again = await mustReserve(wallet, account, 0n);
  await assertRejects(() => wallet.settle(again, first), InvariantError, "was settled before");
  wallet.release(again);
  await wallet.close();
});

Deno.test("no later call overtakes one that waits for money", async () => {
  using kv = await Deno.openKv(":memory:");
  const { wallet, account } = await quietWalletEngine(kv);
  const order: string[] = [];
  await mustReserve(wallet, account, 10n);
  await Promise.all(([["large", 900n], ["small", 1n]] as const).map(async ([name, amount]) => {
    await mustReserve(wallet, account, amount);
    order.push(name);
  }));
  assertEquals(order, ["large", "small"]);
  await wallet.close();
});

Deno.test("what a finished call owes goes before a call that has not begun", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime();
  const wallet = await openWalletEngine(kv, { clock: time, timer: { start: () => () => {} } });
  const account = newAccount();
  await topUp(kv, account, 100n);
  const owing = await mustReserve(wallet, account, 10n);
  const next = wallet.reserve(account, 90n);
  const receipt = await wallet.settle(owing, draftOf(60n));
  assertEquals([receipt.costMicroVnd, receipt.shortfallMicroVnd], [60n, 0n]);
  assertEquals((await next).ok, false);
  await wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("no call is admitted while more waits for the index than may be kept", async () => {
  using kv = await Deno.openKv(":memory:");
  const timer = { start: () => () => {} };
  const wallet = await openWalletEngine(kv, { clock: new ManualTime(), timer, maxUnindexed: 3 });
  const account = newAccount();
  await topUp(kv, account, 100n);
  const call = async () => wallet.settle(await mustReserve(wallet, account, 1n), draftOf(1n));
  for (let calls = 0; calls < 3; calls++) await call();
  const refused = await wallet.reserve(account, 1n);
  assertEquals(refused.ok ? "admitted" : refused.reason, "unavailable");
  assertEquals(await wallet.indexOnce(), { indexed: 3, waiting: 0 });
  await call();
  await wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});
