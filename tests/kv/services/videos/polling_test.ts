import { assert, assertEquals } from "../../../support/assert.ts";
import type { VideoId } from "../../../../core/lib/ids/ids.ts";
import { advance, isFinal, type VideoTask } from "../../../../core/media/video/task.ts";
import {
  ledgerOperationKey,
  openVideoKey,
  openVideosPrefix,
} from "../../../../kv/engine/schema/keys.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { refundOperationId } from "../../../../kv/money/ledger/refunds.ts";
import { nextDueAtMs } from "../../../../kv/engine/outbox/outbox.ts";
import { listDeadLetters } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import {
  commitStep,
  forgetVideo,
  listVideos,
  pollDueTasks,
  readVideo,
  sweepOverdueVideos,
  verifyVideos,
  videoPolls,
  type VideoPollWorld,
} from "../../../../kv/services/videos/mod.ts";
import { faultyKv } from "../../../support/stores/faulty_kv.ts";
import {
  chargedTask,
  creditMicroVnd,
  type FakeClock,
  fakeClock,
  fatefulProvider,
  fundedAccount,
  quietWalletEngine,
} from "./video_world.ts";
import { findMovement, ledgerLines } from "../../../support/worlds/money_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

function worldOf(kv: KeyValueStore, clock: FakeClock): VideoPollWorld {
  return { kv, clock, random: () => 0, ask: fatefulProvider(clock) };
}

async function refundsOf(kv: KeyValueStore, task: VideoTask) {
  const lines = await ledgerLines(kv, task.accountId);
  return lines.filter((entry) => entry.operationId === refundOperationId(task.requestId));
}

Deno.test("a task that works is asked until it is completed, keeps its charge and leaves nothing behind", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task } = await chargedTask(wallet, clock, { accountId, fate: "works" });
  const world = worldOf(kv, clock);
  assertEquals(await pollDueTasks(world), 0, "the first poll is a second away");
  const states: string[] = [];
  for (const ageMs of [1_000, 95_000, 200_000]) {
    clock.now = task.createdAtMs + ageMs;
    assertEquals(await pollDueTasks(world), 1);
    states.push((await readVideo(kv, accountId, task.id))!.task.state);
  }
  assertEquals(states, ["queued", "in_progress", "completed"]);
  assertEquals(await nextDueAtMs(kv, videoPolls), undefined);
  assertEquals(await Array.fromAsync(kv.list({ prefix: openVideosPrefix() })), []);
  assertEquals(await refundsOf(kv, task), []);
  await wallet.close();
});

Deno.test("a failed task is refunded by what its receipt says, as a line of its own that names the call", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task, receipt } = await chargedTask(wallet, clock, { accountId, fate: "fails" });
  clock.now += 151_000;
  await pollDueTasks(worldOf(kv, clock));
  const now = (await readVideo(kv, accountId, task.id))!.task;
  assertEquals([now.state, now.error?.code], ["failed", "moderation_blocked"]);
  const [refund, ...more] = await refundsOf(kv, task);
  assertEquals(more, []);
  assertEquals([refund?.amountMicroVnd, refund?.requestId, refund?.ledgerId], [
    receipt.costMicroVnd,
    task.requestId,
    now.refundId,
  ]);
  assertEquals((await wallet.balance(accountId)).totalMicroVnd, creditMicroVnd);
  await wallet.close();
});

Deno.test("a provider that is silent, vague or gone fails the task at its deadline, with a refund", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const tasks = [];
  for (const fate of ["stalls", "unreachable", "vanishes"]) {
    tasks.push((await chargedTask(wallet, clock, { accountId, fate })).task);
  }
  const world = worldOf(kv, clock);
  const deadlineAtMs = tasks[0]!.deadlineAtMs;
  while (clock.now < deadlineAtMs - 61_000) {
    clock.now += 20_000;
    await pollDueTasks(world);
  }
  const stateOf = async (task: VideoTask) => {
    const { task: now } = (await readVideo(kv, accountId, task.id))!;
    return [now.state, now.error?.code];
  };
  assertEquals(await Promise.all(tasks.map(stateOf)), [
    ["in_progress", undefined],
    ["queued", undefined],
    ["failed", "task_lost"],
  ]);
  clock.now = deadlineAtMs + 60_000;
  await pollDueTasks(world);
  assertEquals(await Promise.all(tasks.map(stateOf)), [
    ["failed", "task_timeout"],
    ["failed", "task_timeout"],
    ["failed", "task_lost"],
  ]);
  assertEquals((await wallet.balance(accountId)).totalMicroVnd, creditMicroVnd);
  assertEquals(await listDeadLetters(kv, videoPolls, 10), []);
  await wallet.close();
});

