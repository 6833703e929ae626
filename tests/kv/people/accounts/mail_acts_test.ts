/** Tests that an act and its mail are one commit, that it is queued once, and not if its reader has switched it off. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { type MailJob, mailJobSchema } from "../../../../core/people/mail/mail.ts";
import { outboxQueuePrefix } from "../../../../kv/engine/schema/keys.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { noticeExpiringCredit } from "../../../../kv/money/credits/credit_notices.ts";
import {
  createAccount,
  getAccount,
  switchMailOff,
  updateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { forgetPlaces, rememberPlaces } from "../../../../kv/people/accounts/sessions.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { mailReachedLimits } from "../../../../kv/services/calls/limit_mails.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { requestApproval } from "../../../../kv/services/operations/approvals.ts";
import type { CampaignTerms } from "../../../../core/trade/credits/campaign.ts";
import { makeCampaign } from "../../../../kv/money/credits/campaigns.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { faultyKv, StoreFault } from "../../../support/stores/faulty_kv.ts";
import { campaign, creditStartMs, customer, give } from "../../../support/worlds/credit_world.ts";
import { operator, topupWorld } from "../../../support/worlds/topup_world.ts";

async function queued(kv: KeyValueStore): Promise<MailJob[]> {
  const rows = kv.list<{ payload: unknown }>({ prefix: outboxQueuePrefix(mailQueue.name) });
  return await Array.fromAsync(rows, ({ value }) => mailJobSchema.parse(value.payload));
}

const kindsOf = async (kv: KeyValueStore) => (await queued(kv)).map(({ kind, to }) => [kind, to]);

/** Reads what the ledger gave: nothing of it is spent in these tests. */
const totalOf = () => Promise.resolve(fromVnd(20_000));

Deno.test("credit that expires is announced seven days and one day before, once by all instances", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  await noticeExpiringCredit({ kv, nowMs: creditStartMs, totalOf });
  await give(kv, id, ann.id);
  const endMs = creditStartMs + 30 * dayMs;
  const at = async (daysBefore: number) => {
    const world = { kv, nowMs: endMs - daysBefore * dayMs, totalOf };
    const both = await Promise.all([noticeExpiringCredit(world), noticeExpiringCredit(world)]);
    return both[0] + both[1];
  };
  assertEquals(await at(8), 0);
  assertEquals(await at(6.9), 1);
  assertEquals(await at(3), 0);
  assertEquals(await at(0.9), 1);
  assertEquals(await at(0.1), 0);
  const mails = (await queued(kv)).filter((job) => job.kind === "credit_expiring");
  assertEquals(mails.map(({ leftMicroVnd }) => leftMicroVnd), [fromVnd(20_000), fromVnd(20_000)]);
});

Deno.test("credit of which nothing is left, or whose owner switched the mails off, is not announced", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const [ann, ben] = [await customer(kv), await customer(kv)];
  for (const { id: accountId } of [ann, ben]) await give(kv, id, accountId);
  await updateAccount(kv, ann.id, { mailsOff: ["credit_expiring"] });
  const nowMs = creditStartMs + 29.5 * dayMs;
  const spent = (accountId: AccountId) =>
    Promise.resolve(accountId === ben.id ? 0n : fromVnd(20_000));
  assertEquals(await noticeExpiringCredit({ kv, nowMs, totalOf: spent }), 0);
});

Deno.test("a bonus has its mail in the commit that gives it, and none if that is switched off", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const [ann, ben] = [await customer(kv), await customer(kv)];
  await updateAccount(kv, ben.id, { mailsOff: ["voucher_redeemed"] });
  const request = { kind: "voucher", operationId: "voucher:1" } as const;
  await give(kv, id, ann.id, request);
  await give(kv, id, ann.id, request);
  await give(kv, id, ben.id, { ...request, operationId: "voucher:2" });
  assertEquals(await kindsOf(kv), [["voucher_redeemed", ann.email]]);
});

Deno.test("a new browser is mailed once, the first one of an account never", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id, email } = await createAccount(kv, { nowMs: 0, email: "ann@example.com" });
  const signIn = (place: string, nowMs: number) =>
    rememberPlaces(kv, id, [place, "address"], nowMs, {
      place,
      device: "Firefox",
      address: "::1",
      loggedIn: [],
    });
  await signIn("one", 1);
  assertEquals(await kindsOf(kv), []);
  await Promise.all([signIn("two", 2), signIn("two", 2)]);
  await signIn("one", 3);
  await signIn("two", 4);
  assertEquals(await kindsOf(kv), [["new_browser", email]]);
  await forgetPlaces(kv, id);
  await signIn("three", 5);
  assertEquals((await kindsOf(kv)).length, 1);
  await updateAccount(kv, id, { mailsOff: ["new_browser"] });
  await signIn("four", 6);
  assertEquals((await kindsOf(kv)).length, 2, "mails about security cannot be switched off");
});

