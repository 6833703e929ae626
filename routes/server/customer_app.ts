/** The customer's side of a running gateway: pages, usage API, bank notices, mails, and what works behind them. */
import type { Hono } from "hono";
import { unforeseen } from "../../core/lib/error_line.ts";
import type { MasterKeys } from "../../core/api_keys/seal.ts";
import { limits } from "../../core/limits.ts";
import type { Mailer } from "../../core/mail/mail.ts";
import { cassoHook } from "../../core/payments/casso.ts";
import { sepayHook } from "../../core/payments/sepay.ts";
import { type BankIntake, createBankIntake } from "../../kv/payments/bank_intake.ts";
import { warnOfLowBalances } from "../../kv/wallet/low_balance.ts";
import { mailQueue } from "../../kv/outbox/mail.ts";
import { startOutboxWorker } from "../../kv/outbox/outbox_worker.ts";
import { checkTopups } from "../../kv/payments/topup_checks.ts";
import { mailCredited } from "../../kv/payments/topup_mails.ts";
import { createOpenIdClient } from "../auth/openid.ts";
import { createPasswordHasher } from "../auth/password_hash.ts";
import { mountPage } from "../dashboard/page.ts";
import {
  createDashboard,
  type DashboardEnv,
  type Dispatch,
  type PageDeps,
} from "../dashboard/mod.ts";
import { createBankHookRoutes } from "../hooks/bank.ts";
import { createAbsentMailer, createMailer, whyNoMail } from "../mail/mailer.ts";
import { mailWork } from "../mail/send_mail.ts";
import { operatorPages } from "../operator/pages/mod.ts";
import { pollSepay, type SepayPollResult } from "../payments/sepay_poll.ts";
import { createUsageApi } from "../usage_api/mod.ts";
import type { Gateway } from "../api/gateway.ts";
import type { Job } from "./jobs.ts";

/** The parts that HTTP and the jobs share. */
export interface CustomerApp {
  readonly hooks: Hono;
  readonly usageApi: ReturnType<typeof createUsageApi>;
  /** Builds the pages; the playground sends its calls through `dispatch`. */
  dashboard(dispatch: Dispatch): Hono<DashboardEnv>;
  /** What runs now and then. */
  readonly jobs: readonly Job[];
  /** Starts sending mails. */
  startWorkers(): { stop(): Promise<void> };
}

export interface CustomerAppOptions {
  readonly masterKeys: MasterKeys;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** Gets mails of the `log:` driver. */
  readonly write: (line: string) => void;
}

function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}

function mailerOf({ config }: Gateway, { baseUrl, write }: CustomerAppOptions): Mailer {
  const off = whyNoMail(config);
  if (off !== undefined) return createAbsentMailer(off);
  return createMailer({ mail: config.mail, baseUrl, fetch, log: write });
}

function intakeOf(gateway: Gateway, hintMail: () => void): BankIntake {
  const { config: { topup }, kv, clock, log } = gateway;
  return createBankIntake({
    kv,
    nowMs: clock.nowMs,
    receivingAccounts: topup.receivingAccounts,
    autoCreditMaxMicroVnd: topup.autoCreditMaxMicroVnd,
    aloneMaxMicroVnd: topup.approvalAboveMicroVnd,
    onCredited(operation, credited) {
      mailCredited(operation, credited);
      // After the commit, which follows at once: the worker looks again within a second anyway.
      queueMicrotask(hintMail);
    },
    report: ({ what, source, id, error }) =>
      log.event("warn", "bank notice", {
        what,
        source,
        id,
        ...(error === undefined ? {} : { error: errorName(error) }),
      }),
  });
}

/** Reads the provider's list of movements, if a token for it is set. */
function pollOf(
  gateway: Gateway,
  intake: BankIntake,
): (() => Promise<SepayPollResult>) | undefined {
  const { config: { topup: { sepayApiToken } }, clock } = gateway;
  if (sepayApiToken === undefined) return undefined;
  const world = { intake, nowMs: clock.nowMs, apiToken: sepayApiToken };
  return () =>
    pollSepay({ ...world, fetch: (url, init) => fetch(url, init) }, limits.bankPollWindowMs);
}

