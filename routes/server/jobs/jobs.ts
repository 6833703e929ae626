/**
 * Runs the periodic jobs: recovery of dead instances, availability, and the jobs of the pages.
 *
 * Three things start a job: its timer while the process lives, the platform's cron where processes
 * come and go, and the first request after a freeze. A job never overlaps itself.
 *
 * - Folder `routes/server/jobs/`: periodic work: recovery of dead instances, availability, mails, bank notices,
 *   expiry of credit.
 * - In: a running gateway, timers, cron, the end of a freeze.
 * - Out: jobs that run, one of each at a time; log lines for those that fail.
 * - Never: decides about money itself: the folders of `kv/` do.
 */
import { unforeseen } from "../../../core/lib/base/assert.ts";
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import { writeAvailability, writeDayHistory } from "../../../kv/services/status/availability.ts";
import { StoreUnavailableError } from "../../../kv/engine/store/store_unavailable.ts";
import { reapExpiredInstances } from "../../../kv/money/wallet/mod.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { cronSchedules } from "../../process/cron.ts";

/** Milliseconds between two writes of the availability counts. */
const availabilityEveryMs = 60_000;

/** Milliseconds between two checks whether the ledger takes writes, whose changes are logged. */
const ledgerWatchEveryMs = 1_000;

/** Milliseconds between two searches for instances that died. */
const reapEveryMs = 15_000;

/** A periodic job; runs of the same job in this process do not overlap. */
export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
  /** Runs by cron and after a freeze only, since a worker of this process does the same meanwhile. */
  readonly withoutTimer?: true;
}

/**
 * Stores the availability counts of the current hour and day, and of those before when they have just
 * ended.
 */
async function saveAvailability(gateway: Gateway): Promise<void> {
  const { kv, clock, availability, dayHistory, wallet } = gateway;
  const finishedDay = dayHistory.takeFinished();
  if (finishedDay !== undefined) await writeDayHistory(kv, wallet.instanceId, finishedDay);
  await writeDayHistory(kv, wallet.instanceId, dayHistory.current(clock.nowMs()));
  const finished = availability.takeFinished();
  if (finished !== undefined) {
    await writeAvailability(kv, wallet.instanceId, finished.hour, finished.counts);
  }
  const { hour, counts } = availability.current(clock.nowMs());
  await writeAvailability(kv, wallet.instanceId, hour, counts);
}

export interface LedgerWatchDeps {
  readonly wallet: Pick<Gateway["wallet"], "healthy">;
  readonly log: Pick<Gateway["log"], "event">;
}

/**
 * Logs when the ledger stops taking writes and when it takes them again; without it the log might not mention it for
 * hours.
 */
export function ledgerWatch({ wallet, log }: LedgerWatchDeps): () => Promise<void> {
  let was = true;
  return () => {
    const is = wallet.healthy;
    if (was && !is) {
      log.event("error", "the ledger takes no writes", {
        effect: "new calls get 503; calls that ended wait for their receipt",
        look_at: "the disk or server of GATEWAY_KV",
      });
    } else if (is && !was) log.event("info", "the ledger takes writes again");
    was = is;
    return Promise.resolve();
  };
}

export interface ReapingDeps extends Pick<Gateway, "kv"> {
  readonly clock: Pick<Gateway["clock"], "nowMs" | "monotonicMs">;
  readonly log: Pick<Gateway["log"], "event">;
  readonly wallet: Pick<Gateway["wallet"], "instanceId">;
  /** The instances of other threads of this process, which are alive, too. */
  readonly threadInstances?: (() => Iterable<InstanceId>) | undefined;
}

/** Milliseconds after which other instances are looked at in any case: one that starts now lives as long. */
const longestReapPauseMs = 60_000;

/** The time until the first of the known instances can have died. */
class ReapPause {
  readonly #clock: ReapingDeps["clock"];
  #beganAtMs = 0;
  #untilMs = 0;
  #untilMonotonicMs = 0;

  constructor(clock: ReapingDeps["clock"]) {
    this.#clock = clock;
  }

  begin(nextExpiryMs: number): void {
    this.#beganAtMs = this.#clock.nowMs();
    this.#untilMs = Math.min(nextExpiryMs, this.#beganAtMs + longestReapPauseMs);
    this.#untilMonotonicMs = this.#clock.monotonicMs() + this.#untilMs - this.#beganAtMs;
  }

  /** By both clocks: one may jump, the other stand still while a platform freezes the process. */
  lasts(): boolean {
    const nowMs = this.#clock.nowMs();
    return nowMs >= this.#beganAtMs && nowMs < this.#untilMs &&
      this.#clock.monotonicMs() < this.#untilMonotonicMs;
  }
}

/**
 * Recovers the leases of other instances that died. If one cannot be recovered, it logs so once per
 * cause: the money stays reserved until an operator acts.
 */
