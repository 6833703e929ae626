/**
 * The operator's pages. Mounted behind the dashboard's visitor, CSRF guard and security headers.
 *
 * - Folder `routes/operator/pages/`: the operator's pages as one app; each page is in a folder below.
 * - In: requests of operators.
 * - Out: HTML, acts with their audit lines.
 * - Never: shows that it exists to an account that is not named in `GATEWAY_OPERATORS`.
 */
import type { Hono, MiddlewareHandler } from "hono";
import { type PageLink, segmentAt } from "../../dashboard/page/navigation.ts";
import { type PageDeclaration, servedPaths } from "../../dashboard/page/page.ts";
import {
  type OperatorShell,
  type Place,
  type PlacedPage,
  type PlaceName,
  placeNames,
  type ServiceFacts,
  type WaitingCounts,
} from "../../dashboard/page/places.ts";
import type { DashboardEnv } from "../../dashboard/page/visitor.ts";
import { inForce } from "../../../kv/engine/control/catalog_head.ts";
import { readBooksState } from "../../../kv/services/verify/last_verification.ts";
import { keptFor } from "../../usage_api/range.ts";
import { countWaiting, readWaiting } from "./base/waiting.ts";
import { accountsPages } from "./accounts/account_acts.tsx";
import { announcementPages } from "./service/announcements.tsx";
import { approvalPages } from "./review/approvals.tsx";
import { auditPages } from "./review/audit_log.tsx";
import { campaignPages } from "./campaigns/campaigns.tsx";
import { callPages } from "./calls/calls.tsx";
import { limitPages } from "./calls/limits.tsx";
import { cataloguePages } from "./catalogue/catalogue.tsx";
import { claimsPages } from "./claims/claims.tsx";
import type { OperatorDeps, OperatorPage } from "./base/frame.tsx";
import { createOperatorGate } from "./base/gate.tsx";
import { marginPages } from "./margins/margins_page.tsx";
import { operatorInvoicePages } from "./invoices/invoice_queue.tsx";
import { overviewPages } from "./overview/overview.tsx";
import { bankPages } from "./payments/bank.tsx";
import { providerKeyPages } from "./provider_keys/provider_keys.tsx";
import { reviewPages } from "./review/review.tsx";
import { routePages } from "./service/routes_page.tsx";
import { servicePages } from "./service/service.tsx";

/** A tab, as it is listed: its pages in their order. The label of the first one is its own unless it has another. */
interface ListedTab {
  readonly label?: Place["label"];
  readonly pages: readonly [OperatorPage, ...OperatorPage[]];
}

/** A place, as it is listed. */
interface ListedPlace extends Pick<Place, "icon" | "label"> {
  readonly tabs: readonly [ListedTab, ...ListedTab[]];
}

/** The pages by place and tab. A page that is not listed here is not served. */
const places: Readonly<Record<PlaceName, ListedPlace>> = {
  today: {
    icon: "home",
    label: { en: "Today", vi: "Hôm nay" },
    tabs: [{ pages: [overviewPages] }],
  },
  money: {
    icon: "wallet",
    label: { en: "Money", vi: "Tiền" },
    tabs: [
      { label: { en: "Bank", vi: "Ngân hàng" }, pages: [reviewPages, bankPages] },
      { pages: [approvalPages] },
      { pages: [operatorInvoicePages] },
      { pages: [campaignPages] },
      { pages: [marginPages, claimsPages] },
    ],
  },
  customers: {
    icon: "people",
    label: { en: "Customers", vi: "Khách hàng" },
    tabs: [{ pages: [accountsPages] }],
  },
  traffic: {
    icon: "usage",
    label: { en: "Traffic", vi: "Lưu lượng" },
    tabs: [{ pages: [callPages] }, { pages: [limitPages] }],
  },
  catalogue: {
    icon: "models",
    label: { en: "Catalogue", vi: "Danh mục" },
    tabs: [{ pages: [cataloguePages] }, { pages: [providerKeyPages] }],
  },
  service: {
    icon: "switches",
    label: { en: "Service", vi: "Dịch vụ" },
    tabs: [{ pages: [routePages] }, { pages: [announcementPages] }, { pages: [servicePages] }],
  },
  log: {
    icon: "list",
    label: { en: "Log", vi: "Nhật ký" },
    tabs: [{ pages: [auditPages] }],
  },
};

