/** The customer's side of a running gateway: pages, usage API, bank notices, mails, webhooks, and the jobs behind them. */
import { allowsLocalEndpoints } from "../../../core/people/webhooks/endpoint_url.ts";
import { webhookDeliveries } from "../../../kv/people/webhooks/endpoint_queues.ts";
import type { Hono } from "hono";
import { mailQueue } from "../../../kv/engine/outbox/outbox.ts";
import type { BackgroundWorker } from "../../api/gateway/access_watch.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import type { DashboardEnv, Dispatch } from "../../dashboard/mod.ts";
import type { createManagementApi } from "../../management_api/management_api.ts";
import { createUsageApi } from "../../usage_api/usage_api.ts";
import { openCreditWork } from "../jobs/credit_jobs.ts";
import type { Job } from "../jobs/jobs.ts";
import {
  budgetJob,
  companyDomainJob,
  lowBalanceJob,
  type MailOptions,
  startMailWorker,
} from "../jobs/mails.ts";
import { resolveTxtWithDeno } from "../../process/deno_connect.ts";
import { openMoneyIn } from "../jobs/money_in.ts";
import { startCleanupWorker } from "../jobs/pending_cleanup.ts";
import { startWebhookWorker } from "../jobs/webhooks.ts";

/** The parts that HTTP and the jobs share. */
export interface CustomerApp {
  readonly hooks: Hono;
  readonly usageApi: ReturnType<typeof createUsageApi>;
  /** Loads and builds the management API, with its first request. */
  managementApi(): Promise<ReturnType<typeof createManagementApi>>;
  /** Loads and builds the pages; the playground sends its calls through `dispatch`. */
  dashboard(dispatch: Dispatch): Promise<Hono<DashboardEnv>>;
  /** Jobs that run at intervals. */
  readonly jobs: readonly Job[];
  /** Starts sending mails and webhooks. */
  startWorkers(): readonly BackgroundWorker[];
}

export type CustomerAppOptions = MailOptions;

/** Creates the parts of the customer's side. */
export function openCustomerApp(gateway: Gateway, options: CustomerAppOptions): CustomerApp {
  const { kv, clock, directory, wallet, media, config } = gateway;
  const hintMail = () => media.wakeUp.nudge(mailQueue.name);
  const creditWork = openCreditWork(gateway, hintMail);
  const moneyIn = openMoneyIn(gateway, () => {
    hintMail();
    creditWork.topUpCredited();
  });
  const webhooks = {
    isLocalAllowed: allowsLocalEndpoints(gateway.config, options.baseUrl),
    hasPrivateAddress: (host: string) => media.names.hasPrivateAddress(host),
    hintDelivery: () => media.wakeUp.nudge(webhookDeliveries.name),
  };
  return {
    hooks: moneyIn.hooks,
    usageApi: createUsageApi({
      kv,
      clock,
      directory,
      wallet,
      baseUrl: options.baseUrl,
      vatRates: config.topup.vatRates,
      brandName: config.brand.name,
      seller: config.company,
    }),
    async managementApi() {
      const { createManagementApi } = await import("../../management_api/management_api.ts");
      const { checkOwnKey } = await import("../../api/call/own_key_check.ts");
      const { masterKeys } = options;
      const { control, config: { keysPerMember } } = gateway;
      return createManagementApi({
        kv,
        clock,
        deadlines: gateway.deadlines,
        wallet,
        masterKeys,
        control,
        catalog: {
          find: (id) => gateway.catalog.current.find(id),
          get providers() {
            return gateway.catalog.current.providers;
          },
          get ownKeyFee() {
            return gateway.catalog.current.ownKeyFee;
          },
        },
        checkOwnKey: (provider, secret) => checkOwnKey(gateway, provider, secret),
        keysPerMember,
        baseUrl: options.baseUrl,
        resolveTxt: resolveTxtWithDeno,
        topup: config.topup,
        get spendGranted() {
          return gateway.catalog.current.wallet.spendGranted;
        },
        webhooks,
        hintMail,
      });
    },
    async dashboard(dispatch) {
      const { createPages } = await import("./pages.ts");
      return createPages(gateway, { ...options, moneyIn, webhooks, hintMail, dispatch });
    },
    jobs: [
      ...moneyIn.jobs,
      lowBalanceJob(gateway, hintMail),
      budgetJob(gateway, hintMail),
      companyDomainJob(gateway, resolveTxtWithDeno, hintMail),
      ...creditWork.jobs,
    ],
    startWorkers: () => [
      startMailWorker(gateway, options),
      startWebhookWorker(gateway, options),
      startCleanupWorker(gateway),
    ],
  };
}
