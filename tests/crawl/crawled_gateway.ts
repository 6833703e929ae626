/**
 * A gateway as `main.ts` assembles it, with everything that pages can show: five weeks of calls, customers, a company of
 * five, operators, an incident, money in every state, signed days and days that are not.
 *
 * - Folder `tests/crawl/`: a walk through every page of the assembled gateway by everybody who has a role in it.
 * - In: the gateway, in process or behind a socket.
 * - Out: the pages, links and forms that were found, and what is wrong with them.
 * - Never: knows a page by its name: what is offered decides what is looked at.
 */
import { familyName } from "../../routes/dashboard/public/model/family_page.tsx";
import type { Account } from "../../kv/people/accounts/accounts.ts";
import { addBudget } from "../../kv/people/accounts/budgets.ts";
import { listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { commandLine } from "../../kv/people/audit/operator_audit.ts";
import {
  publishAnnouncement,
  updateAnnouncement,
} from "../../kv/people/operators/announcements.ts";
import { invite } from "../../kv/people/organisations/invitations.ts";
import { credit } from "../../kv/money/ledger/ledger.ts";
import { seedCatalog } from "../../kv/services/catalog/versions.ts";
import { verifyAndSign } from "../../kv/services/proofs/verify_and_sign.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { dayMs, hourMs } from "../../core/lib/time/durations.ts";
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { AccountId, ApiKeyId } from "../../core/lib/ids/ids.ts";
import { type Role, roles } from "../../core/people/organisations/acts.ts";
import { newMasterKey, readMasterKeys } from "../../core/people/api_keys/seal.ts";
import type { TestBrowser } from "../support/browser/test_browser.ts";
import { ManualTime } from "../support/manual_time.ts";
import { costedFile, makeCostedCalls } from "../support/worlds/costed_calls.ts";
import {
  type FullCompany,
  openFullCompany,
  sessionCookie,
  signUp,
} from "../support/worlds/full_company.ts";
import { askForInvoice, issued, moved, paidOrder } from "../support/worlds/invoice_requests.ts";
import { topUp } from "../support/worlds/money_world.ts";
import { operatorSession } from "../support/worlds/operated_gateway.ts";
import { refuse } from "../support/worlds/refused_calls.ts";
import {
  makeBudgets,
  makeCalls,
  makeKeys,
  makeWebhooks,
} from "../support/worlds/seeded_dashboard.ts";
import { seedTopups } from "../support/worlds/topup_site.ts";
import { notice, type TopupWorld, topupWorld } from "../support/worlds/topup_world.ts";
import { type Instance, openInstance } from "../support/worlds/two_instances.ts";

/** Who walks: a visitor, customers, each role of an organisation, operators. */
export const walkers = ["visitor", "customer", "newcomer", ...roles, "operator", "second"] as const;

/** One of them. */
export type Walker = typeof walkers[number];

export interface CrawledGateway extends AsyncDisposable {
  readonly instance: Instance;
  readonly company: FullCompany;
  readonly customer: Account;
  /** A new browser, signed in as one of them. */
  browser(walker: Walker, locale: "vi" | "en"): TestBrowser;
  /** Names that are of no language: what people and the catalogue call things. */
  readonly names: readonly string[];
  /** The cookie of the session; `undefined`: not signed in. */
  session(walker: Walker): string | undefined;
}

const operators = { operator: "van.hanh@example.com", second: "giam.sat@example.com" } as const;

/** A provider beside the sandbox, so that the gateway is one of production, and models whose output costs more. */
function productionFile() {
  const file = costedFile();
  for (const model of file.models) {
    if (!/^(?:premium-1-|mid-top-1)/.test(model.id)) continue;
    model.price = { unit: "token", vndPerMtok: 66_000, outputVndPerMtok: 330_000 };
  }
  file.providers["open-models"] = { preset: "openai", apiKeyEnv: "OPEN_MODELS_KEY" };
  return file;
}

const suppliedPage =
  "# Điều khoản\n\nMột đoạn, và [một liên kết](/status).\n\n## Mục hai\n\n- một\n- hai\n";

/** Calls of one key of an account, each of which the wallet pays. */
type SeedTarget = Parameters<typeof makeCalls>[0];

/** Orders that are open, paid, paid too little, and over. */
async function makeOrders(bank: TopupWorld, account: Account): Promise<void> {
  const { nowMs } = bank;
  for (const daysAgo of [33, 12, 5]) {
    bank.nowMs = nowMs - daysAgo * dayMs;
    await paidOrder(bank, account);
  }
  bank.nowMs = nowMs - 2 * dayMs;
  await bank.order(account, 300_000);
  bank.nowMs = nowMs - 30 * 60_000;
  const short = await bank.order(account, 1_000_000);
  await bank.intake.take(notice(short.code, { amountVnd: 990_000 }), "{}");
  await bank.order(account, 2_000_000);
  bank.nowMs = nowMs;
}

/** Requests in each state. */
async function makeInvoices(bank: TopupWorld, account: Account): Promise<void> {
  const request = async () => {
    const { code } = await paidOrder(bank, account);
    const asked = await askForInvoice(bank, account.id, [code]);
    if (!asked.ok) throw new Error(asked.why);
    return asked.invoice;
  };
  await request();
  await moved(bank, await request(), { to: "exported" });
  await moved(bank, await request(), { to: "exported" }, { to: "issued", issued });
  await moved(bank, await request(), { to: "rejected", reason: "Mã số thuế không đúng" });
}

/** A budget that is used up, and a call that it has refused. */
async function useUpBudget(
  { kv }: SeedTarget,
  accountId: AccountId,
  keyId: ApiKeyId,
  nowMs: number,
): Promise<void> {
  const input = {
    name: "Thử nghiệm",
    subject: { kind: "key", keyId },
    window: "month",
    amountVnd: 10,
    atLimit: "refuse",
  } as const;
  await addBudget(kv, accountId, input, { nowMs });
  const call = { accountId, keyId, atMs: nowMs - 3 * 60_000 };
  await refuse(kv, call, {
    code: "budget_exceeded",
    status: 402,
    message: "The budget is used up",
  });
  await refuse(kv, { ...call, atMs: nowMs - hourMs }, {
    code: "invalid_request",
    status: 400,
    message: "messages: is required",
    endpoint: "/v1/chat/completions",
  });
}

/** Everything of the customer: money, calls, keys, budgets, webhooks. */
async function seedCustomer(
  target: SeedTarget,
  bank: TopupWorld,
  { kv, gateway }: Pick<Instance, "gateway"> & Pick<SeedTarget, "kv">,
  customer: Account,
): Promise<void> {
  const nowMs = target.time.nowMs();
  await topUp(kv, customer.id, fromVnd(5_000_000));
  // In the month of the sign-up, which ended before days were signed.
  await credit(kv, {
    accountId: customer.id,
    amountMicroVnd: fromVnd(100_000),
    kind: "admin",
    operationId: "seed:early",
    reason: "Chuyển từ hệ thống cũ",
    atMs: nowMs - 75 * dayMs,
  });
  const keyIds = await makeKeys(target, customer.id);
  await makeBudgets(target, customer.id, keyIds[0]!);
  await makeCalls(target, customer.id, keyIds.slice(0, 3));
  await makeOrders(bank, customer);
  await makeInvoices(bank, customer);
  await makeWebhooks(target, customer.id);
  await useUpBudget(target, customer.id, keyIds[1]!, nowMs);
  await makeCostedCalls({
    wallet: target.wallet,
    catalog: gateway.assembled.gateway.catalog.current,
    accountId: customer.id,
    keyId: keyIds[0]!,
    nowMs: nowMs - hourMs,
    calls: 73,
  });
}

async function announce({ kv, time }: Pick<SeedTarget, "kv" | "time">): Promise<void> {
  const nowMs = time.nowMs();
  const act = { operator: commandLine, nowMs };
  const incident = {
    kind: "incident",
    title: "Trả lời chậm",
    text: "Chúng tôi đang xem.",
  } as const;
  const former = await publishAnnouncement(kv, {
    ...incident,
    startsAtMs: nowMs - 5 * dayMs,
  }, { ...act, nowMs: nowMs - 5 * dayMs });
  await updateAnnouncement(kv, former.id, { text: "Đã xong.", ends: true }, {
    ...act,
    nowMs: nowMs - 5 * dayMs + hourMs,
  });
  await publishAnnouncement(kv, { ...incident, startsAtMs: nowMs - hourMs }, act);
  await publishAnnouncement(kv, {
    kind: "maintenance",
    title: "Bảo trì kho dữ liệu",
    text: "Trong nửa giờ.",
    startsAtMs: nowMs + dayMs,
  }, act);
}

/** The five of the company, with calls and money of their own. */
async function seedCompany(target: SeedTarget, bank: TopupWorld, instance: Instance) {
  const company = await openFullCompany({ ...target, first: instance });
  const { account } = company;
  await topUp(target.kv, account.id, fromVnd(2_000_000));
  const [key] = await listApiKeys(target.kv, account.id);
  if (key === undefined) throw new Error("the company has no key");
  await makeCalls(target, account.id, [key.id]);
  await makeOrders(bank, account);
  await useUpBudget(target, account.id, key.id, target.time.nowMs());
  return company;
}

/** What the seeds have named. */
const seededNames = [
  ...["Production server", "Old laptop", "CI", "First key", "Everything", "Production"],
  ...["Search team", "Zirkonia production", "Zirkonia books", "Zirkonia all", "Zirkonia search"],
  ...["Zirkonia admin", "Zirkonia billing", "Zirkonia viewer", "Zirkonia"],
  ...["team:search", "team=search", "team:ads", "env:prod", "env=prod,team=search", "search"],
  ...["MB Bank", "English"],
];

/** The names of models, routes and providers, and those of the seeds. */
function namesIn({ models, providers }: Catalog): readonly string[] {
  return [
    ...seededNames,
    ...Object.keys(providers),
    ...models.flatMap(({ id, displayName, family, aliases, routes }) => [
      id,
      displayName,
      family,
      familyName({ family }),
      ...aliases,
      ...routes.flatMap((route) => [route.id, route.upstreamModel]),
    ]),
  ];
}

/** Opens the gateway with all its pages. */
async function openEmpty(
  baseUrl: string | undefined,
  pagesFolder: string,
): Promise<Instance & AsyncDisposable> {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.parse("2026-11-20T14:03:30+07:00"));
  await seedCatalog(kv, productionFile(), time.nowMs());
  const instance = await openInstance({
    kv,
    time,
    masterKeys: await readMasterKeys(newMasterKey()),
    file: productionFile,
    ...(baseUrl !== undefined && { baseUrl }),
    env: {
      GATEWAY_OPERATORS: Object.values(operators).join(),
      GATEWAY_SUPPORT: "ho.tro@example.com",
      GATEWAY_COMPANY: "Công ty TNHH Mẫu, MST 0100233488",
      GATEWAY_PAGES: pagesFolder,
      GATEWAY_TRIAL_ACCOUNT: "dung.thu@example.com",
      GATEWAY_TRIAL_VND_PER_DAY: "50000",
      OPEN_MODELS_KEY: "sk-of-a-vendor-0123456789",
    },
  });
  return {
    ...instance,
    async [Symbol.asyncDispose]() {
      await instance[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

/** Opens it, and makes everything. `baseUrl`: of a socket, instead of an address that nobody has. */
export async function openCrawledGateway(baseUrl?: string): Promise<CrawledGateway> {
  await using stack = new AsyncDisposableStack();
  const pagesFolder = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(pagesFolder, { recursive: true }));
  for (const name of ["terms", "privacy", "contact", "changelog"]) {
    await Deno.writeTextFile(`${pagesFolder}/${name}.md`, suppliedPage);
  }
  const instance = stack.use(await openEmpty(baseUrl, pagesFolder));
  const { gateway } = instance;
  const { kv, time, masterKeys, assembled: { gateway: { wallet, catalog } } } = gateway;
  const target: SeedTarget = { kv, time, wallet, deps: { masterKeys } };
  const bank = topupWorld(kv);
  bank.nowMs = time.nowMs();
  const join = async (email: string, createdAtMs?: number) =>
    await signUp({ kv, time, first: instance }, email, createdAtMs);
  const firstMs = time.nowMs() - 75 * dayMs;
  const { account: customer, browser } = await join("lan.nguyen@example.com", firstMs);
  await seedCustomer(target, bank, { kv, gateway }, customer);
  await seedTopups({
    world: { kv, time, wallet, deps: { catalog: catalog.current } },
    intake: bank.intake,
    customer,
    order: (amountVnd) => bank.order(customer, amountVnd),
  });
  const company = await seedCompany(target, bank, instance);
  const { account: newcomer, browser: newBrowser } = await join("moi@example.com");
  await invite(kv, company.account.id, {
    email: newcomer.email ?? "",
    role: "developer",
    inviter: "owner@zirkonia.example",
    restsOn: { personId: company.people.owner.person.id },
    locale: "vi",
    nowMs: time.nowMs(),
  });
  await announce(target);
  await wallet.indexOnce();
  const { proofs } = await verifyAndSign(kv, {
    masterKeys,
    nowMs: time.nowMs(),
    origin: instance.baseUrl,
  });
  if (proofs.signedNow.length === 0) {
    throw new Error(`no day was signed: ${proofs.problems.join()}`);
  }
  const cookie = sessionCookie(instance);
  const sessions: Partial<Record<Walker, string | undefined>> = {
    customer: browser.cookies.get(cookie),
    newcomer: newBrowser.cookies.get(cookie),
    operator: await operatorSession(gateway, operators.operator),
    second: await operatorSession(gateway, operators.second),
  };
  for (const role of roles satisfies readonly Role[]) {
    sessions[role] = company.people[role].browser.cookies.get(cookie);
  }
  const owned = stack.move();
  return {
    instance,
    company,
    customer,
    names: namesIn(gateway.assembled.gateway.catalog.current),
    session: (walker) => sessions[walker],
    browser(walker, locale) {
      const made = instance.browser();
      made.cookies.set("locale", locale);
      const token = sessions[walker];
      if (token !== undefined) made.cookies.set(cookie, token);
      return made;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