/** Milliseconds for which the frame's numbers are kept: less than one waits to see that nothing new came. */
const frameKeptMs = 15_000;

/** Readings of the service in the frame, as they were taken last. */
interface FrameReadings extends Pick<OperatorShell, "waiting" | "facts"> {
  /** An act makes it read again. */
  forget(): void;
}

function frameReadings(deps: OperatorDeps): FrameReadings {
  const { kv, clock, catalog } = deps;
  const keeping = { clock, keptMs: frameKeptMs, most: 1 };
  const counts = keptFor<WaitingCounts>(keeping);
  const verified = keptFor<ServiceFacts["verified"]>(keeping);
  let acts = 0;
  return {
    waiting: () => counts(String(acts), async () => countWaiting(await readWaiting(deps))),
    facts: async () => ({
      verified: await verified(String(acts), async () => (await readBooksState(kv)).verified.daily),
      catalogVersion: catalog.head === undefined
        ? undefined
        : inForce(catalog.head, clock.nowMs()).version,
    }),
    forget: () => void acts++,
  };
}

/**
 * Builds everything under `/operator`: only for accounts named in `GATEWAY_OPERATORS`, with a second factor. The gate
 * comes first and guards every page behind it.
 */
export function createOperatorPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const apps: Hono<DashboardEnv>[] = [];
  // Below `/operator` the second segment of a path decides which page it belongs to.
  const depth = 1;
  const mount = ({ link, views = [], routes }: OperatorPage): PlacedPage => {
    const app = routes(deps);
    apps.push(app);
    const segments = new Set(servedPaths(app).map((path) => segmentAt(path, depth)));
    return { links: [link, ...views], segments };
  };
  const mounted = placeNames.map((name): Place => {
    const { icon, label, tabs } = places[name];
    const mountTab = ({ label, pages }: ListedTab) => ({
      label: label ?? pages[0].link.label,
      pages: pages.map(mount),
    });
    return { name, icon, label, tabs: tabs.map(mountTab) };
  });
  const { waiting, facts, forget } = frameReadings(deps);
  const app = createOperatorGate(deps);
  const provideShell: MiddlewareHandler<DashboardEnv> = async (c, next) => {
    c.set("operatorShell", { places: mounted, depth, waiting, facts });
    if (c.req.method !== "GET") forget();
    await next();
    if (c.req.method !== "GET") forget();
  };
  app.use("/operator", provideShell);
  app.use("/operator/*", provideShell);
  for (const page of apps) app.route("/", page);
  return app;
}

/** Every entry of the operator's pages, once: a place is found by its own name and by those of its pages. */
function linksOfPlaces(): PageLink[] {
  const all = Object.values(places).flatMap(({ label, tabs }) => [
    { href: tabs[0].pages[0].link.href, label },
    ...tabs.flatMap(({ pages }) => pages.flatMap(({ link, views = [] }) => [link, ...views])),
  ]);
  const byName = new Map(all.map((link) => [`${link.href} ${link.label.en}`, link]));
  return [...byName.values()];
}

/** The operator's pages as one page of the dashboard. */
export const operatorPages: PageDeclaration<OperatorDeps> = {
  navigation: {
    href: "/operator",
    icon: "operator",
    group: "account",
    label: { en: "Operator", vi: "Vận hành" },
    operatorsOnly: true,
    within: linksOfPlaces(),
  },
  routes: createOperatorPages,
};
