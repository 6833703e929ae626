/**
 * The router of a running gateway: orders routes by health, speed, region and the operator's switches, and learns from
 * every attempt.
 *
 * It combines the parts of this folder: {@linkcode HealthTable} (breakers, speed, stuck routes), {@linkcode
 * ProviderAccess} (credentials), {@linkcode CustomerLimits} (rate limits of single customers), {@linkcode Hedging} and
 * {@linkcode UsualTimes} (when a second route starts), {@linkcode RecentCalls} (the public status). Clock and random
 * numbers are injected, so tests and simulations decide them.
 *
 * - Folder `core/routing/`: the order of routes: affinity, hedging, credentials, timeouts, and what threads tell each
 *   other of it.
 * - In: outcomes of attempts, switches of the operator, a clock and a source of random numbers.
 * - Out: routes in their order, each with a transport and a credential; the status of models; an error if no route is
 *   left.
 * - Never: sends a request to a provider, or reads the store.
 */
import { type AttemptResult, type Hedge, isRouteFault } from "../calls/attempts/attempt_loop.ts";
import { OperatorRefusal } from "../wire/errors/provider_error.ts";
import type { RouteAccess } from "../calls/exchange/chat_call.ts";
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import type { GatewayError } from "../lib/errors/errors.ts";
import type { BreakerState } from "./health/breaker.ts";
import { type Choice, formerFirst, orderRoutes } from "./choose.ts";
import { CustomerLimits } from "./contract/customer_limits.ts";
import { FalseReports } from "./health/false_reports.ts";
import { HealthTable, routeReports } from "./health_table.ts";
import { Hedging, probeHedgeMs } from "./timeouts.ts";
import { ProviderAccess, type ProviderAccessOptions } from "./provider_access.ts";
import { RecentCalls } from "./health/recent_calls.ts";
import type { HealthSample, RouteHealth } from "./health/route_health.ts";
import type {
  CallLoad,
  KeyPreference,
  ModelStatus,
  Operation,
  RouteEvent,
  RouteQuery,
  Router,
  RouteReport,
  RouterOfThreads,
  SharedState,
  TokenAnswer,
  WantedToken,
} from "./contract/router.ts";
import { StateExchange } from "./state_exchange.ts";
import { UsualTimes } from "./usual_times.ts";

/** What the router needs of the running gateway. */
export interface LiveRouterOptions extends ProviderAccessOptions {
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly region: string | undefined;
  /** Milliseconds that a connection to a provider takes to open, by its name; `undefined` if never measured. */
  readonly connectMsOf?: (provider: string) => number | undefined;
  /** The operator's switch of a route, by its id. */
  readonly switchOf: (routeId: string) => RouteReport["switched"];
  readonly onEvent: (event: RouteEvent) => void;
  /** Called when a provider refused an attempt for a reason between it and the operator, with its status. */
  readonly onRefusal?: (provider: string, status: number) => void;
  /** Tells the other threads of this process what was found out; absent where one serves alone. */
  readonly share?: ((states: readonly SharedState[]) => void) | undefined;
  /** Whether this thread judges routes by what others tell, and tells them: one of all. */
  readonly isJudge?: boolean;
}

/**
 * An `internal_error` is a defect of ours, and some failures depend on the request: one strange request must not take
 * routes out for everybody.
 */
function harmsHealth(error: GatewayError): boolean {
  return isRouteFault(error) && error.marks !== "nothing" && error.code !== "internal_error";
}

/** Shown to operators as the reason why a route rests. */
const falseReportReason = "false_reports";

/** Milliseconds after which a due probe is overdue: by then the route's own traffic could have been the probe. */
const overdueProbeMs = 30_000;

