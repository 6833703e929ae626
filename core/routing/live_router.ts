/**
 * The router of a running gateway: orders routes by health, speed, region and the operator's switches, and learns from
 * every attempt. See docs/behaviour.md#routing.
 *
 * {@linkcode orderRoutes} is pure. {@linkcode LiveRouter} combines it with the parts of this folder: {@linkcode
 * HealthTable} (breakers, speed, stuck routes), {@linkcode ProviderAccess} (credentials), {@linkcode CustomerLimits}
 * (rate limits of single customers), {@linkcode Hedging} and {@linkcode UsualTimes} (when a second route starts),
 * {@linkcode RecentCalls} (the public status: what recent callers got, whatever the state of single routes). Clock and
 * random numbers are injected, so tests and simulations decide them.
 *
 * - Folder `core/routing/`: the order of routes: affinity, hedging, credentials, timeouts, and what threads tell each
 *   other of it.
 * - In: outcomes of attempts, switches of the operator, a clock and a source of random numbers.
 * - Out: routes in their order, each with a transport and a credential; the status of models; an error if no route is
 *   left.
 * - Never: sends a request to a provider, or reads the store.
 */
import { ascending } from "../lib/base/ascending.ts";
import type { MeasuredSort, RouteSort, RouteWish } from "../calls/request/route_preferences.ts";
import type { Catalog, Model, Route, RouteStyle } from "../catalog/catalog.ts";
import type {
  CallLoad,
  FormerRoute,
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
import { type AttemptResult, type Hedge, isRouteFault } from "../calls/attempts/attempt_loop.ts";
import { OperatorRefusal } from "../wire/errors/provider_error.ts";
import type { RouteAccess } from "../calls/exchange/chat_call.ts";
import type { GatewayError } from "../lib/errors/errors.ts";
import type { BreakerState } from "./health/breaker.ts";
import {
  CustomerLimits,
  HealthTable,
  ProviderAccess,
  type ProviderAccessOptions,
  routeReports,
} from "./health_table.ts";
import { Hedging, probeHedgeMs } from "./timeouts.ts";
import type { HealthSample, RouteHealth } from "./health/route_health.ts";
import { StateExchange } from "./state_exchange.ts";
import { UsualTimes } from "./usual_times.ts";

/**
 * False reports within the window after which the route rests: a single one may be an accident of a starting server.
 */
const maxFalseReports = 3;
const windowMs = 10 * 60_000;

/**
 * The times of the last false reports. Only what no caller can bring about counts, see `implausibleSide`.
 *
 * @example
 * ```ts
 * import { FalseReports } from "./live_router.ts";
 * const reports = new FalseReports();
 * if (reports.note(0) || reports.note(1) || !reports.note(2)) throw new Error("three are too many");
 * ```
 */
export class FalseReports {
  /** At most as many as matter, oldest first. */
  readonly #timesMs: number[] = [];

  /** Notes one; `true` if there were too many within the window. */
  note(nowMs: number): boolean {
    this.#timesMs.push(nowMs);
    if (this.#timesMs.length > maxFalseReports) this.#timesMs.shift();
    const [oldestMs = nowMs] = this.#timesMs;
    return this.#timesMs.length === maxFalseReports && nowMs - oldestMs <= windowMs;
  }
}

/** Most recent calls that count: after so many answered ones a failure is forgotten. */
const calls = 20;
/** Older calls do not count. */
const rememberedMs = 5 * 60_000;
/** Failures in a row, including the last call, after which the model is down. */
const failuresOfDown = 3;
/** Failures among the recent calls after which the model is degraded; a single one may be chance. */
const failuresOfDegraded = 2;

interface Call {
  readonly answered: boolean;
  readonly atMs: number;
}

/**
 * The last calls of one model.
 *
 * @example
 * ```ts
 * import { RecentCalls } from "./live_router.ts";
 * const recent = new RecentCalls();
 * for (let i = 0; i < 6; i++) recent.note(false, i);
 * if (recent.state(10) !== "down") throw new Error("six failures in a row");
 * for (let i = 0; i < 20; i++) recent.note(true, 10 + i);
 * if (recent.state(30) !== "up") throw new Error("long over");
 * ```
 */
export class RecentCalls {
  /** Oldest first. */
  readonly #calls: Call[] = [];

  note(answered: boolean, nowMs: number): void {
    if (this.#calls.length >= calls) this.#calls.shift();
    this.#calls.push({ answered, atMs: nowMs });
  }

  /** The status; `undefined` if there were no recent calls. */
  state(nowMs: number): "up" | "degraded" | "down" | undefined {
    const recent = this.#calls.filter(({ atMs }) => nowMs - atMs <= rememberedMs);
    if (recent.length === 0) return undefined;
    const last = recent.slice(-failuresOfDown);
    if (last.length === failuresOfDown && last.every(({ answered }) => !answered)) return "down";
    const failures = recent.filter(({ answered }) => !answered).length;
    const isNoticed = failures >= failuresOfDegraded || recent.at(-1)?.answered === false;
    return isNoticed ? "degraded" : "up";
  }
}

// How far a provider is by network, measured by the time that connections to it take to open.

/**
 * Latest connections of which the quickest counts: waits of a busy machine make others longer. After as many slower
 * ones the network has changed.
 */
const keptConnections = 8;

/** Milliseconds by which a connection may take longer than to the nearest route and still count as near. */
const nearSlackMs = 10;

/** Multiple of the nearest route's time up to which a route counts as near. */
const nearFactor = 1.5;

/**
 * The network distance of one provider. The time to open a connection has nothing in it of the time that a model
 * thinks, unlike the time to first output.
 *
 * @example
 * ```ts
 * import { isNear, NetworkDistance } from "./live_router.ts";
 * const distance = new NetworkDistance();
 * for (const ms of [190, 180, 400]) distance.note(ms);
 * if (distance.connectMs !== 180) throw new Error("another distance");
 * if (isNear(180, 20) || !isNear(28, 20)) throw new Error("wrong");
 * ```
 */
export class NetworkDistance {
  readonly #latestMs: number[] = [];

  /** Notes how long a connection took to open. */
  note(ms: number): void {
    this.#latestMs.push(ms);
    if (this.#latestMs.length > keptConnections) this.#latestMs.shift();
  }

  /** Milliseconds that a connection takes; `undefined` before the first one. */
  get connectMs(): number | undefined {
    return this.#latestMs.length === 0 ? undefined : Math.min(...this.#latestMs);
  }
}

/** Whether a route counts as near beside the nearest one. */
export function isNear(connectMs: number, nearestMs: number): boolean {
  return connectMs <= nearestMs * nearFactor + nearSlackMs;
}

/** A route that may be tried, with what is known of its speed. */
export interface Choice {
  readonly route: Route;
  /** Average time to first output; `undefined` if never measured. */
  readonly firstOutputMs: number | undefined;
  readonly inFlight: number;
  /** Milliseconds that a connection to its provider takes to open; absent if never measured. */
  readonly connectMs?: number | undefined;
}

/** Facts on which the order of routes depends. */
interface ChooseOptions {
  /** The caller's own style: routes of that style need no conversion. */
  readonly style: RouteStyle;
  /** The region of this instance, if it has one. */
  readonly region: string | undefined;
  /** From 0 up to 1, called as often as needed. */
  readonly random: () => number;
}

/**
 * Estimates the wait on a route. An unmeasured route counts as quick, so that it gets measured; waiting calls count
 * too, so that a quick route is not overloaded.
 */
function score({ route, firstOutputMs, inFlight }: Choice): number {
  return ((firstOutputMs ?? 1) + 1) * (1 + inFlight / 8) / route.weight;
}

function pickByWeight(choices: readonly Choice[], random: number): number {
  let total = 0;
  for (const { route } of choices) total += route.weight;
  let rest = random * total;
  for (const [i, { route }] of choices.entries()) {
    rest -= route.weight;
    if (rest < 0) return i;
  }
  return choices.length - 1;
}

/**
 * Orders routes of equal rank by power of two choices, then by expected wait. This spreads load, where always taking
 * the best would send every call to one route.
 */
function orderWithin(choices: readonly Choice[], random: () => number): Choice[] {
  if (choices.length < 2) return [...choices];
  const first = pickByWeight(choices, random());
  const others = choices.filter((_, i) => i !== first);
  const second = others[pickByWeight(others, random())]!;
  const one = choices[first]!;
  const winner = score(one) <= score(second) ? one : second;
  const rest = choices.filter((choice) => choice !== winner).sort((a, b) => score(a) - score(b));
  return [winner, ...rest];
}

/** The shortest connection of each priority. */
function nearestOf(choices: readonly Choice[]): ReadonlyMap<number, number> {
  const nearest = new Map<number, number>();
  for (const { route: { priority }, connectMs } of choices) {
    if (connectMs === undefined) continue;
    nearest.set(priority, Math.min(nearest.get(priority) ?? Infinity, connectMs));
  }
  return nearest;
}

/**
 * The distance of a route as a rank: 2 if it is measured to be far, 1 if the operator's label names another region.
 * Labels count among near routes, too: a provider may take connections near its callers and answer them elsewhere.
 */
function distanceRank(
  { route, connectMs }: Choice,
  region: string | undefined,
  nearestMs: number | undefined,
): number {
  if (region === undefined) return 0;
  if (connectMs !== undefined && nearestMs !== undefined && !isNear(connectMs, nearestMs)) return 2;
  return route.region !== undefined && route.region !== region ? 1 : 0;
}

/**
 * Orders routes: by priority, then near ones first if the instance has a region, then the caller's own style. Equal
 * ones are ordered by power of two choices over the observed time to first output.
 */
export function orderRoutes(choices: readonly Choice[], options: ChooseOptions): Route[] {
  const { style, region, random } = options;
  if (choices.length < 2) return choices.map(({ route }) => route);
  const groups = new Map<number, Choice[]>();
  const nearest = region === undefined ? undefined : nearestOf(choices);
  for (const choice of choices) {
    const { route } = choice;
    const distance = distanceRank(choice, region, nearest?.get(route.priority));
    const rank = route.priority * 6 + distance * 2 + (route.style === style ? 0 : 1);
    const group = groups.get(rank);
    if (group === undefined) groups.set(rank, [choice]);
    else group.push(choice);
  }
  return [...groups.keys()].sort((a, b) => a - b)
    .flatMap((rank) => orderWithin(groups.get(rank) ?? [], random))
    .map(({ route }) => route);
}

/**
 * Puts the route that holds the proofs and the cache of a conversation first. Between turns only within its priority,
 * so that a conversation returns to the operator's preference; within a turn in any case.
 *
 * @param mayLead whether a route is well, and not one that is being probed
 */
export function formerFirst(
  ordered: readonly Route[],
  { routeId, midTurn }: FormerRoute,
  mayLead: (route: Route) => boolean,
): readonly Route[] {
  const [first] = ordered;
  const former = ordered.find(({ id }) => id === routeId);
  if (first === undefined || former === undefined || former === first) return ordered;
  if (!mayLead(former)) return ordered;
  // A route of better priority that is only being probed cannot be returned to yet.
  if (!midTurn && first.priority < former.priority && mayLead(first)) return ordered;
  return [former, ...ordered.filter((route) => route !== former)];
}

/** Needs of the router. */
interface LiveRouterOptions extends ProviderAccessOptions {
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

/** Whether routes are ordered by a figure that differs among them; the price is that of their model. */
function isMeasured(sort: RouteSort | undefined): sort is MeasuredSort {
  return sort === "throughput" || sort === "latency";
}

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
    const arranged = (choices: readonly Choice[]) => {
      const routes = orderRoutes(choices, order);
      return wanted.wish === undefined ? routes : this.#wished(routes, wanted, wanted.wish, nowMs);
    };
    const ordered = [...arranged(open), ...arranged(last)];
    // One last attempt is better than a certain refusal, unless the provider itself asked for the pause; and a second
    // route than none beside one that may hang.
    const takesLast = ordered.length === 0 || wanted.operation !== "chat_stream";
    if (takesLast && soonest !== undefined && !soonest.health.pauseWasAsked) {
      ordered.push(soonest.route);
    }
    if (wanted.wish?.order !== undefined || isMeasured(wanted.wish?.sort)) return ordered;
    const overdue = this.#overdueProbe(ordered, wanted, nowMs);
    if (overdue !== undefined) return [overdue, ...ordered.filter((route) => route !== overdue)];
    if (wanted.former === undefined || ordered.length < 2) return ordered;
    const mayLead = (route: Route) =>
      open.some((choice) => choice.route === route) &&
      this.#health.of(route, wanted.operation).availability(nowMs) === "yes";
    return formerFirst(ordered, wanted.former, mayLead);
  }

  /**
   * Orders equally usable routes as the caller wants: the providers that it names first, then by the figure that it
   * names. A route without a measurement comes after those with one.
   */
  #wished(
    routes: readonly Route[],
    { operation }: RouteQuery,
    { order, sort }: RouteWish,
    nowMs: number,
  ): readonly Route[] {
    const place = ({ provider }: Route) => {
      const at = order?.indexOf(provider) ?? -1;
      return at < 0 ? Infinity : at;
    };
    const figure = (route: Route) =>
      isMeasured(sort) ? this.#figure(route, operation, sort, nowMs) : 0;
    const ranked = routes.map((route) => ({ route, at: place(route), figure: figure(route) }));
    return ranked.sort((a, b) => ascending(a.at, b.at) || ascending(a.figure, b.figure))
      .map(({ route }) => route);
  }

  /** The figure of a route of which the lowest is best; `Infinity`: it was not measured. */
  #figure(route: Route, operation: Operation, sort: MeasuredSort, nowMs: number): number {
    // Only streams show how fast a route writes.
    return sort === "latency"
      ? this.#health.of(route, operation).firstOutputMs(nowMs) ?? Infinity
      : -(this.#health.known(route, "chat_stream")?.tokensPerSecond ?? -Infinity);
  }

  measured({ routes }: Model, operation: Operation, sort: MeasuredSort): number {
    const nowMs = this.#options.clock.monotonicMs();
    const isOpen = (route: Route) =>
      this.#isInService(route) && this.#health.of(route, operation).availability(nowMs) !== "no";
    return Math.min(
      Infinity,
      ...routes.filter(isOpen).map((route) => this.#figure(route, operation, sort, nowMs)),
    );
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
