/** Wallet, invoices and the operator's pages behind a real socket, with a customer and an operator signed in. */
import { testEditing } from "./catalog_editing.ts";
import type { Catalog } from "../../../core/catalog/catalog.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { commandLine } from "../../../kv/people/audit/operator_audit.ts";
import { addStoredKey } from "../../../kv/services/vault/stored_keys.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import { healthOf } from "../route_reports.ts";
import type { RouteReport } from "../../../core/routing/contract/router.ts";
import { readTopupSettings } from "../../../core/trade/settings/settings.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { type BankIntake, createBankIntake } from "../../../kv/money/payments/bank_intake.ts";
import { requestApproval } from "../../../kv/services/operations/approvals.ts";
import type { Control, Switches } from "../../../kv/engine/control/control.ts";
import { requestInvoice } from "../../../kv/money/invoices/invoices.ts";
import { createTopupOrder, type TopupOrder } from "../../../kv/money/payments/topups.ts";
import { mountPage } from "../../../routes/dashboard/page/page.ts";
import { operatorPages } from "../../../routes/operator/pages/operator_pages.ts";
import {
  type DashboardWorld,
  type DashboardWorldOptions,
  noNetwork,
  openDashboardWorld,
} from "./dashboard_world.ts";
import type { Campaign } from "../../../core/trade/credits/campaign.ts";
import { newId } from "../../../core/lib/ids/ids.ts";
import { topUp } from "./money_world.ts";
import { costedCatalog, costedFile, makeCostedCalls } from "./costed_calls.ts";
import { refuse } from "./refused_calls.ts";
import { campaign, creditStartMs, give } from "./credit_world.ts";
import { codeFor, secretOn } from "./operator_world.ts";
import { notice, receivingAccount } from "./topup_world.ts";

export interface TopupSite extends AsyncDisposable {
  readonly world: DashboardWorld;
  readonly address: string;
  readonly intake: BankIntake;
  readonly customer: Account;
  readonly customerToken: string;
  readonly operatorToken: string;
  order(amountVnd: number): Promise<TopupOrder>;
}

/** Switches in memory. */
function switchboard(): Pick<Control, "switches" | "update"> {
  const board: {
    switches: Switches;
    update: (apply: (switches: Switches) => Switches) => Promise<void>;
  } = {
    switches: { routes: {} },
    update(apply: (switches: Switches) => Switches) {
      board.switches = apply(board.switches);
      return Promise.resolve();
    },
  };
  return board;
}

/** Every route of the catalogue: one rests, the others are healthy. */
function reportsOf(catalog: Catalog, switches: Switches): RouteReport[] {
  return catalog.models.flatMap((model) =>
    model.routes.map((route, at): RouteReport => ({
      model: model.id,
      route,
      switched: switches.routes[route.id]?.state,
      operations: {
        chat: healthOf(model.id === "general-05" && at === 0 ? "open" : "closed"),
      },
      credentials: { count: 1, resting: 0, reasons: [] },
    }))
  );
}

