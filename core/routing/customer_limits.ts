/** Rate limits of providers that single customers met: such a customer rests on the route, the route does not. */
import type { Route } from "../catalog/catalog.ts";
import type { GatewayError } from "../errors.ts";
import { LimitedCustomers } from "./limited_customers.ts";

/** The limited customers of all routes. Bounded by the routes of the catalog. */
export class CustomerLimits {
  readonly #limited = new Map<Route, LimitedCustomers>();

  /**
   * While a customer rests on a route that limited it: what is left of the time that the provider asked for; 0 if it does
   * not rest.
   */
  restMs(route: Route, customer: string | undefined, nowMs: number): number {
    const limited = customer === undefined ? undefined : this.#limited.get(route);
    if (limited === undefined || customer === undefined) return 0;
    const restMs = limited.restMs(customer, nowMs);
    return restMs === 0 ? 0 : Math.max(restMs, limited.askedMs(customer, nowMs));
  }

  /** Counts a refused call; returns whether, as far as is known, the limit is only this customer's. */
  refused(
    route: Route,
    customer: string,
    { retryAfterSeconds }: GatewayError,
    nowMs: number,
  ): boolean {
    let limited = this.#limited.get(route);
    if (limited === undefined) this.#limited.set(route, limited = new LimitedCustomers());
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    return !limited.refused(customer, askedMs, nowMs);
  }

  /** A call worked on a route. */
  worked(route: Route, customer: string | undefined, nowMs: number): void {
    this.#limited.get(route)?.worked(customer, nowMs);
  }
}