Deno.test("only a provider that does not know a task four times in a row has lost it", async () => {
  const polls: [answers: string, state: string][] = [
    ["5551w", "completed"],
    ["1115111w", "completed"],
    ["111s111w", "completed"],
    ["1515151515w", "completed"],
    ["1111w", "failed"],
    ["5s1111w", "failed"],
    ["51111w", "failed"],
  ];
  for (const [answers, state] of polls) {
    using kv = await Deno.openKv(":memory:");
    const clock = fakeClock();
    const wallet = await quietWalletEngine(kv, clock);
    const accountId = await fundedAccount(kv);
    const { task } = await chargedTask(wallet, clock, { accountId, fate: "works" });
    const provider = fatefulProvider(clock);
    let asked = 0;
    const failures: number[] = [];
    const world: VideoPollWorld = {
      ...worldOf(kv, clock),
      onFailure: ({ attempt }) => failures.push(attempt),
      ask: (seen) => {
        switch (answers[asked++]) {
          case "1":
            return Promise.resolve({ kind: "unknown" });
          case "5":
            return Promise.reject(new Error("503"));
          case "w":
            clock.now = task.createdAtMs + 200_000;
        }
        return provider(seen);
      },
    };
    for (let i = 0; i < answers.length; i++) {
      clock.now = (await nextDueAtMs(kv, videoPolls)) ?? clock.now;
      await pollDueTasks(world);
    }
    const { task: now } = (await readVideo(kv, accountId, task.id))!;
    assertEquals(now.state, state, answers);
    if (state === "failed") assertEquals(now.error?.code, "task_lost", answers);
    const quiet = [...answers].filter((answer) => answer === "s" || answer === "w").length;
    assertEquals(failures.length, answers.length - quiet - (state === "failed" ? 1 : 0), answers);
    await wallet.close();
  }
});

Deno.test("a task that ended while it could not be polled is not failed by its deadline", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task } = await chargedTask(wallet, clock, { accountId, fate: "works" });
  clock.now = task.deadlineAtMs + 3_600_000;
  await pollDueTasks(worldOf(kv, clock));
  assertEquals((await readVideo(kv, accountId, task.id))!.task.state, "completed");
  assertEquals(await refundsOf(kv, task), []);
  await wallet.close();
});

Deno.test("an owner who cancels while a poll finds the failure is refunded once", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const tasks = [];
  for (let i = 0; i < 20; i++) {
    tasks.push((await chargedTask(wallet, clock, { accountId, fate: "fails" })).task);
  }
  clock.now += 151_000;
  await Promise.all([
    pollDueTasks(worldOf(kv, clock)),
    pollDueTasks(worldOf(kv, clock)),
    ...tasks.map(async (task) => {
      const row = await readVideo(kv, accountId, task.id);
      assert(row !== undefined);
      if (isFinal(row.task.state)) return;
      const step = advance(row.task, { kind: "cancel", confirmed: true }, clock.now);
      await commitStep(kv, row, step, { nowMs: clock.now });
    }),
  ]);
  clock.now += 61_000;
  await pollDueTasks(worldOf(kv, clock));
  for (const task of tasks) assertEquals((await refundsOf(kv, task)).length, 1);
  assertEquals((await wallet.balance(accountId)).totalMicroVnd, creditMicroVnd);
  assertEquals(await nextDueAtMs(kv, videoPolls), undefined);
  await wallet.close();
});

Deno.test("a step from a stale reading changes nothing, whatever it would refund", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task } = await chargedTask(wallet, clock, { accountId, fate: "works" });
  const stale = (await readVideo(kv, accountId, task.id))!;
  clock.now += 300_000;
  await pollDueTasks(worldOf(kv, clock));
  for (const confirmed of [true, false]) {
    const step = advance(stale.task, { kind: "cancel", confirmed }, clock.now);
    assertEquals(await commitStep(kv, stale, step, { nowMs: clock.now }), undefined);
  }
  assertEquals((await readVideo(kv, accountId, task.id))!.task.state, "completed");
  assertEquals(await refundsOf(kv, task), []);
  await wallet.close();
});