/** Orders the routes of each call by their health and learns from each attempt. */
export class LiveRouter implements Router, RouterOfThreads {
  readonly #options: LiveRouterOptions;
  #catalog: Catalog;
  readonly #access: ProviderAccess;
  readonly #health = new HealthTable();
  readonly #hedging = new Hedging();
  readonly #usualTimes = new UsualTimes();
  readonly #customerLimits = new CustomerLimits((route, customer, isUrgent) =>
    this.#exchange?.customerChanged(route, customer, isUrgent)
  );
  readonly #recentCalls = new Map<string, RecentCalls>();
  readonly #falseReports = new Map<Route, FalseReports>();
  readonly #exchange: StateExchange | undefined;

  constructor(options: LiveRouterOptions) {
    this.#options = options;
    this.#catalog = options.catalog;
    this.#access = new ProviderAccess(
      options,
      (provider, at, isUrgent) => this.#exchange?.credentialChanged(provider, at, isUrgent),
    );
    const { share } = options;
    this.#exchange = share && new StateExchange({
      ...options,
      share,
      health: this.#health,
      access: this.#access,
      customerLimits: this.#customerLimits,
      onEvidence: (route, operation) => this.#review(route, operation),
      onFalseReport: (route) => this.#countFalseReport(route, options.isJudge ?? false),
    });
  }

  /**
   * Changes to another catalogue. Routes that kept their objects keep what is known of them; calls that began before
   * finish on the routes that they have.
   */
  replaceCatalog(next: Pick<LiveRouterOptions, "catalog" | "providerKeys">): void {
    const { models } = this.#catalog = next.catalog;
    this.#exchange?.replaceCatalog(next.catalog);
    this.#access.replaceCatalog(next);
    const routes = new Set(models.flatMap((model) => model.routes));
    const modelIds = new Set(models.map(({ id }) => id));
    this.#health.keepOnly(routes);
    this.#customerLimits.keepOnly(routes);
    this.#hedging.keepOnly(modelIds);
    this.#usualTimes.keepOnly(routes, modelIds);
    for (const route of this.#falseReports.keys()) {
      if (!routes.has(route)) this.#falseReports.delete(route);
    }
    for (const id of this.#recentCalls.keys()) {
      if (!modelIds.has(id)) this.#recentCalls.delete(id);
    }
  }

  /** Whether calls may go to a route: no operator took it out, and its provider has the keys that it needs. */
  #isInService(route: Route): boolean {
    return this.#options.switchOf(route.id) === undefined && !this.#access.isUnconfigured(route);
  }

  candidates(model: Model, wanted: RouteQuery): readonly Route[] {
    const nowMs = this.#options.clock.monotonicMs();
    const ordered = this.#ordered(model, wanted, nowMs);
    const [first] = ordered;
    if (first !== undefined && wanted.customer !== undefined) {
      this.#customerLimits.began(first, wanted.customer, nowMs);
    }
    return ordered;
  }

  #ordered(model: Model, wanted: RouteQuery, nowMs: number): readonly Route[] {
    const { region, random, connectMsOf } = this.#options;
    const open: Choice[] = [];
    // Routes that hang, or refused this customer.
    const last: Choice[] = [];
    let soonest: { route: Route; health: RouteHealth } | undefined;
    for (const route of model.routes) {
      if (!this.#isInService(route)) continue;
      if (this.#customerLimits.restMs(route, wanted.customer, nowMs) > 0) continue;
      const health = this.#health.of(route, wanted.operation);
      const availability = health.availability(nowMs);
      if (availability !== "no") {
        const choice = {
          route,
          firstOutputMs: health.firstOutputMs(nowMs),
          inFlight: health.inFlight,
          connectMs: region === undefined ? undefined : connectMsOf?.(route.provider),
        };
        // A due probe may go to a stuck route: the breaker decides about probes.
        const waits = availability === "yes" && (health.isStuck(nowMs) ||
          this.#customerLimits.isDisputed(route, wanted.customer, nowMs));
        (waits ? last : open).push(choice);
      } else if (soonest === undefined || health.nextProbeMs < soonest.health.nextProbeMs) {
        soonest = { route, health };
      }
    }
    const order = { style: wanted.style, region, random };
    const ordered = [...orderRoutes(open, order), ...orderRoutes(last, order)];
    // One last attempt is better than a certain refusal, unless the provider itself asked for the pause; and a second
    // route than none beside one that may hang.
    const takesLast = ordered.length === 0 || wanted.operation !== "chat_stream";
    if (takesLast && soonest !== undefined && !soonest.health.pauseWasAsked) {
      ordered.push(soonest.route);
    }
    const overdue = this.#overdueProbe(ordered, wanted, nowMs);
    if (overdue !== undefined) return [overdue, ...ordered.filter((route) => route !== overdue)];
    if (wanted.former === undefined || ordered.length < 2) return ordered;
    const mayLead = (route: Route) =>
      open.some((choice) => choice.route === route) &&
      this.#health.of(route, wanted.operation).availability(nowMs) === "yes";
    return formerFirst(ordered, wanted.former, mayLead);
  }

  /**
   * Finds a route whose probe is long overdue because calls never get that far down the order. The first message of a
   * conversation probes it, and only a chat stream, which gets a second route beside the probe.
   */
  #overdueProbe(
    ordered: readonly Route[],
    { operation, former }: RouteQuery,
    nowMs: number,
  ): Route | undefined {
    if (operation !== "chat_stream" || former !== undefined) return undefined;
    return ordered.slice(1).find((route) => {
      const health = this.#health.of(route, operation);
      return health.availability(nowMs) === "probe" &&
        nowMs - health.nextProbeMs >= overdueProbeMs;
    });
  }

  begin(route: Route, operation: Operation, preferred?: KeyPreference): RouteAccess {
    this.#health.of(route, operation).begin(this.#options.clock.monotonicMs());
    return this.#access.of(route, { preferred });
  }

  access(route: Route, pinned?: string): RouteAccess {
    return this.#access.of(route, { pinned });
  }

  /**
   * Whether a failure is a rate limit, or a refusal that a request may have caused, that only its own customer met, as
   * far as is known.
   */
  #isCustomersOwn(route: Route, error: GatewayError, customer: string | undefined): boolean {
    if (customer === undefined) return false;
    const nowMs = this.#options.clock.monotonicMs();
    if (error.marks === "several") return this.#customerLimits.disputed(route, customer, nowMs);
    if (error.code !== "rate_limit_exceeded") return false;
    // With another key left, the limit is that key's: neither the customer nor the route rests.
    if (this.#access.hasFreshKey(route, nowMs)) return true;
    return this.#customerLimits.refused(route, customer, error, nowMs);
  }

  report(
    model: Model,
    route: Route,
    operation: Operation,
    result: AttemptResult,
    customer?: string,
    load?: CallLoad,
  ): void {
    const { clock, random } = this.#options;
    const health = this.#health.of(route, operation);
    const nowMs = clock.monotonicMs();
    const startedMs = nowMs - result.ms;
    switch (result.kind) {
      case "stopped":
        return health.forget(startedMs);
      case "beaten":
        if (load !== undefined) this.#usualTimes.beaten(route, load, result.ms);
        // Counted as if it had answered now. Without it, the p95 would fall with every hedge, and hedges would multiply.
        else this.#hedging.measured(model, result.ms);
        return this.#announce(
          route,
          operation,
          health.beaten(nowMs, random(), startedMs, result.silent),
        );
      case "failed": {
        if (result.error instanceof OperatorRefusal) {
          this.#options.onRefusal?.(route.provider, result.error.providerStatus);
        }
        if (
          !harmsHealth(result.error) || this.#isCustomersOwn(route, result.error, customer)
        ) {
          return health.forget(startedMs);
        }
        const sample = this.#failedSample(route, result.error);
        const changed = health.end(sample, nowMs, random(), startedMs);
        return this.#announce(route, operation, changed);
      }
      case "ok": {
        if (load !== undefined) this.#usualTimes.answered(model, route, load, result.ms);
        else if (operation === "chat_stream") this.#hedging.measured(model, result.ms);
        this.#customerLimits.worked(route, customer, nowMs);
        const sample = { ok: true, firstOutputMs: result.ms } as const;
        const changed = health.end(sample, nowMs, random(), startedMs);
        return this.#announce(route, operation, changed);
      }
    }
  }

  #announce(route: Route, operation: Operation, changed: BreakerState | undefined): void {
    const health = this.#health.of(route, operation);
    if (changed === undefined) return this.#exchange?.counted(route, operation, health);
    this.#options.onEvent({ route: route.id, operation, state: changed, reason: health.reason });
    this.#exchange?.changed(route, operation, health);
  }

  merge(states: readonly SharedState[]): void {
    this.#exchange?.merge(states);
  }

  shared(): SharedState[] {
    return this.#exchange?.all() ?? [];
  }

  tokenFor(wanted: WantedToken): Promise<TokenAnswer> {
    return this.#access.tokenFor(wanted);
  }

  /** Others have counted attempts on a route. */
  #review(route: Route, operation: Operation): void {
    const { isJudge = false, clock, random } = this.#options;
    if (!isJudge) return;
    const changed = this.#health.of(route, operation).review(clock.monotonicMs(), random());
    if (changed !== undefined) this.#announce(route, operation, changed);
  }

  #failedSample(route: Route, error: GatewayError): HealthSample {
    const asked = error.code === "rate_limit_exceeded" ? error.retryAfterSeconds : undefined;
    // With another key left, the provider's pause is that key's, not the route's.
    const rests = asked !== undefined && asked > 0 &&
      !this.#access.hasFreshKey(route, this.#options.clock.monotonicMs());
    return {
      ok: false,
      reason: error.code,
      ...(rests ? { retryAfterMs: asked * 1000 } : {}),
    };
  }

  called(model: Model, operation: Operation, error: GatewayError | undefined): void {
    if (error !== undefined && !isRouteFault(error)) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (error?.code === "rate_limit_exceeded") {
      const others = model.routes.some((route) =>
        this.#isInService(route) &&
        this.#health.of(route, operation).availability(nowMs) === "yes"
      );
      if (others) return;
    }
    let recent = this.#recentCalls.get(model.id);
    if (recent === undefined) this.#recentCalls.set(model.id, recent = new RecentCalls());
    recent.note(error === undefined, nowMs);
  }

  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void {
    this.#health.of(route, operation).noteThroughput(outputTokens, ms);
  }

  noteFalseReport(route: Route): void {
    if (!this.#countFalseReport(route, true)) this.#exchange?.falseReport(route);
  }

  /** Counts a false report; returns whether the route rests for it. */
  #countFalseReport(route: Route, mayRest: boolean): boolean {
    const { clock, random } = this.#options;
    let reports = this.#falseReports.get(route);
    if (reports === undefined) this.#falseReports.set(route, reports = new FalseReports());
    const nowMs = clock.monotonicMs();
    if (!reports.note(nowMs) || !mayRest) return false;
    for (const operation of ["chat", "chat_stream"] as const) {
      const health = this.#health.of(route, operation);
      this.#announce(route, operation, health.distrust(falseReportReason, nowMs, random()));
    }
    return true;
  }

  hedge(model: Model, operation: Operation, first: Route | undefined): Hedge | undefined {
    if (first === undefined || operation !== "chat_stream") return undefined;
    return this.#hedging.hedge(model, this.#health.of(first, operation), this.#options.clock);
  }

  slowAfterMs(model: Model, route: Route, load: CallLoad): number {
    const usualMs = this.#usualTimes.slowAfterMs(model, route, load);
    if (!this.#isInTrouble(route, load.operation)) return usualMs;
    const { usualFirstOutputMs = 0 } = this.#health.of(route, load.operation);
    return Math.min(usualMs, Math.max(probeHedgeMs, 2 * usualFirstOutputMs));
  }

  mayHedge(model: Model, route: Route, load: CallLoad, waitedMs: number): boolean {
    return this.#isInTrouble(route, load.operation) ||
      this.#usualTimes.takeHedge(model, route, load, waitedMs);
  }

  /** Whether a route is out of use for its failures, or being probed. */
  #isInTrouble(route: Route, operation: Operation): boolean {
    return this.#health.of(route, operation).availability(this.#options.clock.monotonicMs()) !==
      "yes";
  }

  retryAfterSeconds(model: Model, operation: Operation, customer?: string): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    let soonestMs = Infinity;
    for (const route of model.routes) {
      if (!this.#isInService(route)) continue;
      const health = this.#health.of(route, operation);
      const readyMs = health.availability(nowMs) === "no" ? health.readyMs : nowMs;
      soonestMs = Math.min(
        soonestMs,
        Math.max(readyMs, nowMs + this.#customerLimits.restMs(route, customer, nowMs)),
      );
    }
    return Number.isFinite(soonestMs)
      ? Math.max(1, Math.ceil((soonestMs - nowMs) / 1000))
      : undefined;
  }

  reports(): RouteReport[] {
    const { clock, switchOf } = this.#options;
    return routeReports({
      catalog: this.#catalog,
      clock,
      switchOf,
      health: this.#health,
      access: this.#access,
    });
  }

  status(model: Model): ModelStatus {
    const nowMs = this.#options.clock.monotonicMs();
    // A route that is out does not degrade the model as long as another is left.
    const inService = model.routes.filter((route) => this.#isInService(route));
    // What callers got decides; without recent callers, the state of the routes.
    const seen = inService.length === 0 ? undefined : this.#recentCalls.get(model.id)?.state(nowMs);
    return {
      state: seen ?? this.#health.stateOf(inService, nowMs),
      p50FirstOutputMs: this.#hedging.quantileMs(model, 0.5),
      p95FirstOutputMs: this.#hedging.quantileMs(model, 0.95),
    };
  }
}
