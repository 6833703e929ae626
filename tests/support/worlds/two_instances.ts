/**
 * Two instances of a gateway on one store, with their pages and APIs, on one clock that the test moves. Each has its own
 * connection and its own caches, and the second one hears of nothing by itself: its timers never fire, so what it knows
 * of a change it has read for the request at hand.
 */
import { newMasterKey, readMasterKeys } from "../../../core/people/api_keys/seal.ts";
import { type Clock, systemClock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import { openStore } from "../../../kv/engine/opening/store.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { StoreLocation } from "../../../core/config/platform.ts";
import { type CustomerApp, openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { TestBrowser } from "../browser/test_browser.ts";
import {
  openTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../gateways/gateway_in_process.ts";
import { ManualTime } from "../manual_time.ts";
import { receivingAccount } from "./topup_world.ts";

export const publicUrl = "https://gw.example";

/** A page or form, or a path of the API: method and path as registered, with its parameters. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

export interface Instance {
  readonly gateway: TestGateway;
  readonly baseUrl: string;
  readonly customerApp: CustomerApp;
  /** Every page and form. */
  readonly pages: readonly Route[];
  /** A browser at this instance: a new one, or one with the cookies of another. */
  browser(other?: TestBrowser): TestBrowser;
  fetch(request: Request): Promise<Response>;
}

export interface TwoInstances extends AsyncDisposable {
  readonly kv: KeyValueStore;
  readonly time: ManualTime;
  readonly first: Instance;
  readonly second: Instance;
}

/** How much longer than in production a call of the store may take on a slow machine. */
const patience = 20;

/** The clock of a store: its calls do not become late because the test moves its own. */
const storeClock = (time: Clock): Clock => ({
  nowMs: () => time.nowMs(),
  monotonicMs: () => systemClock.monotonicMs() / patience,
});

const neverFires: Timer = { start: () => () => {} };

/** Opens one instance, assembled as the running server is. */
export async function openInstance(
  { baseUrl = publicUrl, ...options }: TestGatewayOptions & { readonly baseUrl?: string },
): Promise<Instance & AsyncDisposable> {
  const gateway = await openTestGateway({
    ...options,
    env: {
      GATEWAY_BASE_URL: baseUrl,
      GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
      GATEWAY_VAT_RATES: "2025-07-01=8",
      ...options.env,
    },
  });
  const { assembled: { gateway: parts }, masterKeys } = gateway;
  const customerApp = openCustomerApp(parts, { masterKeys, baseUrl, write: () => {} });
  const app = createApp(parts, { stopping: () => false, customerApp });
  const fetch = async (request: Request) =>
    await app.fetch(request, { clientAddress: "203.0.113.5" });
  const { routes } = await customerApp.dashboard(() => Response.json({}, { status: 404 }));
  return {
    gateway,
    baseUrl,
    customerApp,
    pages: routes.filter(({ method }) => method !== "ALL"),
    fetch,
    browser(other) {
      const browser = new TestBrowser(fetch, baseUrl);
      for (const [name, value] of other?.cookies ?? []) browser.cookies.set(name, value);
      return browser;
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

/**
 * Opens two instances.
 *
 * @param location the store, to which each instance opens a connection; in memory, they share the store itself
 */
export async function openTwoInstances(location: StoreLocation): Promise<TwoInstances> {
  await using stack = new AsyncDisposableStack();
  const time = new ManualTime(Date.parse("2026-11-20T14:03:30+07:00"));
  const masterKeys = await readMasterKeys(newMasterKey());
  const open = async () => {
    const opened = await openStore(location, storeClock(time));
    if (!opened.ok) throw new Error(JSON.stringify(opened));
    return stack.use(opened.store).kv;
  };
  const kv = await open();
  const other = location.kind === "memory" ? kv : await open();
  const first = stack.use(await openInstance({ kv, masterKeys, time }));
  const second = stack.use(
    await openInstance({ kv: other, masterKeys, time, timer: neverFires }),
  );
  const owned = stack.move();
  return { kv, time, first, second, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
