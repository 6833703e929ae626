/** Budgets: which calls count, when they refuse, what they reserve, and how they are told, on one instance and on two. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { parseTags } from "../../../../core/billing/usage/call_tags.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import {
  bindsCall,
  type Budget,
  type BudgetSubject,
  budgetSubjectKinds,
  budgetWindows,
} from "../../../../core/limits/budgets.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import {
  openWalletEngine,
  type ReceiptDraft,
  type WalletEngine,
} from "../../../../kv/money/wallet/mod.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { changeBudgets } from "../../../../kv/people/accounts/budgets.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import type { ApiKeyRecord } from "../../../../kv/people/api_keys/api_keys.ts";
import { announceRefusals, BudgetNotices } from "../../../../kv/services/limits/budget_notices.ts";
import type { WebhookEvent } from "../../../../core/people/webhooks/events.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { webhookEvents } from "../../../../kv/people/webhooks/events.ts";
import { limitError } from "../../../../routes/api/call/admission.ts";
import { type KeyLimitBook, openKeyLimitBook } from "../../../../kv/services/limits/limit_book.ts";
import { verifyBooks, verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { reserveMoney } from "../../../../routes/api/call/call_money.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { bearerPost } from "../../../support/api_post.ts";

/** A Wednesday in the middle of a month. */
const startMs = Date.UTC(2026, 10, 18, 5);

class TestClock {
  ms = startMs;
  nowMs = () => this.ms;
  monotonicMs = () => this.ms;
}

interface Instance {
  readonly wallet: WalletEngine;
  readonly limits: KeyLimitBook;
}

interface World extends Instance {
  readonly kv: KeyValueStore;
  readonly clock: TestClock;
  /** Of a member and a team; of the founder, made before there were members; of a program. */
  readonly keys: readonly [ApiKeyRecord, ApiKeyRecord, ApiKeyRecord];
  readonly budgets: Budget[];
}

async function openInstance(kv: KeyValueStore, clock: TestClock): Promise<Instance> {
  const wallet = await openWalletEngine(kv, { clock });
  return { wallet, limits: openKeyLimitBook({ kv, clock, kindOf: () => "chat" }) };
}

const ann = newId("account", 0);
const red = newId("team", 0);

async function makeKeys(kv: KeyValueStore): Promise<World["keys"]> {
  const account = await createAccount(kv, { nowMs: 1, email: "ann@example.com", locale: "en" });
  const money = {
    accountId: account.id,
    amountMicroVnd: fromVnd(1_000_000),
    kind: "admin",
  } as const;
  await credit(kv, { ...money, operationId: `test:${account.id}`, reason: "test", atMs: 1 });
  const masterKeys = await readMasterKeys(newMasterKey());
  const make = async (
    name: string,
    owner: Pick<ApiKeyRecord, "memberId" | "teamId" | "madeByProgram">,
  ) => {
    const made = await createApiKey(kv, masterKeys, account.id, { name, nowMs: 1, ...owner });
    assert(made.ok);
    return made.record;
  };
  return [
    await make("one", { memberId: ann, teamId: red }),
    await make("other", {}),
    await make("program's", { madeByProgram: true }),
  ];
}

async function inWorld(run: (world: World) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const clock = new TestClock();
  const keys = await makeKeys(kv);
  const instance = await openInstance(kv, clock);
  try {
    await run({ ...instance, kv, clock, keys, budgets: [] });
  } finally {
    await instance.wallet.close();
  }
  assertEquals((await verifyStore(kv)).problems, []);
}

let made = 0;

function budgetOf(some: Partial<Budget>): Budget {
  return {
    id: `b${made++}`,
    name: "Search",
    subject: { kind: "account" },
    window: "month",
    amountMicroVnd: fromVnd(100),
    atLimit: "refuse",
    createdAtMs: startMs,
    ...some,
  };
}

interface CallOf {
  readonly key?: ApiKeyRecord;
  readonly model?: string;
  readonly tags?: string;
  readonly startedAtMs?: number;
}

function tagsOf({ tags }: CallOf) {
  return tags === undefined ? undefined : parseTags(tags);
}

