/** The operator's pages with everything behind them, and a browser that has passed the second factor. */
import { Secret, TOTP } from "otpauth";
import type { Hono } from "hono";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { Catalog } from "../../../core/catalog/catalog.ts";
import { defaultCatalog } from "../gateways/gateway_in_process.ts";
import type { RouteReport } from "../../../core/routing/contract/router.ts";
import { readTopupSettings } from "../../../core/trade/settings/settings.ts";
import {
  type Account,
  createAccount,
  findAccountByEmail,
} from "../../../kv/people/accounts/accounts.ts";
import type { Switches } from "../../../kv/engine/control/control.ts";
import { openWalletEngine } from "../../../kv/money/wallet/mod.ts";
import type { DashboardEnv } from "../../../routes/dashboard/page/visitor.ts";
import type { OperatorDeps } from "../../../routes/operator/pages/base/frame.tsx";
import { createOperatorPages } from "../../../routes/operator/pages/operator_pages.ts";
import { pageApp, type PageVisitor, visit } from "../browser/page_visitor.ts";
import { testEditing } from "./catalog_editing.ts";
import { receivingAccount, type TopupWorld, topupWorld } from "./topup_world.ts";
import type { AtomicWrite } from "../../../kv/engine/store/key_value_store.ts";

export interface OperatorWorld {
  readonly world: TopupWorld;
  readonly deps: OperatorDeps;
  readonly app: Hono<DashboardEnv>;
  /** Mails whose delivery was requested. */
  readonly hints: () => number;
  switches: Switches;
  /** A signed-in browser without the second factor. */
  as(account: Account | undefined, locale?: "vi" | "en"): Promise<PageVisitor>;
  /** An operator with the second factor; `staff` and `second` are named as operators. */
  operator(name: "staff" | "second", locale?: "vi" | "en"): Promise<PageVisitor>;
}

/** The code that an authenticator app shows for a secret. */
export function codeFor(secret: string, nowMs: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: nowMs });
}

/** The secret that the enrolment page shows. */
export function secretOn(page: { readonly text: string }): string | undefined {
  return /data-copy="([A-Z2-7]{32})"/.exec(page.text)?.[1];
}

export async function operatorWorld(
  run: (operators: OperatorWorld) => Promise<void>,
  change: {
    readonly catalog?: Catalog;
    readonly routes?: readonly RouteReport[];
    readonly poll?: OperatorDeps["poll"];
    readonly rates?: OperatorDeps["rates"];
  } = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const read = readTopupSettings({ GATEWAY_VAT_RATES: "2025-07-01=8,2027-01-01=10" });
  if (!read.ok) throw new Error(read.problems.join());
  let hints = 0;
  const control = {
    get switches() {
      return operators.switches;
    },
    async update(
      apply: (switches: Switches) => Switches,
      attach?: (operation: AtomicWrite) => void,
    ) {
      const operation = kv.atomic();
      attach?.(operation);
      await operation.commit();
      operators.switches = apply(operators.switches);
    },
  };
  const deps: OperatorDeps = {
    kv,
    clock,
    baseUrl: "https://gateway.example",
    operators: ["staff@example.com", "second@example.com"],
    sandbox: false,
    wallet,
    topup: {
      ...read.settings,
      receivingAccounts: [receivingAccount],
      approvalAboveMicroVnd: fromVnd(5_000_000),
    },
    masterKeys: await readMasterKeys(newMasterKey()),
    intake: world.intake,
    control,
    catalog: { current: change.catalog ?? defaultCatalog(), refused: undefined, head: undefined },
    routes: () => change.routes ?? [],
    editing: testEditing(kv, clock),
    poll: change.poll,
    rates: change.rates,
    hintMail: () => void hints++,
  };
  const app = pageApp(deps, createOperatorPages(deps));
  const operators: OperatorWorld = {
    world,
    deps,
    app,
    hints: () => hints,
    switches: { routes: {} },
    as: (account, locale) => visit(app, deps, account, locale),
    async operator(name, locale) {
      const email = `${name}@example.com`;
      const account = await findAccountByEmail(kv, email) ??
        await createAccount(kv, { nowMs: world.nowMs, email });
      const browser = await visit(app, deps, account, locale);
      const secret = secretOn(await browser.get("/operator/second-factor"));
      if (secret === undefined) throw new Error("already enrolled");
      await browser.post("/operator/second-factor", { code: codeFor(secret, world.nowMs) });
      return browser;
    },
  };
  try {
    await run(operators);
  } finally {
    await wallet.close();
  }
}
