/** The customer's side of a running gateway: pages, usage API, bank notices, mails, and the jobs behind them. */
import type { Hono } from "hono";
import type { MasterKeys } from "../../core/api_keys/seal.ts";
import { unforeseen } from "../../core/lib/error_line.ts";
import { mailQueue } from "../../kv/outbox/mail.ts";
import type { BackgroundWorker } from "../api/background_worker.ts";
import type { Gateway } from "../api/gateway.ts";
import { createOpenIdClient } from "../auth/openid.ts";
import { createPasswordHasher } from "../auth/password_hash.ts";
import {
  createDashboard,
  type DashboardEnv,
  type Dispatch,
  type PageDeps,
} from "../dashboard/mod.ts";
import { mountPage } from "../dashboard/page.ts";
import { operatorPages } from "../operator/pages/mod.ts";
import { createUsageApi } from "../usage_api/mod.ts";
import type { Job } from "./jobs.ts";
import { lowBalanceJob, type MailOptions, startMailWorker } from "./mails.ts";
import { type MoneyIn, openMoneyIn } from "./money_in.ts";

/** The parts that HTTP and the jobs share. */
export interface CustomerApp {
  readonly hooks: Hono;
  readonly usageApi: ReturnType<typeof createUsageApi>;
  /** Builds the pages; the playground sends its calls through `dispatch`. */
  dashboard(dispatch: Dispatch): Hono<DashboardEnv>;
  /** What runs at intervals. */
  readonly jobs: readonly Job[];
  /** Starts sending mails. */
  startWorkers(): BackgroundWorker;
}

export interface CustomerAppOptions extends MailOptions {
  readonly masterKeys: MasterKeys;
}

function pagesOf(
  gateway: Gateway,
  { masterKeys, baseUrl }: CustomerAppOptions,
  { intake, poll }: MoneyIn,
  hintMail: () => void,
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

/** Creates the parts of the customer's side. */
export function openCustomerApp(gateway: Gateway, options: CustomerAppOptions): CustomerApp {
  const { kv, clock, directory, wallet, media } = gateway;
  const hintMail = () => media.wakeUp.nudge(mailQueue.name);
  const moneyIn = openMoneyIn(gateway, hintMail);
  return {
    hooks: moneyIn.hooks,
    usageApi: createUsageApi({ kv, clock, directory, wallet }),
    dashboard: (dispatch) => pagesOf(gateway, options, moneyIn, hintMail, dispatch),
    jobs: [...moneyIn.jobs, lowBalanceJob(gateway, hintMail)],
    startWorkers: () => startMailWorker(gateway, options),
  };
}