/** Reserves a call as the admission does: with the budgets in which it counts, and that refuse. */
async function reserve(world: World, vnd: number, call: CallOf = {}, at: Instance = world) {
  const { key = world.keys[0], model = "m" } = call;
  const binding = world.budgets.filter(({ atLimit, subject }) =>
    atLimit === "refuse" && bindsCall(subject, { key, model, tags: tagsOf(call) })
  );
  const budgets = binding.length === 0 ? undefined : binding;
  const startedAtMs = call.startedAtMs ?? world.clock.ms;
  return await reserveMoney(at, { key, budgets }, { money: fromVnd(vnd) }, startedAtMs);
}

function draft(world: World, vnd: number, call: CallOf): ReceiptDraft {
  const tags = tagsOf(call);
  return {
    requestId: newId("request", world.clock.ms),
    keyId: (call.key ?? world.keys[0]).id,
    kind: "chat",
    model: call.model ?? "m",
    style: "chat",
    startedAtMs: call.startedAtMs ?? world.clock.ms,
    latencyMs: 1,
    status: 200,
    stream: false,
    outcome: "completed",
    estimated: false,
    units: 1,
    price: { unit: "request", perUnitMicroVnd: fromVnd(vnd) },
    priceMicroVnd: fromVnd(vnd),
    attempts: [],
    ...(tags !== undefined && { tags }),
  };
}

async function spend(
  world: World,
  vnd: number,
  call: CallOf = {},
  at?: Instance,
): Promise<boolean> {
  const money = await reserve(world, vnd, call, at);
  if (!money.ok) return false;
  await money.settle(draft(world, vnd, call));
  return true;
}

/** A subject of each kind, a call that counts in it, and one that does not. */
function subjectCases({ keys: [one, other] }: World) {
  const cases: Record<BudgetSubject["kind"], [BudgetSubject, CallOf, CallOf | undefined]> = {
    account: [{ kind: "account" }, {}, undefined],
    key: [{ kind: "key", keyId: one.id }, {}, { key: other }],
    model: [{ kind: "model", model: "m" }, {}, { model: "n" }],
    tag: [
      { kind: "tag", tag: { key: "team", value: "a" } },
      { tags: "env=x,team=a" },
      { tags: "team=b" },
    ],
    member: [{ kind: "member", memberId: ann }, {}, { key: other }],
    team: [{ kind: "team", teamId: red }, {}, { key: other }],
  };
  return cases;
}

/** Milliseconds after which a window is over, and within which it is not. */
const windowSteps: Record<Budget["window"], { within: number; over: number | undefined }> = {
  day: { within: 3_600_000, over: dayMs },
  // From Wednesday to Sunday, and to Monday.
  week: { within: 4 * dayMs, over: 5 * dayMs },
  month: { within: 12 * dayMs, over: 13 * dayMs },
  total: { within: 40 * dayMs, over: undefined },
};

for (const kind of budgetSubjectKinds) {
  for (const window of budgetWindows) {
    Deno.test(`a budget of a ${kind} per ${window} counts its calls alone, from memory and from the store`, async () => {
      await inWorld(async (world) => {
        const [subject, counted, others] = subjectCases(world)[kind];
        const { within, over } = windowSteps[window];
        // What was spent before it was made counts, but for the time before its day.
        await spend(world, 30, { ...counted, startedAtMs: startMs });
        world.budgets.push(budgetOf({ subject, window }));
        assertEquals(await spend(world, 40, counted), true);
        assertEquals(await spend(world, 31, counted), false);
        if (others !== undefined) assertEquals(await spend(world, 500, others), true);
        world.clock.ms += within;
        assertEquals(await spend(world, 31, counted), false);
        assertEquals(await spend(world, 30, counted), true);
        assertEquals(await spend(world, 1, counted), false);
        if (over === undefined) return;
        world.clock.ms = startMs + over;
        assertEquals(await spend(world, 100, counted), true);
        assertEquals(await spend(world, 1, counted), false);
      });
    });
  }
}

for (const kind of budgetSubjectKinds) {
  Deno.test(`what was refunded is free again in a budget of a ${kind}`, async () => {
    await inWorld(async (world) => {
      const [subject, counted] = subjectCases(world)[kind];
      world.budgets.push(budgetOf({ subject }));
      const money = await reserve(world, 60, counted);
      assert(money.ok);
      const receipt = await money.settle(draft(world, 60, counted));
      assertEquals(await spend(world, 41, counted), false);
      await refundCall(world.kv, receipt, { reason: "failed", atMs: world.clock.ms });
      world.clock.ms += 6_000;
      assertEquals(await spend(world, 100, counted), true);
      assertEquals(await spend(world, 1, counted), false);
    });
  });
}

