/** Reads what waits for an operator: for the page of today, and for the numbers beside the places. */
import { type Underpriced, underpricedRoutes } from "../../../../core/catalog/underpriced.ts";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { maxCounted, type PlaceName, type WaitingCounts } from "../../../dashboard/page/places.ts";
import { pageOfInvoices } from "../../../../kv/money/invoices/invoices.ts";
import {
  listReviews,
  listUnmatched,
  listUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { bankMatchLateMs } from "../../../../kv/money/payments/topup_checks.ts";
import { listApprovals } from "../../../../kv/services/operations/approvals.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { OperatorDeps } from "./frame.tsx";
import { noticePath } from "./notice_views.tsx";

/** Things that can wait, the most urgent first, with the place where each is dealt with. */
const placeOf = {
  reviews: "money",
  unmatched: "money",
  unreadable: "money",
  approvals: "money",
  catalogue_refused: "catalogue",
  underpriced: "catalogue",
  routes: "service",
  invoices: "money",
} as const satisfies Readonly<Record<string, PlaceName>>;

/** A kind of work that waits. */
export type WaitingKind = keyof typeof placeOf;

/** Kinds that say that something is wrong, not only that somebody waits. */
const wrongKinds: ReadonlySet<WaitingKind> = new Set<WaitingKind>([
  "unreadable",
  "catalogue_refused",
  "underpriced",
  "routes",
]);

/** Everything of one kind that waits. */
export interface Waiting {
  readonly kind: WaitingKind;
  /** At most {@linkcode maxCounted}. */
  readonly count: number;
  /** Address where it is dealt with: the one thing itself, or the list. */
  readonly href: string;
  readonly isWrong: boolean;
  /** Subject in words of whoever caused it; of several, the names of some. */
  readonly about: string;
  /** Since when the oldest waits; absent where nobody noted it. */
  readonly sinceMs?: number;
  readonly sumMicroVnd?: bigint;
}

/** One thing that waits. */
interface Item {
  readonly href: string;
  readonly about: string;
  readonly sinceMs?: number | undefined;
  readonly sumMicroVnd?: bigint | undefined;
}

/** Names of things that a line of several shows. */
const namesShown = 3;

function joined(kind: WaitingKind, listHref: string, items: readonly Item[]): Waiting[] {
  const [only] = items;
  if (only === undefined) return [];
  const times = items.flatMap(({ sinceMs }) => sinceMs === undefined ? [] : [sinceMs]);
  const sums = items.flatMap(({ sumMicroVnd }) => sumMicroVnd === undefined ? [] : [sumMicroVnd]);
  const names = [...new Set(items.map(({ about }) => about).filter((about) => about !== ""))];
  return [{
    kind,
    count: items.length,
    href: items.length === 1 ? only.href : listHref,
    isWrong: wrongKinds.has(kind),
    about: names.slice(0, namesShown).join(", ") + (names.length > namesShown ? " …" : ""),
    ...defined({
      sinceMs: times.length === 0 ? undefined : Math.min(...times),
      sumMicroVnd: sums.length === 0 ? undefined : sums.reduce((sum, one) => sum + one, 0n),
    }),
  }];
}

/** The routes that a fault, a missing key or an operator has taken out of use. */
function routesDown(deps: Pick<OperatorDeps, "routes">): RouteReport[] {
  return deps.routes().filter(({ switched, operations, credentials: { count, reasons } }) =>
    switched !== undefined || Object.values(operations).some(({ state }) => state === "open") ||
    (count === 0 && reasons.length > 0)
  );
}

/** The routes that charge more than customers pay; none where no costs are configured. */
function underpricedNow({ catalog: { current } }: Pick<OperatorDeps, "catalog">) {
  return current.hasCosts ? underpricedRoutes(current) : [];
}

const routeItem = ({ model, route }: RouteReport): Item => ({
  href: `/operator/provider-routes?${new URLSearchParams({ state: "trouble", q: route.id })}`,
  about: `${model}: ${route.id}`,
});

const priceItem = ({ model, route }: Underpriced): Item => ({
  href: `/operator/catalogue/model?${new URLSearchParams({ id: model })}`,
  about: `${model}: ${route}`,
});

async function moneyWaiting({ kv, clock }: OperatorDeps) {
  const [reviews, unreadable, unmatched, approvals, requested, exported] = await Promise.all([
    listReviews(kv, maxCounted),
    listUnreadable(kv),
    listUnmatched(kv, maxCounted),
    listApprovals(kv, maxCounted),
    pageOfInvoices(kv, { count: maxCounted, state: "requested" }),
    pageOfInvoices(kv, { count: maxCounted, state: "exported" }),
  ]);
  const lateBefore = clock.nowMs() - bankMatchLateMs;
  return {
    reviews: reviews.map(({ event, receivedAtMs }): Item => ({
      href: noticePath(event),
      about: event.memo,
      sinceMs: receivedAtMs,
      sumMicroVnd: event.amountMicroVnd,
    })),
    unreadable: unreadable.map(({ source, reason, receivedAtMs }): Item => ({
      href: "/operator/review/unreadable",
      about: `${source}: ${reason}`,
      sinceMs: receivedAtMs,
    })),
    unmatched: unmatched.filter(({ receivedAtMs }) => receivedAtMs < lateBefore)
      .map(({ ref, receivedAtMs }): Item => ({
        href: noticePath(ref),
        about: `${ref.source}:${ref.id}`,
        sinceMs: receivedAtMs,
      })),
    approvals: approvals.filter(({ state }) => state === "pending")
      .map(({ id, act, requestedBy, requestedAtMs }): Item => ({
        href: `/operator/approvals/${id}`,
        about: `${requestedBy.email}: ${act.reason}`,
        sinceMs: requestedAtMs,
        sumMicroVnd: act.amountMicroVnd,
      })),
    invoices: [...requested.invoices, ...exported.invoices]
      .map(({ id, buyer, requestedAtMs, grossVnd }): Item => ({
        href: `/operator/invoices/${id}`,
        about: buyer.legalName,
        sinceMs: requestedAtMs,
        sumMicroVnd: grossVnd * microVndPerVnd,
      })),
  };
}

/** Reads what waits, the most urgent kinds first. */
export async function readWaiting(deps: OperatorDeps): Promise<Waiting[]> {
  const money = await moneyWaiting(deps);
  const { refused } = deps.catalog;
  return [
    ...joined("reviews", "/operator/review", money.reviews),
    ...joined("unmatched", "/operator/bank", money.unmatched),
    ...joined("unreadable", "/operator/review/unreadable", money.unreadable),
    ...joined("approvals", "/operator/approvals", money.approvals),
    ...joined(
      "catalogue_refused",
      "/operator/catalogue",
      refused === undefined ? [] : [{ href: "/operator/catalogue", about: "" }],
    ),
    ...joined("underpriced", "/operator/catalogue", underpricedNow(deps).map(priceItem)),
    ...joined("routes", "/operator/provider-routes?state=trouble", routesDown(deps).map(routeItem)),
    ...joined("invoices", "/operator/invoices", money.invoices),
  ];
}

/** Counts what waits by place; today has all of it. */
export function countWaiting(waiting: readonly Waiting[]): WaitingCounts {
  const counts = new Map<PlaceName, { count: number; tone: "busy" | "bad" }>();
  for (const { kind, count, isWrong } of waiting) {
    for (const place of ["today", placeOf[kind]] as const) {
      const known = counts.get(place) ?? { count: 0, tone: "busy" };
      const tone = isWrong && place !== "today" ? "bad" : known.tone;
      counts.set(place, { count: known.count + count, tone });
    }
  }
  return counts;
}
