import { assertEquals } from "../../../support/assert.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { createAccount, updateAccount } from "../../../../kv/people/accounts/accounts.ts";
import { warnOfLowBalances } from "../../../../kv/money/wallet/low_balance.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { claimDue } from "../../../../kv/engine/outbox/outbox_claims.ts";

async function openWorld(markMicroVnd: bigint | undefined) {
  const kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 0, email: "ann@example.com", locale: "en" });
  await updateAccount(kv, account.id, { lowBalanceMicroVnd: markMicroVnd });
  let balance = 100n;
  return {
    kv,
    account,
    check: (nowMs: number, now: bigint) => {
      balance = now;
      return warnOfLowBalances({ kv, nowMs, balanceOf: () => Promise.resolve(balance) });
    },
    [Symbol.dispose]: () => kv.close(),
  };
}

Deno.test("one mail per fall below the mark, the next one after it was above again", async () => {
  using world = await openWorld(50n);
  assertEquals(await world.check(1, 100n), 0);
  assertEquals(await world.check(2, 50n), 0);
  assertEquals(await world.check(3, 49n), 1);
  assertEquals(await world.check(4, 10n), 0);
  assertEquals(await world.check(5, 80n), 0);
  assertEquals(await world.check(6, 20n), 1);
  const mails = await claimDue(world.kv, mailQueue, { nowMs: 10, count: 8 });
  assertEquals(
    mails.map(({ payload }) => payload),
    [49n, 20n].map((balanceMicroVnd) => ({
      kind: "low_balance" as const,
      to: "ann@example.com",
      locale: "en" as const,
      balanceMicroVnd,
      about: { accountId: world.account.id },
    })),
  );
});

Deno.test("several instances that check at once send one mail", async () => {
  using world = await openWorld(50n);
  const queued = await Promise.all(Array.from({ length: 10 }, () => world.check(3, 49n)));
  assertEquals(queued.reduce((sum, count) => sum + count), 1);
});

Deno.test("without a mark, or without an address, nothing is sent", async () => {
  using none = await openWorld(undefined);
  assertEquals(await none.check(1, 0n), 0);
  using gone = await openWorld(50n);
  await forgetPerson(gone.kv, gone.account.id, 5);
  assertEquals(await gone.check(6, 0n), 0);
});