Deno.test("a budget of the founder counts keys from before there were members, and none of programs", async () => {
  await inWorld(async (world) => {
    const [one, founders, programs] = world.keys;
    await spend(world, 30, { key: founders });
    await spend(world, 500, { key: programs });
    const subject = { kind: "member", memberId: founders.accountId } as const;
    world.budgets.push(budgetOf({ subject }));
    assertEquals(await spend(world, 70, { key: founders }), true);
    assertEquals(await spend(world, 1, { key: founders }), false);
    assertEquals(await spend(world, 500, { key: programs }), true);
    assertEquals(await spend(world, 500, { key: one }), true);
  });
});

Deno.test("on one instance calls at once never exceed a budget, whatever they reserve and cost", async () => {
  const anyCall = fc.record({
    reserved: fc.integer({ min: 1, max: 60 }),
    share: fc.integer({ min: 0, max: 100 }),
    which: fc.constantFrom(0 as const, 1 as const),
    tags: fc.constantFrom("team=a", "team=b", undefined),
    isSettled: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyCall, { minLength: 1, maxLength: 30 }), async (calls) => {
      await inWorld(async (world) => {
        const [one] = world.keys;
        world.budgets.push(
          budgetOf({}),
          budgetOf({
            subject: { kind: "key", keyId: one.id },
            window: "day",
            amountMicroVnd: fromVnd(50),
          }),
          budgetOf({
            subject: { kind: "tag", tag: { key: "team", value: "a" } },
            window: "week",
            amountMicroVnd: fromVnd(40),
          }),
        );
        await Promise.all(calls.map(async ({ reserved, share, which, tags, isSettled }) => {
          const call = { key: world.keys[which], ...(tags !== undefined && { tags }) };
          const money = await reserve(world, reserved, call);
          if (!money.ok) return;
          await Promise.resolve();
          if (!isSettled) return money.release();
          await money.settle(draft(world, Math.floor(reserved * share / 100), call));
        }));
        world.clock.ms += 6_000;
        const uses = await world.limits.budgetUse(one.accountId, world.budgets, world.clock.ms);
        for (const [at, { spentMicroVnd, reservedMicroVnd }] of uses.entries()) {
          assert(spentMicroVnd <= world.budgets[at]!.amountMicroVnd, `budget ${at}`);
          assertEquals(reservedMicroVnd, 0n);
        }
      });
    }),
    { numRuns: 30 },
  );
});

Deno.test("calls in flight count in full, and a refused call reserves nothing", async () => {
  await inWorld(async (world) => {
    world.budgets.push(budgetOf({}));
    const [one] = world.keys;
    const calls = await Promise.all(Array.from({ length: 50 }, () => reserve(world, 10)));
    const running = calls.filter((money) => money.ok);
    assertEquals(running.length, 10);
    const { reservedMicroVnd } = await world.wallet.balance(one.accountId);
    assertEquals(reservedMicroVnd, fromVnd(100));
    for (const refused of calls) if (!refused.ok) assertEquals(refused.reason, "budget");
    const [use] = await world.limits.budgetUse(one.accountId, world.budgets, world.clock.ms);
    assertEquals(use, { spentMicroVnd: 0n, reservedMicroVnd: fromVnd(100) });
    for (const money of running) money.release();
    assertEquals(await spend(world, 100), true);
  });
});

Deno.test("two instances exceed a budget at most by what one admits between two readings", async () => {
  await inWorld(async (world) => {
    world.budgets.push(budgetOf({}));
    const other = await openInstance(world.kv, world.clock);
    try {
      assertEquals(await spend(world, 10), true);
      // The other reads what was spent, and then both spend all that they know of.
      assertEquals(await spend(world, 0, {}, other), true);
      assertEquals(await spend(world, 90), true);
      assertEquals(await spend(world, 90, {}, other), true);
      world.clock.ms += 6_000;
      assertEquals(await spend(world, 1), false);
      assertEquals(await spend(world, 1, {}, other), false);
      const [use] = await other.limits.budgetUse(
        world.keys[0].accountId,
        world.budgets,
        world.clock.ms,
      );
      assertEquals(use?.spentMicroVnd, fromVnd(190));
    } finally {
      await other.wallet.close();
    }
  });
});

