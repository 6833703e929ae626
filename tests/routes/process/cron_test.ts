/** What is due runs by cron, where no process lives long enough for a timer, and after a freeze. */
import { assertEquals } from "../../support/assert.ts";
import {
  createCron,
  cronSchedules,
  FreezeWatch,
  frozenAfterMs,
} from "../../../routes/process/cron.ts";
import { type Job, type Jobs, startJobs } from "../../../routes/server/jobs/jobs.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { nextTurn } from "../../support/turns.ts";
import { minuteMs } from "../../../core/lib/time/durations.ts";

const [minute, tenMinutes, sixHours] = cronSchedules.map(({ everyMs }) => everyMs);

/** Jobs of several periods; `ran` collects the names of those that ran. */
async function withJobs(
  run: (jobs: Jobs, world: { clock: ManualTime; ran: string[] }) => Promise<void>,
): Promise<void> {
  const clock = new ManualTime();
  await using world = await openTestGateway();
  const ran: string[] = [];
  const job = (name: string, everyMs: number, more: Partial<Job> = {}): Job => ({
    name,
    everyMs,
    run: () => Promise.resolve(ran.push(name)),
    ...more,
  });
  const jobs = startJobs({ ...world.assembled.gateway, clock }, {
    jobs: [
      job("quarter", 15_000),
      job("minute", minuteMs, { withoutTimer: true }),
      job("five", 5 * minuteMs),
      job("ten", 10 * minuteMs),
      job("six hours", 6 * 60 * minuteMs),
      job("day", 24 * 60 * minuteMs),
    ],
  });
  try {
    await run(jobs, { clock, ran });
  } finally {
    await jobs.stop();
  }
}

Deno.test("a new instance runs every job by the schedule of its period, however long that is", async () => {
  await withJobs(async (jobs, { ran }) => {
    await jobs.runOfPeriod(minute!);
    assertEquals(ran.splice(0), ["quarter", "minute", "five"]);
    await jobs.runOfPeriod(tenMinutes!);
    assertEquals(ran.splice(0), ["ten"]);
    await jobs.runOfPeriod(sixHours!);
    assertEquals(ran.splice(0), ["six hours", "day"]);
  });
});

Deno.test("cron leaves alone what has just run", async () => {
  await withJobs(async (jobs, { clock, ran }) => {
    await jobs.runOfPeriod(minute!);
    ran.splice(0);
    clock.advance(minuteMs);
    await jobs.runOfPeriod(minute!);
    assertEquals(ran.splice(0), ["quarter", "minute"]);
    await jobs.runOfPeriod(minute!);
    assertEquals(ran, []);
  });
});

Deno.test("a timer leaves alone what cron has just run, and runs it when its period is over", async () => {
  const clock = new ManualTime();
  await using world = await openTestGateway();
  const ran = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let runs = 0;
  const everyMs = 5;
  const job: Job = {
    name: "short",
    everyMs,
    run: () => Promise.resolve(ran[runs++]?.resolve()),
  };
  let ticks = 0;
  const ticked = Promise.withResolvers<void>();
  const jobs = startJobs({ ...world.assembled.gateway, clock }, {
    jobs: [job],
    ticked: () => ++ticks === 3 && ticked.resolve(),
  });
  try {
    await jobs.runOfPeriod(minute!);
    await ticked.promise;
    assertEquals(runs, 1, "its timer has fired three times, but the clock stands still");
    clock.advance(everyMs);
    await ran[1]!.promise;
    assertEquals(runs, 2);
  } finally {
    await jobs.stop();
  }
});

Deno.test("the first request after a freeze begins what became due meanwhile", async () => {
  await withJobs((jobs, { clock, ran }) => {
    const freeze = new FreezeWatch(clock);
    freeze.onThaw(() => jobs.runOverdue());
    clock.advance(frozenAfterMs - 1);
    freeze.request();
    assertEquals(ran, []);
    clock.advance(10 * minuteMs);
    freeze.request();
    assertEquals(ran.splice(0), ["quarter", "minute", "five", "ten"]);
    freeze.request();
    assertEquals(ran, []);
    return Promise.resolve();
  });
});

Deno.test("cron waits for the gateway, and the end of the gateway for cron", async () => {
  const cron = createCron();
  const done: string[] = [];
  const early = cron.handle(cronSchedules[0]!);
  await Promise.resolve();
  const gate = Promise.withResolvers<void>();
  cron.begin(async ({ name }) => {
    done.push(`began ${name}`);
    await gate.promise;
    done.push(`ended ${name}`);
  });
  await nextTurn();
  assertEquals(done, ["began work of a minute"]);
  const end = cron.end().then(() => done.push("stopped"));
  await cron.handle(cronSchedules[1]!);
  gate.resolve();
  await Promise.all([end, early]);
  assertEquals(done, ["began work of a minute", "ended work of a minute", "stopped"]);
});
