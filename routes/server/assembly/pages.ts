/** Puts the pages together. Loaded with the first request for a page (`customer_app.ts`). */
import type { Hono } from "hono";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { trialOf } from "../../../core/config/trial.ts";
import { unforeseen } from "../../../core/lib/base/assert.ts";
import { isLoopbackUrl } from "../../../core/net/addresses/local_address.ts";
import { checkOwnKey } from "../../api/call/own_key_check.ts";
import { type RouteTestTarget, testRoute } from "../../api/chat/route_test_call.ts";
import type { Gateway } from "../../api/gateway/gateway.ts";
import { createGuardedFetch } from "../../auth/guarded_fetch.ts";
import { ensureTrialAccount } from "../../process/demo_account.ts";
import { resolveTxtWithDeno } from "../../process/deno_connect.ts";
import { createGitHubClient } from "../../auth/github.ts";
import { createOpenIdClient } from "../../auth/openid.ts";
import { createPasswordHasher } from "../../auth/password_hash.ts";
import {
  createDashboard,
  type DashboardDeps,
  type DashboardEnv,
  type Dispatch,
  type PageDeps,
} from "../../dashboard/mod.ts";
import { mountPage } from "../../dashboard/page/page.ts";
import type { TrialDeps } from "../../dashboard/page/deps.ts";
import type { RateView } from "../../dashboard/page/rate_view.ts";
import { readSuppliedPages, type SuppliedPages } from "../../dashboard/page/supplied_pages.ts";
import { editingOf } from "../../operator/operations/contract/editing.ts";
import { operatorPages } from "../../operator/pages/operator_pages.ts";
import type { MoneyIn } from "../jobs/money_in.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { findAccountByEmail } from "../../../kv/people/accounts/accounts.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

// What a new account gets to try the gateway with, on a developer's own machine: play money, once.

/** Enough for some hundred calls of the sandbox, and little enough to meet an empty wallet, too. */
const playVnd = 20_000;

/** Place and receivers of play money. */
export interface OpeningCreditOptions {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly sandbox: boolean;
  /** Customers can pay in, so they begin with nothing. */
  readonly bankTransfer: boolean;
}

/**
 * Returns the function that gives it; `undefined` where nothing is given. A sandbox that others can reach gives
 * nothing: its store may serve real providers one day, and play money would buy their answers.
 */
export function openingCreditOf(
  { kv, clock, baseUrl, sandbox, bankTransfer }: OpeningCreditOptions,
): ((accountId: AccountId) => Promise<void>) | undefined {
  if (!sandbox || bankTransfer || !isLoopbackUrl(baseUrl)) return undefined;
  return async (accountId) => {
    await credit(kv, {
      accountId,
      amountMicroVnd: fromVnd(playVnd),
      kind: "demo",
      operationId: `demo:${accountId}`,
      reason: "Sandbox money",
      atMs: clock.nowMs(),
    });
  };
}

/** Returns how visitors try models, with the account that pays. */
function trialDepsOf(
  { config, kv, clock }: Pick<Gateway, "config" | "kv" | "clock">,
): TrialDeps | undefined {
  const trial = trialOf(config.trial, config.mode);
  if (trial === undefined) return undefined;
  const { payer, ...bounds } = trial;
  return {
    ...bounds,
    isPlay: config.mode === "sandbox",
    payer: async () =>
      payer.kind === "play"
        ? await ensureTrialAccount(kv, bounds.vndPerDay, clock.nowMs())
        : (await findAccountByEmail(kv, payer.email))?.id,
  };
}

/** Needs of the pages beyond the gateway. */
export interface PagesOptions {
  readonly masterKeys: MasterKeys;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  readonly moneyIn: MoneyIn;
  /** Addresses that webhooks may reach, and the hint that one waits. */
  readonly webhooks: DashboardDeps["webhooks"];
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
  readonly dispatch: Dispatch;
}

/** Reads the operator's pages; without them the others work all the same. */
function suppliedPagesOf({ config, log }: Gateway): SuppliedPages | undefined {
  if (config.pagesFolder === undefined) return undefined;
  try {
    return readSuppliedPages(config.pagesFolder);
  } catch (error) {
    log.event("error", "the pages in GATEWAY_PAGES cannot be read", { ...unforeseen(error) });
    return undefined;
  }
}

/** Builds the pages of customers and operators. */
export function createPages(
  gateway: Gateway,
  { masterKeys, baseUrl, moneyIn: { intake, poll }, webhooks, hintMail, dispatch }: PagesOptions,
): Hono<DashboardEnv> {
  const { config, kv, clock, wallet, control, router, log } = gateway;
  const { topup, signInProviders } = config;
  const suppliedPages = suppliedPagesOf(gateway);
  const page: PageDeps = {
    kv,
    clock,
    baseUrl,
    operators: config.operators,
    sandbox: config.mode === "sandbox",
    support: config.support,
    company: config.company,
    brand: config.brand,
    suppliedPages,
    maintenance: () => control.switches.maintenance?.message,
  };
  const routes = () => router.reports();
  const bankTransfer = topup.receivingAccounts.length > 0;
  const rates: RateView = {
    defaults: () => gateway.catalog.current.rateLimits,
    model(id) {
      const model = gateway.catalog.current.find(id);
      return model?.id === id ? model : undefined;
    },
    use: (ids) => gateway.rates.use(ids),
  };
  const operator = {
    wallet,
    topup,
    masterKeys,
    intake,
    control,
    catalog: gateway.catalog,
    log,
    editing: editingOf(gateway),
    routes,
    testRoute: (target: RouteTestTarget) => testRoute(gateway, target),
    poll,
    hintMail,
    rates,
  };
  return createDashboard({
    ...page,
    passwords: createPasswordHasher(),
    providers: signInProviders.map((one) => ({
      id: one.id,
      client: one.id === "github"
        ? createGitHubClient(one, { fetch })
        : createOpenIdClient(one, { fetch, clock }),
    })),
    companySignIn: {
      fetch: createGuardedFetch(gateway.media.remote.transport),
      resolveTxt: resolveTxtWithDeno,
    },
    hintMail,
    openingCredit: openingCreditOf({ kv, clock, baseUrl, sandbox: page.sandbox, bankTransfer }),
    report(what, error) {
      const { stack, ...said } = unforeseen(error);
      if (what === "page") log.event("error", "page failed", { ...said, stack });
      else log.event("warn", `${what} failed`, said);
    },
    wallet,
    masterKeys,
    control,
    get catalog() {
      return gateway.catalog.current;
    },
    get spendGranted() {
      return gateway.catalog.current.wallet.spendGranted;
    },
    checkOwnKey: (provider, secret) => checkOwnKey(gateway, provider, secret),
    topup,
    rates,
    keysPerMember: config.keysPerMember,
    budgets: gateway.limits,
    offers: {
      bankTransfer,
      invoices: topup.vatRates.length > 0,
    },
    webhooks,
    modelStatus(modelId) {
      const model = gateway.catalog.current.find(modelId);
      return model === undefined ? "down" : router.status(model).state;
    },
    trial: trialDepsOf(gateway),
    dispatch,
  }, [mountPage(operatorPages, { ...page, ...operator })]);
}