Deno.test("a limit of a key is mailed once per limit and period, and only for periods", async () => {
  using kv = await Deno.openKv(":memory:");
  const account = await createAccount(kv, { nowMs: 0, email: "ann@example.com" });
  const masterKeys = await readMasterKeys(newMasterKey());
  const made = await createApiKey(kv, masterKeys, account.id, { nowMs: 0, name: "prod" });
  assert(made.ok);
  const call = (atMs: number, change: Partial<RefusedCall> = {}): RefusedCall => ({
    requestId: newId("request", atMs),
    accountId: account.id,
    keyId: made.record.id,
    atMs,
    latencyMs: 1,
    status: 402,
    code: "spending_limit_reached",
    message: "",
    figures: {
      kind: "spending_limit",
      limitName: "dailyLimit",
      limitMicroVnd: fromVnd(5_000),
      usedMicroVnd: fromVnd(5_000),
      neededMicroVnd: 1n,
    },
    ...change,
  });
  const nowMs = Date.UTC(2026, 10, 28, 3);
  const minute = { kind: "rate_limit", limitName: "requestsPerMinute", limit: 5 } as const;
  const calls = [
    call(nowMs),
    call(nowMs + 1),
    call(nowMs, { code: "rate_limit_reached", figures: { ...minute, retryAfterSeconds: 9 } }),
    call(nowMs, { code: "balance_on_hold" }),
  ];
  const both = await Promise.all([mailReachedLimits(kv, calls), mailReachedLimits(kv, calls)]);
  assertEquals(both[0] + both[1], 1);
  assertEquals(await mailReachedLimits(kv, [call(nowMs + 3_600_000)]), 0);
  assertEquals(await mailReachedLimits(kv, [call(nowMs + dayMs)]), 1);
  assertEquals(await mailReachedLimits(kv, [call(nowMs)]), 0, "a call of yesterday is no news");
  const [job] = await queued(kv);
  assert(job?.kind === "limit_reached");
  assertEquals([job.keyName, job.window, job.limit], ["prod", "day", fromVnd(5_000)]);
});

Deno.test("an approval is mailed to those who may give it, in the commit of the request", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const first = await operator(world, "first");
  const emails = ["second", "own", "off"].map((name) => `${name}@staff.example`);
  const accounts = [];
  for (const email of emails) accounts.push(await createAccount(kv, { nowMs: 0, email }));
  const [second, own, off] = accounts;
  assert(second !== undefined && own !== undefined && off !== undefined);
  const author = { ...second, id: first.accountId, email: first.email };
  const approvers = [author, second, own, { ...off, mailsOff: ["approval_waiting"] }];
  const act = {
    kind: "adjust",
    accountId: own.id,
    amountMicroVnd: fromVnd(9_000_000),
    reason: "lost",
  } as const;
  const context = {
    operator: first,
    nowMs: world.nowMs,
    balanceOf: () => Promise.resolve(0n),
    approvers,
    formId: "form",
  };
  const failing = faultyKv(kv, (call) => call === "commit" ? "before" : "none");
  const error = await requestApproval(failing, act, context).catch((reason) => reason);
  assert(error instanceof StoreFault);
  assertEquals(await kindsOf(kv), []);
  assert((await requestApproval(kv, act, context)).ok);
  assert((await requestApproval(kv, act, context)).ok, "the form is sent again");
  assertEquals(await kindsOf(kv), [["approval_waiting", second.email]]);
});

Deno.test("a campaign that waits for a second operator is mailed to the others, one that does not is not", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const first = await operator(world, "first");
  const second = await createAccount(kv, { nowMs: 0, email: "second@staff.example" });
  const terms: CampaignTerms = {
    kind: "voucher",
    name: "Launch",
    gift: { kind: "amount", amountMicroVnd: fromVnd(20_000) },
    budgetMicroVnd: fromVnd(100_000),
    startsAtMs: creditStartMs,
    perAccount: 1,
  };
  const act = { operator: first, nowMs: world.nowMs, approvers: [second] };
  await makeCampaign(kv, terms, { ...act, limitMicroVnd: fromVnd(100_000) });
  assertEquals(await kindsOf(kv), []);
  await makeCampaign(kv, terms, { ...act, limitMicroVnd: fromVnd(100_000) });
  const [job, ...more] = await queued(kv);
  assert(job?.kind === "approval_waiting" && more.length === 0);
  assertEquals([job.to, job.approvalId, job.reason], [second.email, undefined, "Launch"]);
});

Deno.test("kinds that are switched off at the same moment are all off, each once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await createAccount(kv, { nowMs: 0, email: "ann@example.com" });
  const kinds = ["low_balance", "topup_credited", "low_balance"] as const;
  await Promise.all(kinds.map((kind) => switchMailOff(kv, id, kind)));
  assertEquals((await getAccount(kv, id))?.mailsOff?.toSorted(), ["low_balance", "topup_credited"]);
});
