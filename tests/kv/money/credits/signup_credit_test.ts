import { assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { type Account, createAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  grantSignupCredit,
  signupsPerNetworkDefault,
} from "../../../../kv/money/credits/topup_bonus.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { campaign, campaignNow, creditStartMs } from "../../../support/worlds/credit_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

let people = 0;

async function signUp(
  kv: KeyValueStore,
  email = `someone${people++}@example.com`,
  clientAddress = "203.0.113.5",
  nowMs = creditStartMs,
): Promise<{ account: Account; vnd: number }> {
  const account = await createAccount(kv, { nowMs, email });
  const given = await grantSignupCredit(kv, {
    account,
    clientAddress,
    nowMs,
    spendGranted: "first",
  });
  return { account, vnd: Number((given?.amountMicroVnd ?? 0n) / 1_000_000n) };
}

function signups(kv: KeyValueStore, some: Parameters<typeof campaign>[1] = {}) {
  return campaign(kv, { kind: "signup", ...some });
}

Deno.test("a sign-up gets the credit of the oldest open campaign, once", async () => {
  using kv = await Deno.openKv(":memory:");
  assertEquals((await signUp(kv)).vnd, 0);
  const first = await signups(kv);
  await signups(kv, { gift: { kind: "amount", amountMicroVnd: fromVnd(5_000) } });
  const { account, vnd } = await signUp(kv);
  assertEquals(vnd, 20_000);
  const again = await Promise.all(Array.from({ length: 5 }, () =>
    grantSignupCredit(kv, {
      account,
      clientAddress: "198.51.100.1",
      nowMs: creditStartMs,
      spendGranted: "first",
    })));
  assertEquals(again.map((given) => given?.amountMicroVnd), Array(5).fill(fromVnd(20_000)));
  assertEquals((await campaignNow(kv, first.id)).grants, 1);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("when the budget is used up the next campaign gives, and then none", async () => {
  using kv = await Deno.openKv(":memory:");
  await signups(kv, { budgetMicroVnd: fromVnd(20_000) });
  await signups(kv, {
    gift: { kind: "amount", amountMicroVnd: fromVnd(5_000) },
    budgetMicroVnd: fromVnd(5_000),
  });
  const given = [await signUp(kv), await signUp(kv), await signUp(kv)].map(({ vnd }) => vnd);
  assertEquals(given, [20_000, 5_000, 0]);
});

Deno.test("one mailbox gets credit once, whatever tags, dots and accounts it uses", async () => {
  using kv = await Deno.openKv(":memory:");
  await signups(kv, { budgetMicroVnd: fromVnd(1_000_000) });
  const { account, vnd } = await signUp(kv, "ann.lee@gmail.com");
  assertEquals(vnd, 20_000);
  await forgetPerson(kv, account.id, creditStartMs);
  for (const email of ["ann.lee@gmail.com", "annlee+2@gmail.com", "a.nnlee@googlemail.com"]) {
    assertEquals((await signUp(kv, email)).vnd, 0, email);
  }
  assertEquals((await signUp(kv, "ann.lee@example.com")).vnd, 20_000);
  assertEquals((await signUp(kv, "annlee@example.com")).vnd, 20_000);
});

Deno.test("a network gets so much credit a day, also at once, and more the next day", async () => {
  using kv = await Deno.openKv(":memory:");
  const budgetMicroVnd = fromVnd(1_000_000);
  await signups(kv, { budgetMicroVnd, perNetworkPerDay: 3 });
  const from = (last: number, nowMs = creditStartMs) =>
    signUp(kv, undefined, `203.0.113.${last}`, nowMs);
  const results = await Promise.all([1, 2, 3, 4, 5, 6].map((last) => from(last)));
  assertEquals(results.filter(({ vnd }) => vnd > 0).length, 3);
  assertEquals((await signUp(kv, undefined, "203.0.114.1")).vnd, 20_000);
  assertEquals((await from(7, creditStartMs + 86_400_000)).vnd, 20_000);
});

Deno.test("a campaign that says nothing about networks has a bound all the same", async () => {
  using kv = await Deno.openKv(":memory:");
  await signups(kv, { budgetMicroVnd: fromVnd(1_000_000) });
  let given = 0;
  for (let i = 0; i < signupsPerNetworkDefault + 2; i++) {
    given += (await signUp(kv)).vnd > 0 ? 1 : 0;
  }
  assertEquals(given, signupsPerNetworkDefault);
});
