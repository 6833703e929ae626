/**
 * Keeps what several serving threads know about routes the same: gathers what this one finds out, and merges what
 * others publish.
 *
 * What takes something out of use travels at once; what is only counted, after {@linkcode gatherMs}. Only the
 * current state of each item is sent, so that what is gathered is bounded by the routes, keys and limited customers.
 */
import type { Catalog, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Deadline, Deadlines } from "../lib/time/deadlines.ts";
import type { CustomerLimits, HealthTable, ProviderAccess } from "./health_table.ts";
import type { RouteHealth } from "./health/route_health.ts";
import type { Operation, RouteName, SharedState } from "./contract/router.ts";

/** Milliseconds for which counts are gathered: ten messages a second are no load, and breakers look back for thirty seconds. */
const gatherMs = 100;

/** Limited customers that are gathered before they are published at once. */
const maxGathered = 200;

/** Parts that a {@linkcode StateExchange} connects. */
export interface StateExchangeOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly health: HealthTable;
  readonly access: ProviderAccess;
  readonly customerLimits: CustomerLimits;
  readonly share: (states: readonly SharedState[]) => void;
  /** Another thread has counted attempts on a route. */
  readonly onEvidence: (route: Route, operation: Operation) => void;
  /** Another thread has got a false report of a route. */
  readonly onFalseReport: (route: Route) => void;
}

interface Counted {
  readonly route: Route;
  readonly operation: Operation;
}

function keyOf({ modelId, routeId }: RouteName): string {
  return `${modelId} ${routeId}`;
}

/** Sends and receives what threads know about routes. */
export class StateExchange {
  readonly #options: StateExchangeOptions;
  #names = new Map<Route, RouteName>();
  #routes = new Map<string, Route>();
  readonly #counted = new Map<RouteHealth, Counted>();
  readonly #credentials = new Map<string, Set<number>>();
  readonly #customers = new Map<Route, Set<string>>();
  #customerCount = 0;
  readonly #due: Deadline;
  #isDue = false;

  constructor(options: StateExchangeOptions) {
    this.#options = options;
    this.#due = options.deadlines.create(() => this.#flush());
    this.replaceCatalog(options.catalog);
  }

  /** Changes to the routes of another catalogue. What was gathered is published under the names it had. */
  replaceCatalog({ models }: Catalog): void {
    this.#flush();
    this.#names = new Map();
    this.#routes = new Map();
    for (const { id: modelId, routes } of models) {
      for (const route of routes) {
        const name = { modelId, routeId: route.id };
        this.#names.set(route, name);
        this.#routes.set(keyOf(name), route);
      }
    }
  }