Deno.test("verification finds a failure without refund, an extra refund, and a task that is not polled", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const make = async (fate: string) => (await chargedTask(wallet, clock, { accountId, fate })).task;
  const [works, fails, open] = [await make("works"), await make("fails"), await make("stalls")];
  clock.now += 300_000;
  await pollDueTasks(worldOf(kv, clock));
  await wallet.close();
  assertEquals(await Array.fromAsync(verifyVideos(kv)), []);
  assertEquals((await verifyStore(kv)).problems, []);

  const rowOf = async (task: VideoTask) => (await readVideo(kv, accountId, task.id))!;
  const failed = await rowOf(fails);
  const refund = (await findMovement(kv, refundOperationId(fails.requestId)))!;
  await kv.set(failed.key, { ...failed.task, refundId: undefined });
  const completed = await rowOf(works);
  await kv.set(ledgerOperationKey(refundOperationId(works.requestId)), {
    ...refund,
    amountMicroVnd: 1n,
  });
  await kv.set(completed.key, { ...completed.task, refundId: refund.ledgerId });
  await kv.delete(openVideoKey(open.id));
  const { problems } = await verifyStore(kv);
  const found = problems.filter(({ kind }) => kind === "video").map(({ detail }) => detail);
  assertEquals(
    found.toSorted(),
    [
      `${works.id}: 0.000001 VND went back of 3300`,
      `${works.id}: completed, but refunded`,
      `${fails.id}: task and ledger disagree on the refund`,
      `${open.id}: in_progress, but not open`,
    ].toSorted(),
  );
});

Deno.test("a free task fails without a line in the ledger", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const free = { accountId, fate: "fails", priceMicroVnd: 0n };
  const { task } = await chargedTask(wallet, clock, free);
  clock.now += 151_000;
  await pollDueTasks(worldOf(kv, clock));
  assertEquals((await readVideo(kv, accountId, task.id))!.task.state, "failed");
  assertEquals(await refundsOf(kv, task), []);
  await wallet.close();
});

Deno.test("a task whose poll was lost is found by the sweep after its deadline", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task } = await chargedTask(wallet, clock, { accountId, fate: "stalls" });
  for await (const { key } of kv.list({ prefix: ["outbox"] })) await kv.delete(key);
  const world = worldOf(kv, clock);
  clock.now = task.deadlineAtMs + 60_000;
  assertEquals(await sweepOverdueVideos(world), 0, "its poll may still come");
  clock.now = task.deadlineAtMs + 601_000;
  assertEquals(await sweepOverdueVideos(world), 1);
  await pollDueTasks(world);
  assertEquals((await readVideo(kv, accountId, task.id))!.task.state, "failed");
  assertEquals(await sweepOverdueVideos(world), 0);
  await wallet.close();
});

Deno.test("lists go both ways, page by page, and show only the account's own tasks", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const [mine, theirs] = [await fundedAccount(kv), await fundedAccount(kv)];
  const ids: VideoId[] = [];
  for (let i = 0; i < 5; i++) {
    clock.now += 1_000;
    ids.push((await chargedTask(wallet, clock, { accountId: mine, fate: "works" })).task.id);
    await chargedTask(wallet, clock, { accountId: theirs, fate: "works" });
  }
  const page = async (order: "asc" | "desc", after: VideoId | undefined, limit = 2) => {
    const { tasks, hasMore } = await listVideos(kv, mine, { limit, order, after });
    return [...tasks.map(({ id }) => ids.indexOf(id)), hasMore];
  };
  assertEquals(await page("desc", undefined), [4, 3, true]);
  assertEquals(await page("desc", ids[3]), [2, 1, true]);
  assertEquals(await page("desc", ids[1]), [0, false]);
  assertEquals(await page("asc", undefined), [0, 1, true]);
  assertEquals(await page("asc", ids[1]), [2, 3, true]);
  assertEquals(await page("asc", ids[4]), [false]);
  assertEquals(await page("asc", undefined, 1_000), [0, 1, 2, 3, 4, false]);
  assertEquals(await readVideo(kv, theirs, ids[0]!), undefined, "a foreign id finds nothing");
  await wallet.close();
});

