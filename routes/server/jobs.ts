/**
 * Runs the periodic jobs: recovery of dead instances, availability, and the jobs of the pages. Each
 * has a time limit and never overlaps itself.
 */
import { unforeseen } from "../../core/lib/error_line.ts";
import type { InstanceId } from "../../core/lib/ids.ts";
import { writeAvailability } from "../../kv/receipts/availability.ts";
import { reapExpiredInstances } from "../../kv/wallet/reaper.ts";
import type { Gateway } from "../api/gateway.ts";

/** Milliseconds between two writes of the availability counts. */
const availabilityEveryMs = 60_000;

/** Milliseconds between two checks whether the ledger takes writes, whose changes are logged. */
const ledgerWatchEveryMs = 1_000;

/** Milliseconds between two searches for instances that died. */
const reapEveryMs = 15_000;

/** A periodic job; runs of the same job do not overlap. */
export interface Job {
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
}

/**
 * Stores the availability counts of the current hour, and of the hour before when it has just
 * ended.
 */
async function saveAvailability(gateway: Gateway): Promise<void> {
  const { kv, clock, availability, wallet } = gateway;
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
  readonly clock: Pick<Gateway["clock"], "nowMs">;
  readonly log: Pick<Gateway["log"], "event">;
  readonly wallet: Pick<Gateway["wallet"], "instanceId">;
}

/**
 * Recovers the leases of other instances that died. If one cannot be recovered, it logs so once per
 * cause: the money stays reserved until an operator acts.
 */
export function createReaping({ kv, clock, log, wallet }: ReapingDeps): () => Promise<void> {
  let told: ReadonlyMap<InstanceId, string> = new Map();
  return async () => {
    const { unfinished } = await reapExpiredInstances(kv, clock.nowMs(), {
      own: wallet.instanceId,
    });
    for (const { instanceId, reason } of unfinished) {
      if (told.get(instanceId) === reason) continue;
      log.event("error", "a dead instance cannot be recovered", {
        instance: instanceId,
        error: reason,
        look_at: "deno task admin verify",
      });
    }
    told = new Map(unfinished.map(({ instanceId, reason }) => [instanceId, reason]));
  };
}

/** Starts the jobs. `stop` waits for the runs in progress. */
export function startJobs(
  gateway: Gateway,
  more: readonly Job[] = [],
): { stop(): Promise<void> } {
  const { log } = gateway;
  const jobs: readonly Job[] = [
    { name: "reap", everyMs: reapEveryMs, run: createReaping(gateway) },
    {
      name: "availability",
      everyMs: availabilityEveryMs,
      run: () => saveAvailability(gateway),
    },
    { name: "ledger", everyMs: ledgerWatchEveryMs, run: ledgerWatch(gateway) },
    ...more,
  ];
  let stopped = false;
  const timers = new Map<Job, ReturnType<typeof setTimeout>>();
  const running = new Set<Promise<void>>();

  async function once(job: Job): Promise<void> {
    try {
      await job.run();
    } catch (error) {
      log.event("error", `job ${job.name} failed`, { ...unforeseen(error) });
    }
  }

  function schedule(job: Job): void {
    if (stopped) return;
    const timer = setTimeout(() => {
      const turn = once(job).finally(() => {
        running.delete(turn);
        schedule(job);
      });
      running.add(turn);
    }, job.everyMs);
    timers.set(job, timer);
  }

  for (const job of jobs) schedule(job);
  return {
    async stop() {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
