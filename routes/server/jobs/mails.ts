/** Sends the mails of a running gateway, and queues warnings of low balances. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { errorName } from "../../../core/lib/base/assert.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import type { Mailer } from "../../../core/people/mail/mail.ts";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import {
  type OutboxWorld,
  runDue,
  startOutboxWorker,
} from "../../../kv/engine/outbox/outbox_worker.ts";
import { incidentQueue } from "../../../kv/people/operators/announcements.ts";
import { incidentWork } from "../../../kv/people/operators/status_subscribers.ts";
import { warnOfLowBalances } from "../../../kv/money/wallet/mod.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { createAbsentMailer, createMailer, whyNoMail } from "../../mail/mailer.ts";
import { mailWork } from "../../mail/send_mail.ts";
import { BudgetNotices } from "../../../kv/services/limits/budget_notices.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import type { Job } from "./jobs.ts";

/** Milliseconds between two comparisons of balances with the thresholds of their owners. */
const lowBalanceEveryMs = 60_000;

/** Needs of mails beyond the gateway. */
export interface MailOptions {
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Sign the links that switch off mails. */
  readonly masterKeys: MasterKeys;
  /** Gets mails of the `log:` driver. */
  readonly write: (line: string) => void;
}

function mailerOf(
  { config }: Gateway,
  { baseUrl, write }: Pick<MailOptions, "baseUrl" | "write">,
): Mailer {
  const off = whyNoMail(config);
  if (off !== undefined) return createAbsentMailer(off);
  return createMailer({
    mail: config.mail,
    baseUrl,
    brand: config.brand.name,
    fetch,
    log: write,
  });
}

/** Milliseconds between two runs of cron that send what is due. */
const sendEveryMs = 60_000;

/** Starts the workers that send queued mails, and that queue those about incidents. */
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
  const { baseUrl, masterKeys } = options;
  const { brand } = config;
  const support = config.support?.text;
  const balanceOf = async (id: AccountId) => (await gateway.wallet.balance(id)).totalMicroVnd;
  const work = mailWork({
    kv,
    clock,
    mailer,
    masterKeys,
    baseUrl,
    brand,
    support,
    balanceOf,
  });
  const worker = startOutboxWorker(world, work);
  const incidents = incidentWork(world, () => worker.nudge());
  const incidentWorker = startOutboxWorker(world, incidents);
  const removals = [
    media.wakeUp.add(mailQueue.name, worker),
    media.wakeUp.add(incidentQueue.name, incidentWorker),
    // Whoever publishes an incident hints at mails, as all acts with mails do.
    media.wakeUp.add(mailQueue.name, incidentWorker),
  ];
  return {
    nudge: () => {
      worker.nudge();
      incidentWorker.nudge();
    },
    sweep: {
      name: "send mails",
      everyMs: sendEveryMs,
      async run() {
        await runDue(world, incidents);
        await runDue(world, work);
      },
      withoutTimer: true,
    },
    async stop() {
      for (const remove of removals) remove();
      await Promise.all([worker.stop(), incidentWorker.stop()]);
    },
  };
}

/** Milliseconds between two searches for domains to check: less than their period, for processes that live a day. */
const companyDomainsEveryMs = hourMs;

/** Milliseconds between two looks at the budgets of all accounts. */
const budgetsEveryMs = 60_000;

/** Queues a mail for each share of a budget that was reached. */
export function budgetJob({ kv, clock, limits }: Gateway, hintMail: () => void): Job {
  const notices = new BudgetNotices({ kv, book: limits });
  return {
    name: "budgets",
    everyMs: budgetsEveryMs,
    async run() {
      if (await notices.look(clock.nowMs()) > 0) hintMail();
    },
  };
}

/** Checks the records of verified domains again; what it does is loaded when its time has come. */
export function companyDomainJob(
  { kv, clock }: Pick<Gateway, "kv" | "clock">,
  resolveTxt: (name: string) => Promise<readonly string[]>,
  hintMail: () => void,
): Job {
  return {
    name: "company domains",
    everyMs: companyDomainsEveryMs,
    async run() {
      const { recheckDomains } = await import(
        "../../../kv/people/organisations/domain_checks.ts"
      );
      if (await recheckDomains({ kv, nowMs: clock.nowMs(), resolveTxt }) > 0) hintMail();
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
