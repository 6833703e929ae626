/** Rate limits of providers that single customers met: such a customer rests on the route, the route does not. */
import type { Route } from "../../catalog/catalog.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { LimitedCustomers, type SharedLimit } from "../health/limited_customers.ts";

/** Called with a customer of whom something was learned; urgent if a rest begins. */
type OnChange = (route: Route, customer: string, isUrgent: boolean) => void;

/** The limited customers of all routes. Bounded by the routes of the catalog. */
export class CustomerLimits {
  readonly #limited = new Map<Route, LimitedCustomers>();
  readonly #onChange: OnChange;

  constructor(onChange: OnChange = () => {}) {
    this.#onChange = onChange;
  }

  /**
   * While a customer rests on a route that limited it: what is left of the time that the provider asked for; 0 if it does
   * not rest.
   */
  restMs(route: Route, customer: string | undefined, nowMs: number): number {
    const limited = customer === undefined ? undefined : this.#limited.get(route);
    if (limited === undefined || customer === undefined) return 0;
    const restMs = limited.restMs(customer, nowMs);
    return restMs === 0
      ? limited.paceMs(customer, nowMs)
      : Math.max(restMs, limited.askedMs(customer, nowMs));
  }

  /** A call of a customer may go to a route. */
  began(route: Route, customer: string, nowMs: number): void {
    this.#limited.get(route)?.began(customer, nowMs);
  }

  /** Counts a refused call; returns whether, as far as is known, the limit is only one customer's. */
  refused(
    route: Route,
    refused: string,
    { retryAfterSeconds }: GatewayError,
    nowMs: number,
  ): boolean {
    const limited = this.#of(route);
    const customer = limited.blamed(refused, nowMs);
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    const rested = limited.restMs(customer, nowMs) > 0;
    const isEvidence = limited.refused(customer, askedMs, nowMs);
    this.#onChange(route, customer, !rested);
    return !isEvidence;
  }

  /**
   * Counts a refusal that the customer's own request may have caused; returns whether, as far as is known, only this
   * customer meets it on the route.
   */
  disputed(route: Route, customer: string, nowMs: number): boolean {
    return !this.#of(route).disputed(customer, nowMs);
  }

  /** Whether a call of the customer should try other routes first: see {@linkcode CustomerLimits.disputed}. */
  isDisputed(route: Route, customer: string | undefined, nowMs: number): boolean {
    return customer !== undefined &&
      (this.#limited.get(route)?.isDisputed(customer, nowMs) ?? false);
  }

  /** A call worked on a route. */
  worked(route: Route, customer: string | undefined, nowMs: number): void {
    const wasLimited = this.#limited.get(route)?.worked(customer, nowMs) ?? false;
    if (wasLimited && customer !== undefined) this.#onChange(route, customer, false);
  }

  /** See {@linkcode LimitedCustomers.takeServed}. */
  takeServed(route: Route): readonly (readonly [customer: string, calls: number])[] {
    return this.#limited.get(route)?.takeServed() ?? [];
  }

  /** Counts calls that another thread served while the route was limited. */
  served(
    route: Route,
    calls: readonly (readonly [customer: string, calls: number])[],
    nowMs: number,
  ): void {
    const limited = this.#of(route);
    for (const [customer, count] of calls) limited.served(customer, count, nowMs);
  }

  /** Forgets routes that are no longer configured. */
  keepOnly(routes: ReadonlySet<Route>): void {
    for (const route of this.#limited.keys()) if (!routes.has(route)) this.#limited.delete(route);
  }

  /** All that are remembered. */
  *entries(): Iterable<{ route: Route; customer: string }> {
    for (const [route, limited] of this.#limited) {
      for (const customer of limited.customers()) yield { route, customer };
    }
  }

  /** See {@linkcode LimitedCustomers.shared}. */
  shared(route: Route, customer: string, nowMs: number): SharedLimit | undefined {
    return this.#limited.get(route)?.shared(customer, nowMs);
  }

  /** Merges what another thread knows; `undefined`: the customer is limited no more. */
  merge(route: Route, customer: string, shared: SharedLimit | undefined, nowMs: number): void {
    if (shared === undefined) this.#limited.get(route)?.worked(customer, nowMs);
    else this.#of(route).merge(customer, shared, nowMs);
  }

  #of(route: Route): LimitedCustomers {
    let limited = this.#limited.get(route);
    if (limited === undefined) this.#limited.set(route, limited = new LimitedCustomers());
    return limited;
  }
}
