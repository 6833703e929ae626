/** Starts what a gateway does besides answering: jobs, mails, videos, and what notices of others begin. */
import { defined } from "../../../core/lib/base/defined.ts";
import { atMostEvery } from "../../../core/lib/time/at_most_every.ts";
import { systemTimer } from "../../../core/lib/time/deadlines.ts";
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import type { ChangeNotices } from "../../../kv/engine/store/change_notices.ts";
import { whyNoMail } from "../../mail/mailer.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { startVideoWorker } from "../../api/media/videos/video_content.ts";
import type { Cron, FreezeWatch } from "../../process/cron.ts";
import type { CustomerApp } from "./customer_app.ts";
import { startJobs } from "../jobs/jobs.ts";

/** Shortest interval in milliseconds between polls of the outbox that notices cause: each poll of others sends one. */
const noticePauseMs = 1_000;

/** Starts jobs and workers. What they do runs by timers, by cron, and at a request after a freeze. */
export function startWork(
  gateway: Gateway,
  customerApp: CustomerApp,
  { freeze, cron, notices, threadInstances }: {
    readonly freeze: FreezeWatch;
    readonly cron: Cron | undefined;
    readonly notices: ChangeNotices | undefined;
    /** The instances of other threads of this process. */
    readonly threadInstances?: () => Iterable<InstanceId>;
  },
): { stop(): Promise<void> } {
  const noMail = whyNoMail(gateway.config);
  if (noMail !== undefined) gateway.log.event("warn", "mail is off", { reason: noMail });
  const workers = [...customerApp.startWorkers(), startVideoWorker(gateway)];
  const jobs = startJobs(gateway, {
    jobs: [...customerApp.jobs, ...workers.map(({ sweep }) => sweep)],
    ticked: () => freeze.ticked(),
    ...defined({ threadInstances }),
  });
  freeze.onThaw(() => {
    jobs.runOverdue();
    for (const { nudge } of workers) nudge();
  });
  cron?.begin(({ everyMs }) => jobs.runOfPeriod(everyMs));
  const heard = hearNotices(gateway, workers, notices);
  return {
    async stop() {
      await Promise.all([
        heard.stop(),
        cron?.end(),
        jobs.stop(),
        ...workers.map((worker) => worker.stop()),
      ]);
    },
  };
}

/** Follows the notices of other instances: reads what changed, and wakes the workers. */
function hearNotices(
  { control }: Gateway,
  workers: readonly BackgroundWorker[],
  notices: ChangeNotices | undefined,
): { stop(): Promise<void> } {
  const wake = atMostEvery(noticePauseMs, () => {
    for (const worker of workers) worker.nudge();
  }, systemTimer);
  const end = notices?.listen(async (kind) => {
    if (kind === "control") return await control.refresh();
    wake();
    // A message of a queue may have started this process, which may end when the message is handled.
    if (notices.announce !== undefined) await Promise.all(workers.map(({ sweep }) => sweep.run()));
  });
  return {
    async stop() {
      wake.stop();
      await end?.();
    },
  };
}