export function createReaping(
  { kv, clock, log, wallet, threadInstances = () => [] }: ReapingDeps,
): () => Promise<void> {
  let told: ReadonlyMap<InstanceId, string> = new Map();
  const pause = new ReapPause(clock);
  return async () => {
    if (pause.lasts()) return;
    const { unfinished, nextExpiryMs } = await reapExpiredInstances(kv, clock.nowMs(), {
      own: new Set([wallet.instanceId, ...threadInstances()]),
    });
    for (const { instanceId, reason } of unfinished) {
      if (told.get(instanceId) === reason) continue;
      log.event("error", "a dead instance cannot be recovered", {
        instance: instanceId,
        error: reason,
        look_at: "deno task admin verify",
      });
    }
    if (unfinished.length === 0) pause.begin(nextExpiryMs);
    told = new Map(unfinished.map(({ instanceId, reason }) => [instanceId, reason]));
  };
}

/** The jobs of a running gateway. */
export interface Jobs {
  /**
   * Runs what is due at a schedule of cron: the jobs whose period is not shorter than `everyMs` and
   * shorter than that of the next schedule, unless their timer has just run them.
   */
  runOfPeriod(everyMs: number): Promise<void>;
  /** Begins all jobs whose period is over by the wall clock, e.g. after the process was frozen. */
  runOverdue(): void;
  /** Stops the timers and waits for the runs in progress. */
  stop(): Promise<void>;
}

export interface JobsOptions {
  /** Jobs besides those that every gateway has. */
  readonly jobs?: readonly Job[];
  /** Called when a timer of a job fires: the process is not frozen. */
  readonly ticked?: () => void;
  /** Whether another thread of this process clears up after dead instances. */
  readonly leavesReaping?: boolean;
  /** The instances of other threads of this process. */
  readonly threadInstances?: () => Iterable<InstanceId>;
}

function jobsOf(
  gateway: Gateway,
  { leavesReaping = false, threadInstances }: JobsOptions,
): Job[] {
  const reap = createReaping({ ...gateway, threadInstances });
  return [
    ...(leavesReaping ? [] : [{ name: "reap", everyMs: reapEveryMs, run: reap }]),
    { name: "availability", everyMs: availabilityEveryMs, run: () => saveAvailability(gateway) },
    { name: "ledger", everyMs: ledgerWatchEveryMs, run: ledgerWatch(gateway) },
  ];
}

/** The period of the schedule of cron that runs a job: the longest one that is not longer than its own. */
function cronPeriodMs({ everyMs }: Job): number {
  const periods = cronSchedules.map((schedule) => schedule.everyMs);
  return periods.findLast((periodMs) => periodMs <= everyMs) ?? periods[0] ?? everyMs;
}

/** Starts the timers of all jobs. */
export function startJobs(gateway: Gateway, options: JobsOptions = {}): Jobs {
  const { log, clock } = gateway;
  const { jobs = [], ticked } = options;
  const all: readonly Job[] = [...jobsOf(gateway, options), ...jobs];
  const startedAtMs = clock.nowMs();
  const endedAtMs = new Map<Job, number>();
  const timers = new Map<Job, ReturnType<typeof setTimeout>>();
  const running = new Map<Job, Promise<void>>();
  let stopped = false;

  async function once(job: Job): Promise<void> {
    try {
      await job.run();
    } catch (error) {
      // An outage has a log line of its own, and the next run makes up for this one.
      if (error instanceof StoreUnavailableError) return;
      log.event("error", `job ${job.name} failed`, { ...unforeseen(error) });
    }
  }

  /** Runs a job, or waits for its run in progress. */
  function run(job: Job): Promise<void> {
    const current = running.get(job);
    if (current !== undefined) return current;
    if (stopped) return Promise.resolve();
    const turn = once(job).finally(() => {
      running.delete(job);
      endedAtMs.set(job, clock.nowMs());
    });
    running.set(job, turn);
    return turn;
  }

  /** Whether the period has passed since `sinceMs`; a clock that was set back says nothing, so yes. */
  function isOver({ everyMs }: Job, sinceMs: number): boolean {
    const passedMs = clock.nowMs() - sinceMs;
    return passedMs >= everyMs || passedMs < 0;
  }

  /** Milliseconds until the period of a job is over; 0: it is. What cron has just run does not run again by its timer. */
  function leftMs(job: Job): number {
    const sinceMs = endedAtMs.get(job);
    return sinceMs === undefined || isOver(job, sinceMs)
      ? 0
      : job.everyMs - (clock.nowMs() - sinceMs);
  }

  function schedule(job: Job, delayMs = job.everyMs): void {
    if (stopped) return;
    const timer = setTimeout(() => {
      ticked?.();
      const waitMs = leftMs(job);
      if (waitMs > 0) schedule(job, waitMs);
      else void run(job).then(() => schedule(job));
    }, delayMs);
    timers.set(job, timer);
  }

  for (const job of all) if (job.withoutTimer !== true) schedule(job);
  return {
    async runOfPeriod(everyMs) {
      const due = all.filter((job) => {
        const sinceMs = endedAtMs.get(job);
        return cronPeriodMs(job) === everyMs && (sinceMs === undefined || isOver(job, sinceMs));
      });
      await Promise.all(due.map(run));
    },
    runOverdue() {
      for (const job of all) {
        if (isOver(job, endedAtMs.get(job) ?? startedAtMs)) void run(job);
      }
    },
    async stop() {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(running.values());
    },
  };
}