function jobsOf(
  gateway: Gateway,
  intake: BankIntake,
  hintMail: () => void,
  poll: (() => Promise<SepayPollResult>) | undefined,
): Job[] {
  const { kv, clock, wallet, log } = gateway;
  const jobs: Job[] = [
    { name: "match bank notices", everyMs: limits.bankSweepEveryMs, run: () => intake.sweep() },
    {
      name: "check top-ups",
      everyMs: limits.topupCheckEveryMs,
      async run() {
        const { problems } = await checkTopups(kv, clock.nowMs());
        if (problems.length > 0) log.event("error", "top-ups do not add up", { problems });
      },
    },
    {
      name: "low balance",
      everyMs: limits.lowBalanceEveryMs,
      async run() {
        const queued = await warnOfLowBalances({
          kv,
          nowMs: clock.nowMs(),
          balanceOf: async (accountId) => (await wallet.balance(accountId)).totalMicroVnd,
        });
        if (queued > 0) hintMail();
      },
    },
  ];
  if (poll !== undefined) {
    jobs.push({
      name: "poll bank movements",
      everyMs: limits.bankPollEveryMs,
      async run() {
        const result = await poll();
        if (!result.ok) log.event("warn", "bank movements not read", { ...result });
      },
    });
  }
  return jobs;
}

/** Sends what waits in the mail queue, until it is stopped. */
function startMailWorker(gateway: Gateway, options: CustomerAppOptions): { stop(): Promise<void> } {
  const { config, kv, clock, random, log, media } = gateway;
  const mailer = mailerOf(gateway, options);
  const worker = startOutboxWorker(
    {
      kv,
      clock,
      random,
      onFailure: ({ queue, id, attempt, fate, error }) =>
        log.event("warn", "mail failed", { queue, id, attempt, fate, error: errorName(error) }),
    },
    mailWork({ kv, clock, mailer, baseUrl: options.baseUrl, support: config.support?.text }),
  );
  const remove = media.wakeUp.add(mailQueue.name, worker);
  return {
    async stop() {
      remove();
      await worker.stop();
    },
  };
}

/** What the pages share with the rest of the site. */
interface PageWorld {
  readonly intake: BankIntake;
  readonly poll: (() => Promise<SepayPollResult>) | undefined;
  readonly hintMail: () => void;
}

function pagesOf(
  gateway: Gateway,
  { masterKeys, baseUrl }: CustomerAppOptions,
  { intake, poll, hintMail }: PageWorld,
  dispatch: Dispatch,
): Hono<DashboardEnv> {
  const { config, kv, clock, wallet, control, router, log } = gateway;
  const { topup, openId, catalog } = config;
  const page: PageDeps = {
    kv,
    clock,
    baseUrl,
    operators: config.operators,
    sandbox: config.mode === "sandbox",
    support: config.support,
    maintenance: () => control.switches.maintenance?.message,
  };
  const routes = () => router.reports();
  const operator = { wallet, topup, masterKeys, intake, control, routes, poll, hintMail };
  return createDashboard({
    ...page,
    passwords: createPasswordHasher(),
    openId: openId && createOpenIdClient(openId, { fetch, clock }),
    hintMail,
    report(what, error) {
      const { stack, ...said } = unforeseen(error);
      if (what === "page") log.event("error", "page failed", { ...said, stack });
      else log.event("warn", `${what} failed`, said);
    },
    wallet,
    masterKeys,
    control,
    catalog,
    topup,
    offers: {
      bankTransfer: topup.receivingAccounts.length > 0,
      invoices: topup.vatRates.length > 0,
    },
    modelStatus(modelId) {
      const model = catalog.find(modelId);
      return model === undefined ? "down" : router.status(model).state;
    },
    dispatch,
  }, [mountPage(operatorPages, { ...page, ...operator })]);
}

function bankHooksOf(gateway: Gateway, intake: BankIntake): Hono {
  const { config: { topup }, clock, deadlines, log } = gateway;
  return createBankHookRoutes({
    clock,
    deadlines,
    hooks: [sepayHook(topup.sepay), cassoHook(topup.cassoWebhookKey)]
      .filter((hook) => hook !== undefined),
    intake,
    report: ({ provider, what, error }) =>
      log.event("warn", "bank notice refused", {
        provider,
        what,
        ...(error === undefined ? {} : { error: errorName(error) }),
      }),
  });
}

/** Puts the customer's side together. */
export function openCustomerApp(gateway: Gateway, options: CustomerAppOptions): CustomerApp {
  const { kv, clock, directory, wallet, media } = gateway;
  const hintMail = () => media.wakeUp.nudge(mailQueue.name);
  const intake = intakeOf(gateway, hintMail);
  const poll = pollOf(gateway, intake);
  const world: PageWorld = { intake, poll, hintMail };
  return {
    hooks: bankHooksOf(gateway, intake),
    usageApi: createUsageApi({ kv, clock, directory, wallet }),
    dashboard: (dispatch) => pagesOf(gateway, options, world, dispatch),
    jobs: jobsOf(gateway, intake, hintMail, poll),
    startWorkers: () => startMailWorker(gateway, options),
  };
}
