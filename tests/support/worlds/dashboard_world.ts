/** A dashboard on a store in memory, with fixed time and a readable mailbox. */
import { Hono } from "hono";
import { buildCatalog, type Catalog } from "../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../core/catalog/schema.ts";
import type { Mail } from "../../../core/people/mail/mail.ts";
import { parseId, type RequestId } from "../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { topupSettings } from "./topup_settings.ts";
import { runDue } from "../../../kv/engine/outbox/outbox_worker.ts";
import { openKeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import { openWalletEngine, type WalletEngine } from "../../../kv/money/wallet/mod.ts";
import { createPasswordHasher, type PasswordHasher } from "../../../routes/auth/password_hash.ts";
import { createDashboard, type DashboardDeps } from "../../../routes/dashboard/mod.ts";
import { mailWork } from "../../../routes/mail/send_mail.ts";
import { ManualTime } from "../manual_time.ts";
import { TestBrowser } from "../browser/test_browser.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { mountDashboard } from "../../../routes/dashboard/visitor/mounting.ts";
import type { MountedPage } from "../../../routes/dashboard/page/page.ts";
import type { TopupSettings } from "../../../core/trade/settings/settings.ts";
import type { OwnKeyVerdict } from "../../../routes/acts/own_keys.ts";

export interface DashboardWorld extends AsyncDisposable {
  readonly kv: KeyValueStore;
  readonly time: ManualTime;
  readonly wallet: WalletEngine;
  readonly deps: DashboardDeps;
  readonly baseUrl: string;
  /** Mails that were sent, oldest first. */
  readonly mails: Mail[];
  /** What was logged. */
  readonly reports: string[];
  /** Every page and form: method and path as registered, with its parameters. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  fetch(request: Request): Promise<Response>;
  /** A new browser with no cookies, at `address` or at the world's own. */
  browser(headers?: Record<string, string>, address?: string): TestBrowser;
  /** Sends what is due and returns the mails of this run. */
  deliver(): Promise<Mail[]>;
  /** Makes an account and signs a new browser in as it. */
  signIn(email?: string): Promise<{ browser: TestBrowser; account: Account }>;
}

export interface DashboardWorldOptions {
  readonly baseUrl?: string;
  readonly providers?: DashboardDeps["providers"];
  readonly companySignIn?: DashboardDeps["companySignIn"];
  readonly dispatch?: DashboardDeps["dispatch"];
  readonly passwords?: PasswordHasher;
  readonly operators?: readonly string[];
  readonly clientAddress?: string;
  readonly support?: DashboardDeps["support"];
  readonly brand?: DashboardDeps["brand"];
  readonly offers?: DashboardDeps["offers"];
  readonly sandbox?: boolean;
  readonly openingCredit?: DashboardDeps["openingCredit"];
  /** Pages of others. */
  readonly more?: (deps: DashboardDeps) => MountedPage[];
  readonly topup?: TopupSettings;
  /** Whether a host has a private address; default: none has. */
  readonly hasPrivateAddress?: DashboardDeps["webhooks"]["hasPrivateAddress"];
  /** Other than that of a fresh install. */
  readonly catalog?: Catalog;
  readonly rates?: DashboardDeps["rates"];
}

export const testPassword = "correct horse battery";

/** Providers and name servers of organisations, none of which answers: their pages are there. */
export const noNetwork: NonNullable<DashboardDeps["companySignIn"]> = {
  fetch: () => Promise.reject(new TypeError("There is no network")),
  resolveTxt: () => Promise.resolve([]),
};

/** The cheapest cost that is still scrypt: pages are tested, not the hash. */
const cheapCost = { logN: 1, r: 1, p: 1 };

/** Answers as a provider would that refuses some keys, and says nothing of others. */
export const fakeKeyCheck = (_provider: string, secret: string): Promise<OwnKeyVerdict> =>
  Promise.resolve(
    secret.startsWith("bad") ? "refused" : secret.startsWith("odd") ? "unknown" : "accepted",
  );

/** The catalogue of a fresh install. */
export async function defaultCatalog(): Promise<Catalog> {
  const text = await Deno.readTextFile(new URL("../../../gateway.json", import.meta.url));
  const built = buildCatalog(gatewayFileSchema.parse(JSON.parse(text)));
  if (!built.ok) throw new Error(built.problems.join("\n"));
  return built.catalog;
}

export async function openDashboardWorld(
  options: DashboardWorldOptions = {},
): Promise<DashboardWorld> {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 20, 3));
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const baseUrl = options.baseUrl ?? "https://gw.example";
  const passwords = options.passwords ?? createPasswordHasher(cheapCost);
  const reports: string[] = [];
  const deps: DashboardDeps = {
    kv,
    clock: time,
    baseUrl,
    operators: options.operators ?? [],
    sandbox: options.sandbox ?? false,
    offers: options.offers ?? { bankTransfer: true, invoices: true },
    support: options.support,
    brand: options.brand,
    openingCredit: options.openingCredit,
    passwords,
    providers: options.providers,
    companySignIn: options.companySignIn,
    hintMail: () => {},
    report: (what) => void reports.push(what),
    wallet,
    masterKeys: await readMasterKeys(newMasterKey()),
    control: { refresh: () => Promise.resolve() },
    catalog: options.catalog ?? { ...await defaultCatalog(), ownKeyFee: 500 },
    checkOwnKey: fakeKeyCheck,
    topup: options.topup ?? topupSettings(),
    rates: options.rates,
    budgets: openKeyLimitBook({ kv, clock: time, kindOf: () => "chat" }),
    webhooks: {
      isLocalAllowed: false,
      hasPrivateAddress: options.hasPrivateAddress ?? (() => Promise.resolve(false)),
      hintDelivery: () => {},
    },
    dispatch: options.dispatch ?? (() => Response.json({}, { status: 404 })),
  };
  const app = new Hono<{ Bindings: { clientAddress: string } }>();
  app.get("/v1/models", (c) => c.json({ object: "list" }));
  const dashboard = createDashboard(deps, options.more?.(deps));
  mountDashboard(app, () => Promise.resolve(dashboard));
  app.notFound((c) => c.json({ type: "error", error: { type: "not_found_error" } }, 404));

  const mails: Mail[] = [];
  const mailer = {
    send: (mail: Mail) => {
      mails.push(mail);
      return Promise.resolve();
    },
  };
  const fetchFrom = (clientAddress: string) => async (request: Request) =>
    await app.fetch(request, { clientAddress });
  const ownAddress = options.clientAddress ?? "203.0.113.5";
  const fetch = fetchFrom(ownAddress);
  const browser = (headers?: Record<string, string>, address = ownAddress) =>
    new TestBrowser(fetchFrom(address), baseUrl, headers);

  return {
    kv,
    time,
    wallet,
    deps,
    baseUrl,
    mails,
    reports,
    routes: dashboard.routes.filter(({ method }) => method !== "ALL"),
    fetch,
    browser,
    async deliver() {
      const before = mails.length;
      const world = { kv, clock: time, random: () => 0 };
      await runDue(
        world,
        mailWork({ kv, clock: time, mailer, masterKeys: deps.masterKeys, baseUrl }),
      );
      return mails.slice(before);
    },
    async signIn(email = "ann@example.com") {
      const account = await createAccount(kv, {
        nowMs: time.nowMs(),
        email,
        passwordHash: await passwords.hash(testPassword),
      });
      const signedIn = browser();
      const page = await signedIn.get("/sign-in");
      const done = await signedIn.submit(page, "/sign-in", { email, password: testPassword });
      if (done.status !== 303) throw new Error(`Cannot sign in: ${done.status}`);
      return { browser: signedIn, account };
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      kv.close();
    },
  };
}

/** The token in the link of a mail. */
export function tokenOf(mail: Mail | undefined): string {
  const token = /#token=([\w-]+)/.exec(mail?.text ?? "")?.[1];
  if (token === undefined) throw new Error(`There is no token in the mail: ${mail?.subject}`);
  return token;
}

let requests = 0;

/** An id as a request of that moment would have had; `newId` never goes back in time. */
export function requestIdAt(atMs: number): RequestId {
  const time = atMs.toString(36).padStart(9, "0");
  const id = parseId("request", `req_${time}${(requests++).toString(36).padStart(16, "0")}`);
  if (id === undefined) throw new Error("not an id");
  return id;
}