Deno.test("an ended task can be forgotten, once", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accountId = await fundedAccount(kv);
  const { task } = await chargedTask(wallet, clock, { accountId, fate: "works" });
  clock.now += 300_000;
  await pollDueTasks(worldOf(kv, clock));
  const row = (await readVideo(kv, accountId, task.id))!;
  assertEquals(await forgetVideo(kv, row), true);
  assertEquals(await forgetVideo(kv, row), false);
  assertEquals(await readVideo(kv, accountId, task.id), undefined);
  await wallet.close();
});

/**
 * A poller whose process is killed at its `deathAt`-th awaited call, before or just after that call
 * took effect. It never continues; `died` resolves instead.
 */
function mortalPoller(kv: KeyValueStore, clock: FakeClock, deathAt: number, after: boolean) {
  let calls = 0;
  const died = Promise.withResolvers<number>();
  const next = () => {
    calls++;
    if (calls < deathAt) return "none" as const;
    died.resolve(0);
    return calls === deathAt && after ? "silence_after" as const : "silence" as const;
  };
  const ask = fatefulProvider(clock);
  const world: VideoPollWorld = {
    kv: faultyKv(kv, next),
    clock,
    random: () => 0,
    ask: (task) => next() === "none" ? ask(task) : new Promise<never>(() => {}),
  };
  return Promise.race([pollDueTasks(world), died.promise]);
}

Deno.test("500 tasks, two pollers on one store, dying at every await: each task ends once and the money adds up", async () => {
  using kv = await Deno.openKv(":memory:");
  const clock = fakeClock();
  const wallet = await quietWalletEngine(kv, clock);
  const accounts = await Promise.all(Array.from({ length: 10 }, () => fundedAccount(kv)));
  const fates = ["works", "fails", "stalls", "vanishes", "unreachable"];
  const tasks: VideoTask[] = [];
  let chargedMicroVnd = 0n;
  for (let i = 0; i < 500; i++) {
    const accountId = accounts[i % accounts.length]!;
    const fate = fates[Math.floor(i / accounts.length) % fates.length]!;
    const priceMicroVnd = BigInt(1 + i) * 1_000_000n;
    const made = await chargedTask(wallet, clock, { accountId, fate, priceMicroVnd });
    tasks.push(made.task);
    chargedMicroVnd += made.receipt.costMicroVnd;
  }
  const openCount = async () =>
    (await Array.fromAsync(kv.list({ prefix: openVideosPrefix() }))).length;
  // Each round two pollers run at the same time and die one call later than their predecessors.
  let deathAt = 1;
  while (await openCount() > 0) {
    assert(deathAt < 3_000, "the pollers never come to an end");
    clock.now += 61_000;
    await Promise.all([
      mortalPoller(kv, clock, deathAt, deathAt % 2 === 0),
      mortalPoller(kv, clock, deathAt + 7, deathAt % 3 === 0),
    ]);
    deathAt++;
  }
  assert(deathAt > 50, "the pollers died often enough to mean something");

  let refundedMicroVnd = 0n;
  for (const task of tasks) {
    const { task: now } = (await readVideo(kv, task.accountId, task.id))!;
    const fate = task.upstreamId.split("-")[0];
    assertEquals(now.state, fate === "works" ? "completed" : "failed", fate);
    const refund = await findMovement(kv, refundOperationId(task.requestId));
    assertEquals(now.refundId, refund?.ledgerId, "the task names its refund");
    assertEquals(refund?.amountMicroVnd, fate === "works" ? undefined : task.costMicroVnd);
    refundedMicroVnd += refund?.amountMicroVnd ?? 0n;
  }
  let totalMicroVnd = 0n;
  let lines = 0;
  for (const accountId of accounts) {
    totalMicroVnd += (await wallet.balance(accountId)).totalMicroVnd;
    const ledger = await ledgerLines(kv, accountId);
    lines += ledger.filter(({ kind }) => kind === "refund").length;
  }
  assertEquals(lines, 400, "one line for each task that failed");
  assertEquals(
    totalMicroVnd,
    creditMicroVnd * BigInt(accounts.length) - chargedMicroVnd + refundedMicroVnd,
  );
  // What is left in the outbox are polls of ended tasks whose poller died: one more run removes them.
  clock.now += 120_000;
  await pollDueTasks(worldOf(kv, clock));
  assertEquals(await nextDueAtMs(kv, videoPolls), undefined);
  assertEquals(await listDeadLetters(kv, videoPolls, 10), []);
  await wallet.close();
  assertEquals((await verifyStore(kv)).problems, []);
});