async function mailsOf(kv: KeyValueStore): Promise<string[]> {
  const mails: string[] = [];
  for await (
    const { value } of kv.list<{ payload: unknown }>({ prefix: ["outbox", mailQueue.name] })
  ) {
    const { kind, percent } = value.payload as { kind: string; percent?: number };
    if (kind === "budget_reached") mails.push(`${percent}`);
    if (kind === "budget_exhausted") mails.push("100");
  }
  return mails.sort();
}

Deno.test("each share is told once per window, by any number of instances and after any of them died", async () => {
  await inWorld(async (world) => {
    const { kv, clock, keys: [one] } = world;
    const budget = budgetOf({ atLimit: "tell", window: "day" });
    world.budgets.push(budget);
    await changeBudgets(kv, one.accountId, () => [budget]);
    const looks = () => [
      new BudgetNotices({ kv, book: world.limits }),
      new BudgetNotices({ kv, book: world.limits }),
    ];
    const look = async () => {
      // Nothing in memory survives: each look is that of new processes, at the same time.
      clock.ms += 6_000;
      await Promise.all(looks().map((notices) => notices.look(clock.ms)));
      await Promise.all(looks().map((notices) => notices.look(clock.ms)));
    };
    await look();
    assertEquals(await mailsOf(kv), []);
    // Settled, and killed before anybody looked.
    assertEquals(await spend(world, 50), true);
    await look();
    assertEquals(await mailsOf(kv), ["50"]);
    await spend(world, 29);
    await look();
    assertEquals(await mailsOf(kv), ["50"]);
    // Past two shares at once: the larger one alone.
    await spend(world, 40);
    await look();
    assertEquals(await mailsOf(kv), ["100", "50"]);
    await spend(world, 500);
    await look();
    assertEquals(await mailsOf(kv), ["100", "50"]);
    clock.ms += dayMs;
    await spend(world, 80);
    await look();
    assertEquals(await mailsOf(kv), ["100", "50", "80"]);
    // A changed amount begins anew.
    await changeBudgets(kv, one.accountId, () => [{ ...budget, amountMicroVnd: fromVnd(160) }]);
    await look();
    assertEquals(await mailsOf(kv), ["100", "50", "50", "80"]);
  });
});

/** The budgets that webhooks call exhausted, with the first day of the window. */
async function exhaustions(kv: KeyValueStore): Promise<string[]> {
  const events: string[] = [];
  const rows = kv.list<{ payload: { event: WebhookEvent } }>({
    prefix: ["outbox", webhookEvents.name],
  });
  for await (const { value: { payload: { event } } } of rows) {
    if (event.type === "budget.exhausted") events.push(event.data.from_day);
  }
  return events.sort();
}

const happenings = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("spend" as const), vnd: fc.integer({ min: 1, max: 120 }) }),
    fc.constantFrom({ kind: "look" } as const, { kind: "next day" } as const),
  ),
  { minLength: 4, maxLength: 24 },
);

Deno.test("a budget is exhausted once per window: when it refuses for the first time, or all of it is spent", async () => {
  await fc.assert(
    fc.asyncProperty(happenings, fc.constantFrom("refuse", "tell"), async (steps, atLimit) => {
      await inWorld(async (world) => {
        const { kv, clock, keys: [key] } = world;
        const budget = budgetOf({ atLimit, window: "day" });
        await changeBudgets(kv, key.accountId, () => [budget]);
        world.budgets.push(budget);
        const expected: string[] = [];
        let spentVnd = 0;
        let isTold = false;
        const expectTold = () => {
          if (!isTold) expected.push(vietnamDay(clock.ms));
          isTold = true;
        };
        for (const step of steps) {
          if (step.kind === "next day") {
            clock.ms += dayMs;
            [spentVnd, isTold] = [0, false];
          } else if (step.kind === "look") {
            clock.ms += 6_000;
            // Two instances at once.
            const looks = [1, 2].map(() => new BudgetNotices({ kv, book: world.limits }));
            await Promise.all(looks.map((notices) => notices.look(clock.ms)));
            if (spentVnd >= 100) expectTold();
          } else {
            const money = await reserve(world, step.vnd);
            if (money.ok) {
              await money.settle(draft(world, step.vnd, {}));
              spentVnd += step.vnd;
              continue;
            }
            assert(money.reason === "budget");
            const { code, figures, status, message } = limitError(money, { id: "m" });
            assert(figures !== undefined);
            const call = {
              requestId: newId("request", clock.ms),
              accountId: key.accountId,
              keyId: key.id,
              atMs: clock.ms,
              latencyMs: 1,
              ...{ code, figures, status, message },
            };
            await announceRefusals(kv, [call, call]);
            expectTold();
          }
        }
        assertEquals(await exhaustions(kv), expected);
        assertEquals(
          (await mailsOf(kv)).filter((share) => share === "100").length,
          expected.length,
        );
      });
    }),
    { numRuns: 40 },
  );
});

