/**
 * Registers the schedules of the platform's cron at the top level of the entry, and passes their
 * runs to the gateway once it is ready.
 *
 * Deno Deploy evaluates the entry to find `Deno.cron`, before any server starts. A run of cron may
 * also start the instance that it runs in, so it waits for the store and the configuration.
 */
import { atMost } from "../../core/lib/time/sleep.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { hourMs } from "../../core/lib/time/durations.ts";

// Notices at a request that the process was frozen: its timers have not fired, and much may be due.

/**
 * Milliseconds without a tick of the jobs, one of which ticks each second, after which the process
 * counts as frozen. A busy event loop is not that late.
 */
export const frozenAfterMs = 5_000;

/**
 * Compares the time of each request with the last tick. A platform may stop a process between
 * requests, with the clock of its timers: they then continue where they were, not when they are due.
 *
 * @example
 * ```ts
 * import { FreezeWatch, frozenAfterMs } from "./cron.ts";
 * let nowMs = 0;
 * const watch = new FreezeWatch({ nowMs: () => nowMs });
 * let thaws = 0;
 * watch.onThaw(() => thaws++);
 * watch.request();
 * nowMs += frozenAfterMs;
 * watch.request();
 * watch.request();
 * if (thaws !== 1) throw new Error(`${thaws} thaws`);
 * ```
 */
export class FreezeWatch {
  readonly #clock: Pick<Clock, "nowMs">;
  #tickedAtMs: number;
  #onThaw = () => {};

  constructor(clock: Pick<Clock, "nowMs">) {
    this.#clock = clock;
    this.#tickedAtMs = clock.nowMs();
  }

  /** Sets what happens at the first request after a freeze. */
  onThaw(run: () => void): void {
    this.#onThaw = run;
  }

  /** A timer has fired. */
  ticked(): void {
    this.#tickedAtMs = this.#clock.nowMs();
  }

  /** A request has arrived. Cheap: one reading of the clock. */
  request(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#tickedAtMs < frozenAfterMs) return;
    this.#tickedAtMs = nowMs;
    this.#onThaw();
  }
}

/** Milliseconds that a run of cron waits for the gateway to be ready; the next run comes by itself. */
const readyWaitMs = 30_000;

/** One schedule, and the period that it stands for. */
export interface CronSchedule {
  readonly name: string;
  readonly schedule: string;
  readonly everyMs: number;
}

/** All schedules, the longest period last. The free plan of Deno Deploy has room for ten. */
export const cronSchedules: readonly CronSchedule[] = [
  { name: "work of a minute", schedule: "* * * * *", everyMs: 60_000 },
  { name: "work of ten minutes", schedule: "*/10 * * * *", everyMs: 10 * 60_000 },
  { name: "work of six hours", schedule: "0 */6 * * *", everyMs: 6 * hourMs },
];

/** Runs what belongs to a schedule. Never rejects. */
export type CronRun = (schedule: CronSchedule) => Promise<void>;

/** Connects schedules with a gateway that becomes ready later, and ends before them. */
export interface Cron {
  /** Handles one run of a schedule: waits for {@linkcode begin}; does nothing after {@linkcode end}. */
  handle(schedule: CronSchedule): Promise<void>;
  /** The gateway is ready: `run` does the work from now on. */
  begin(run: CronRun): void;
  /** The gateway stops; resolves when the runs in progress have ended. */
  end(): Promise<void>;
}

/**
 * Creates the connection.
 *
 * @example
 * ```ts
 * import { createCron, cronSchedules } from "./cron.ts";
 * const cron = createCron();
 * let runs = 0;
 * const early = cron.handle(cronSchedules[0]!);
 * cron.begin(async () => void runs++);
 * await early;
 * await cron.end();
 * await cron.handle(cronSchedules[0]!);
 * if (runs !== 1) throw new Error(`${runs} runs`);
 * ```
 */
export function createCron(): Cron {
  const ready = Promise.withResolvers<void>();
  const running = new Set<Promise<void>>();
  let run: CronRun | undefined;
  return {
    async handle(schedule) {
      await atMost(readyWaitMs, ready.promise);
      if (run === undefined) return;
      const turn = run(schedule).finally(() => running.delete(turn));
      running.add(turn);
      await turn;
    },
    begin(begun) {
      run = begun;
      ready.resolve();
    },
    async end() {
      run = undefined;
      ready.resolve();
      await Promise.all(running);
    },
  };
}

/** Registers all schedules with the runtime. Call it at the top level of the entry, and nowhere else. */
export function registerCron(cron: Cron): void {
  // Undefined if the runtime was started without its flag; jobs and workers do without.
  if (typeof Deno.cron !== "function") return;
  for (const each of cronSchedules) {
    void Deno.cron(each.name, each.schedule, () => cron.handle(each));
  }
}