export async function openTopupSite(
  options: Pick<DashboardWorldOptions, "rates"> = {},
): Promise<TopupSite> {
  const ready = Promise.withResolvers<DashboardWorld>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await (await ready.promise).fetch(request),
  );
  const address = `http://localhost:${server.addr.port}`;
  const read = readTopupSettings({
    GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
    GATEWAY_VAT_RATES: "2025-07-01=8",
  });
  if (!read.ok) throw new Error(read.problems.join());
  const topup = read.settings;
  const intakes: BankIntake[] = [];
  const world = await openDashboardWorld({
    companySignIn: noNetwork,
    baseUrl: address,
    operators: ["van.hanh@example.com"],
    catalog: costedCatalog(),
    topup,
    ...options,
    more(deps) {
      const intake = createBankIntake({
        kv: deps.kv,
        nowMs: () => deps.clock.nowMs(),
        receivingAccounts: topup.receivingAccounts,
        autoCreditMaxMicroVnd: topup.autoCreditMaxMicroVnd,
        aloneMaxMicroVnd: topup.approvalAboveMicroVnd,
        report: () => {},
      });
      intakes.push(intake);
      const control = switchboard();
      const routes = () => reportsOf(deps.catalog, control.switches);
      return [
        mountPage(operatorPages, {
          ...deps,
          catalog: { current: deps.catalog, refused: undefined, head: undefined },
          editing: testEditing(deps.kv, deps.clock, costedFile()),
          intake,
          control,
          routes,
          hintMail: () => {},
        }),
      ];
    },
  });
  ready.resolve(world);
  const intake = intakes[0]!;
  const { account: customer, browser } = await world.signIn("lan.nguyen@example.com");
  const staff = (await world.signIn("van.hanh@example.com")).browser;
  const factor = await staff.get("/operator/second-factor");
  const secret = secretOn(factor) ?? "";
  await staff.submit(factor, "/operator/second-factor", {
    code: codeFor(secret, world.time.nowMs()),
  });
  return {
    world,
    address,
    intake,
    customer,
    customerToken: browser.cookies.get("session") ?? "",
    operatorToken: staff.cookies.get("session") ?? "",
    async order(amountVnd) {
      const made = await createTopupOrder(world.kv, {
        accountId: customer.id,
        amountMicroVnd: fromVnd(amountVnd),
        to: receivingAccount,
        nowMs: world.time.nowMs(),
        randomBytes: (into) => crypto.getRandomValues(into),
      });
      if (!made.ok) throw new Error(made.why);
      return made.order;
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** What the seeds write to. */
export interface SeededTopups extends Pick<TopupSite, "intake" | "customer" | "order"> {
  readonly world: Pick<DashboardWorld, "kv" | "time" | "wallet"> & {
    readonly deps: Pick<DashboardWorld["deps"], "catalog">;
  };
}

/** Gives the customer credit that expires soon and some that does not; returns its campaign of codes. */
async function giveSomeCredit({ world: { kv, time }, customer }: SeededTopups): Promise<Campaign> {
  const nowMs = time.nowMs();
  const [soon, codes] = [
    await campaign(kv, { name: "Chào mừng", kind: "signup", expiresAfterDays: 5 }),
    await campaign(kv, {
      name: "Tết Nguyên đán 2027",
      gift: { kind: "amount", amountMicroVnd: fromVnd(50_000) },
      budgetMicroVnd: fromVnd(10_000_000),
      endsAtMs: nowMs + 90 * 86_400_000,
    }),
  ];
  for (const { id } of [soon, codes]) {
    const given = await give(kv, id, customer.id, { nowMs, causedAtMs: creditStartMs });
    if (!given.ok) throw new Error(given.why);
  }
  return codes;
}

/** Fills the site with examples of everything. Returns the paths to test. */
export async function seedTopups(
  site: SeededTopups,
): Promise<
  { readonly customer: Record<string, string>; readonly operator: Record<string, string> }
> {
  const { kv, time, wallet, deps } = site.world;
  const paid = await site.order(500_000);
  const at = "2026-11-20 10:00:30";
  await site.intake.take(notice(paid.code, { amountVnd: 500_000, at }), "{}");
  const invoiced = await site.order(1_000_000);
  await site.intake.take(notice(invoiced.code, { amountVnd: 1_000_000, at }), "{}");
  const made = await requestInvoice(kv, {
    accountId: site.customer.id,
    codes: [invoiced.code],
    buyer: {
      type: "company",
      taxCode: "0100233488",
      legalName: "Công ty TNHH Thương mại và Dịch vụ Một Hai Ba",
      address: "Số 1, đường Lê Lợi, phường Bến Nghé, Thành phố Hồ Chí Minh",
      email: "ke.toan@example.com",
    },
    note: "",
    rate: { percent: 8 },
    itemName: "Phí dịch vụ cổng API (trả trước)",
    nowMs: time.nowMs(),
  });
  if (!made.ok) throw new Error(made.why);
  const open = await site.order(200_000);
  const near = notice(`MBVCB.2427229823.${open.code.slice(0, 9)}0.CT tu 0123 NGUYEN VAN A`, { at });
  await site.intake.take(near, '{"id":1,"content":"…"}');
  const payer = { name: "NGUYEN VAN BINH", account: "0987654321", bank: "VCB" };
  const unnamed = notice("NGUYEN VAN B chuyen tien", { amountVnd: 350_000, at, payer });
  await site.intake.take(unnamed, "{}");
  const colleague = await createAccount(kv, { nowMs: time.nowMs(), email: "ke.toan@example.com" });
  const asked = await requestApproval(
    kv,
    {
      kind: "assign",
      amountMicroVnd: unnamed.amountMicroVnd,
      ref: unnamed,
      target: { kind: "order", code: open.code },
      reason: "Khách gọi điện, gửi ảnh chụp biên lai",
    },
    {
      operator: { accountId: colleague.id, email: "ke.toan@example.com" },
      nowMs: time.nowMs(),
      balanceOf: () => Promise.resolve(fromVnd(1_500_000)),
    },
  );
  if (!asked.ok) throw new Error(asked.why);
  const caller = await createAccount(kv, { nowMs: time.nowMs(), email: "minh.tran@example.com" });
  await topUp(kv, caller.id, fromVnd(1_000_000));
  await makeCostedCalls({
    wallet,
    catalog: deps.catalog,
    accountId: caller.id,
    keyId: newId("apiKey", time.nowMs()),
    nowMs: time.nowMs(),
    calls: 60,
  });
  const campaign = await giveSomeCredit(site);
  // Sealed with a master key that was lost.
  const lost = await readMasterKeys(newMasterKey());
  const storedKey = { name: "openai-main", secret: "sk-of-a-vendor-0123456789" };
  await addStoredKey(kv, lost, storedKey, { operator: commandLine, nowMs: time.nowMs() });
  const refused = await refuse(kv, {
    accountId: site.customer.id,
    keyId: newId("apiKey", time.nowMs()),
    atMs: time.nowMs() - 60_000,
  }, { leftOut: 1_234 });
  return {
    customer: {
      wallet: "/wallet",
      order: `/wallet/orders/${open.code}`,
      "order-paid": `/wallet/orders/${paid.code}`,
      statement: "/wallet/statement",
      invoices: "/invoices",
      "invoice-new": `/invoices/new?order=${paid.code}`,
      invoice: `/invoices/${made.invoice.id}`,
    },
    operator: {
      operator: "/operator",
      "operator-review": "/operator/review",
      "operator-notice": `/operator/notices/sepay/${near.id}`,
      "operator-bank": "/operator/bank",
      "operator-accounts": "/operator/accounts",
      "operator-account": `/operator/accounts/${site.customer.id}`,
      "operator-caller": `/operator/accounts/${caller.id}`,
      "operator-account-adjust": `/operator/accounts/${site.customer.id}/adjust`,
      "operator-account-limits": `/operator/accounts/${site.customer.id}/limits`,
      "operator-account-sign-out": `/operator/accounts/${site.customer.id}/sign-out`,
      "operator-account-block": `/operator/accounts/${site.customer.id}/block`,
      "operator-calls": "/operator/calls",
      "operator-limits": "/operator/limits",
      "operator-call": `/operator/calls/${refused.requestId}`,
      "operator-approvals": "/operator/approvals",
      "operator-approval": `/operator/approvals/${asked.approval.id}`,
      "operator-invoices": "/operator/invoices",
      "operator-invoice": `/operator/invoices/${made.invoice.id}`,
      "operator-campaigns": "/operator/campaigns",
      "operator-campaign": `/operator/campaigns/${campaign.id}`,
      "operator-service": "/operator/service",
      "operator-routes": "/operator/provider-routes",
      "operator-routes-search": "/operator/provider-routes?q=general-0",
      "operator-catalogue": "/operator/catalogue",
      "operator-catalogue-model": "/operator/catalogue/model?id=premium-1",
      "operator-catalogue-new": "/operator/catalogue/model",
      "operator-catalogue-provider": "/operator/catalogue/provider?name=sandbox",
      "operator-catalogue-settings": "/operator/catalogue/settings",
      "operator-catalogue-history": "/operator/catalogue/versions",
      "operator-catalogue-version": "/operator/catalogue/versions/1",
      "operator-provider-keys": "/operator/provider-keys",
      "operator-provider-key": `/operator/provider-keys/${storedKey.name}`,
      "operator-announcements": "/operator/announcements",
      "operator-audit": "/operator/audit",
      "operator-claims": "/operator/claims",
      "operator-margins": "/operator/margins?period=30d",
      "operator-margins-days": "/operator/margins?period=30d&by=day",
      "operator-margins-customers": "/operator/margins?by=account&sort=margin",
      "operator-sheet": "/operator/margins/sheet?provider=sandbox&invoice=12.5",
      "operator-unreadable": "/operator/review/unreadable",
    },
  };
}