Deno.test("a process looks again only when calls were indexed or budgets changed, and after a while", async () => {
  await inWorld(async (world) => {
    const { kv, clock, keys: [one] } = world;
    await changeBudgets(kv, one.accountId, () => [budgetOf({})]);
    let reads = 0;
    const book = {
      budgetUse: (...args: Parameters<KeyLimitBook["budgetUse"]>) => {
        reads++;
        return world.limits.budgetUse(...args);
      },
    };
    const notices = new BudgetNotices({ kv, book });
    await notices.look(clock.ms);
    await notices.look(clock.ms += 60_000);
    assertEquals(reads, 1);
    await changeBudgets(kv, one.accountId, () => [budgetOf({})]);
    await notices.look(clock.ms += 60_000);
    assertEquals(reads, 2);
    await notices.look(clock.ms += 11 * 60_000);
    assertEquals(reads, 3);
  });
});

Deno.test("verification compares what a budget of a tag counts with the receipts", async () => {
  await inWorld(async (world) => {
    await spend(world, 10, { tags: "team=a" });
    await world.wallet.close();
    const masterKeys = await readMasterKeys(newMasterKey());
    const verified = async () => {
      const nowMs = world.clock.ms;
      const report = await verifyBooks(world.kv, { masterKeys, nowMs, isFull: true });
      return report.problems.filter(({ kind }) => kind === "rollup").map(({ detail }) => detail);
    };
    assertEquals(await verified(), []);
    for await (const { key, value } of world.kv.list<object>({ prefix: ["usage_tags"] })) {
      await world.kv.set(key, { ...value, costMicroVnd: 1n });
    }
    const [detail] = await verified();
    assertStringIncludes(detail ?? "", "the sums by tag of 2026-11-18");
  });
});

const paths = [
  ["/v1/chat/completions", { max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }],
  ["/v1/messages", { max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }],
  ["/v1/responses", { max_output_tokens: 16, input: "Hi" }],
  ["/v1beta/models/premium-1:generateContent", {
    contents: [{ role: "user", parts: [{ text: "Hi" }] }],
  }],
] as const;

Deno.test("a call beyond a budget is a 402 in the caller's style that names the budget and its reset", async () => {
  await using gateway = await openTestGateway();
  const { key, accountId } = await gateway.customer(1_000_000);
  const budget = budgetOf({ name: "Team red", amountMicroVnd: 1n, window: "total" });
  const monthly = { ...budget, id: "m", name: "Monthly", window: "month" } as const;
  const { control, wallet } = gateway.assembled.gateway;
  for (
    const [one, reset] of [[budget, "It does not reset"], [monthly, "It resets at 20"]] as const
  ) {
    await changeBudgets(gateway.kv, accountId, () => [one]);
    await control.refresh();
    for (const [path, body] of paths) {
      const model = path.startsWith("/v1beta") ? {} : { model: "premium-1" };
      const response = await gateway.fetch(
        bearerPost(`http://gateway.example${path}`, key, { ...model, ...body }),
      );
      const text = await response.text();
      assertEquals([response.status, response.headers.get("x-should-retry")], [402, "false"], path);
      assertStringIncludes(text, `The budget \\"${one.name}\\" is`);
      assertStringIncludes(text, reset);
    }
  }
  assertEquals((await wallet.balance(accountId)).reservedMicroVnd, 0n);
  const tell = { ...budget, atLimit: "tell" } as const;
  await changeBudgets(gateway.kv, accountId, () => [tell]);
  await control.refresh();
  const [path, body] = paths[0];
  const response = await gateway.fetch(
    bearerPost(`http://gateway.example${path}`, key, { model: "premium-1", ...body }),
  );
  assertEquals(response.status, 200, await response.text());
});