  /** An attempt was counted. */
  counted(route: Route, operation: Operation, health: RouteHealth): void {
    if (this.#counted.has(health)) return;
    this.#counted.set(health, { route, operation });
    this.#plan(false);
  }

  /** A breaker has changed. */
  changed(route: Route, operation: Operation, health: RouteHealth): void {
    // Counts of before the change must not come after it.
    this.#flush();
    const breaker = health.shared(this.#options.clock.monotonicMs());
    this.#send([{ kind: "breaker", route: this.#nameOf(route), operation, breaker }]);
  }

  credentialChanged(provider: string, at: number, isUrgent: boolean): void {
    let places = this.#credentials.get(provider);
    if (places === undefined) this.#credentials.set(provider, places = new Set());
    places.add(at);
    this.#plan(isUrgent);
  }

  customerChanged(route: Route, customer: string, isUrgent: boolean): void {
    let customers = this.#customers.get(route);
    if (customers === undefined) this.#customers.set(route, customers = new Set());
    if (!customers.has(customer)) this.#customerCount++;
    customers.add(customer);
    this.#plan(isUrgent || this.#customerCount >= maxGathered);
  }

  falseReport(route: Route): void {
    this.#send([{ kind: "false_report", route: this.#nameOf(route) }]);
  }

  /** Merges what another thread found out. */
  merge(states: readonly SharedState[]): void {
    for (const state of states) this.#mergeOne(state);
  }

  /** All that is known, for a thread that starts. */
  all(): SharedState[] {
    const { clock, health: table, access, customerLimits } = this.#options;
    const nowMs = clock.monotonicMs();
    const states: SharedState[] = [];
    for (const { route: of, operation, health } of table.entries()) {
      const route = this.#nameOf(of);
      const breaker = health.shared(nowMs);
      if (breaker.state !== "closed") states.push({ kind: "breaker", route, operation, breaker });
      else {
        states.push({ kind: "evidence", route, operation, evidence: health.evidence(nowMs) });
      }
    }
    for (const { provider, at } of access.known(nowMs)) {
      states.push(...this.#credential(provider, at, nowMs));
    }
    for (const { route: of, customer } of customerLimits.entries()) {
      const limit = customerLimits.shared(of, customer, nowMs);
      states.push({ kind: "customer", route: this.#nameOf(of), customer, limit });
    }
    return states;
  }

  #mergeOne(state: SharedState): void {
    const { clock, health: table, access, customerLimits, onEvidence, onFalseReport } =
      this.#options;
    const nowMs = clock.monotonicMs();
    if (state.kind === "credential") {
      return access.merge(state.provider, state.at, state.credential, nowMs);
    }
    const route = this.#routes.get(keyOf(state.route));
    if (route === undefined) return;
    switch (state.kind) {
      case "breaker":
        return table.of(route, state.operation).merge(state.breaker, nowMs);
      case "evidence":
        table.of(route, state.operation).addEvidence(state.evidence, nowMs);
        if (state.evidence.well > 0) customerLimits.worked(route, undefined, nowMs);
        return onEvidence(route, state.operation);
      case "customer":
        return customerLimits.merge(route, state.customer, state.limit, nowMs);
      case "served":
        return customerLimits.served(route, state.calls, nowMs);
      case "false_report":
        return onFalseReport(route);
    }
  }

  #plan(isUrgent: boolean): void {
    if (isUrgent) return this.#flush();
    if (this.#isDue) return;
    this.#isDue = true;
    this.#due.arm(gatherMs);
  }

  #flush(): void {
    this.#isDue = false;
    this.#due.disarm();
    const { clock, customerLimits } = this.#options;
    const nowMs = clock.monotonicMs();
    const states: SharedState[] = [];
    for (const [health, { route, operation }] of this.#counted) {
      const evidence = health.takeEvidence();
      if (evidence === undefined) continue;
      states.push({ kind: "evidence", route: this.#nameOf(route), operation, evidence });
      const calls = customerLimits.takeServed(route);
      if (calls.length > 0) states.push({ kind: "served", route: this.#nameOf(route), calls });
    }
    for (const [provider, places] of this.#credentials) {
      for (const at of places) states.push(...this.#credential(provider, at, nowMs));
    }
    for (const [route, customers] of this.#customers) {
      for (const customer of customers) {
        const limit = customerLimits.shared(route, customer, nowMs);
        states.push({ kind: "customer", route: this.#nameOf(route), customer, limit });
      }
    }
    this.#counted.clear();
    this.#credentials.clear();
    this.#customers.clear();
    this.#customerCount = 0;
    this.#send(states);
  }

  #credential(provider: string, at: number, nowMs: number): SharedState[] {
    const credential = this.#options.access.shared(provider, at, nowMs);
    return credential === undefined ? [] : [{ kind: "credential", provider, at, credential }];
  }

  #nameOf(route: Route): RouteName {
    // Routes of a removed model may still end their attempts; nobody merges them.
    return this.#names.get(route) ?? { modelId: "", routeId: route.id };
  }

  #send(states: readonly SharedState[]): void {
    if (states.length > 0) this.#options.share(states);
  }
}
