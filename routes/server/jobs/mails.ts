/** Sends the mails of a running gateway, and queues warnings of low balances. */
import { errorName } from "../../../core/lib/base/assert.ts";
import type { Mailer } from "../../../core/people/mail/mail.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import {
  type OutboxWorld,
  runDue,
  startOutboxWorker,
} from "../../../kv/engine/outbox/outbox_worker.ts";
import { warnOfLowBalances } from "../../../kv/money/wallet/mod.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { createAbsentMailer, createMailer, whyNoMail } from "../../mail/mailer.ts";
import { mailWork } from "../../mail/send_mail.ts";
import type { Job } from "./jobs.ts";

/** Milliseconds between two comparisons of balances with the thresholds of their owners. */
const lowBalanceEveryMs = 60_000;

/** What mails need beyond the gateway. */
export interface MailOptions {
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Gets mails of the `log:` driver. */
  readonly write: (line: string) => void;
}

function mailerOf({ config }: Gateway, { baseUrl, write }: MailOptions): Mailer {
  const off = whyNoMail(config);
  if (off !== undefined) return createAbsentMailer(off);
  return createMailer({ mail: config.mail, baseUrl, fetch, log: write });
}

/** Milliseconds between two runs of cron that send what is due. */
const sendEveryMs = 60_000;

/** Starts the worker that sends queued mails. */
export function startMailWorker(gateway: Gateway, options: MailOptions): BackgroundWorker {
  const { config, kv, clock, random, log, media } = gateway;
  const mailer = mailerOf(gateway, options);
  const world: OutboxWorld = {
    kv,
    clock,
    random,
    isTold: media.wakeUp.isTold,
    onFailure: ({ queue, id, attempt, fate, error }) =>
      log.event("warn", "mail failed", { queue, id, attempt, fate, error: errorName(error) }),
  };
  const { baseUrl } = options;
  const work = mailWork({ kv, clock, mailer, baseUrl, support: config.support?.text });
  const worker = startOutboxWorker(world, work);
  const remove = media.wakeUp.add(mailQueue.name, worker);
  return {
    nudge: () => worker.nudge(),
    sweep: {
      name: "send mails",
      everyMs: sendEveryMs,
      run: () => runDue(world, work),
      withoutTimer: true,
    },
    async stop() {
      remove();
      await worker.stop();
    },
  };
}

/** Queues a mail for each account whose balance fell below the limit that it has set. */
export function lowBalanceJob({ kv, clock, wallet }: Gateway, hintMail: () => void): Job {
  return {
    name: "low balance",
    everyMs: lowBalanceEveryMs,
    async run() {
      const queued = await warnOfLowBalances({
        kv,
        nowMs: clock.nowMs(),
        balanceOf: async (accountId) => (await wallet.balance(accountId)).totalMicroVnd,
      });
      if (queued > 0) hintMail();
    },
  };
}
