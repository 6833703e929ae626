/** Routing by health: breakers, observed speed, credentials and the operator's switches. Clock and random injected. */
import { invariant } from "../lib/assert.ts";
import { type Hedge, isRouteFault } from "../calls/attempt_loop.ts";
import type { RouteAccess } from "../calls/chat_exchange.ts";
import type { AttemptResult } from "../calls/route_attempt.ts";
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { GatewayError } from "../errors.ts";
import type { Transport } from "../upstream/transport.ts";
import { type Choice, formerFirst, orderRoutes } from "./choose.ts";
import { Credentials } from "./credentials.ts";
import { FalseReports } from "./false_reports.ts";
import { LimitedCustomers } from "./limited_customers.ts";
import { LatencyHistogram } from "./latency_histogram.ts";
import { RecentCalls } from "./recent_calls.ts";
import type { BreakerState } from "./breaker.ts";
import { type HealthSample, RouteHealth } from "./route_health.ts";
import {
  type ModelStatus,
  type Operation,
  operations,
  type RouteEvent,
  type RouteQuery,
  type Router,
  type RouteReport,
} from "./router.ts";

/** First outputs measured before hedging starts: a p95 of fewer is a guess. */
export const hedgeMinSamples = 20;

/**
 * Milliseconds that a probe of a route in trouble gets before a working route starts beside it. No client
 * pays for probes.
 */
export const probeHedgeMs = 2_000;

export interface LiveRouterOptions {
  readonly catalog: Catalog;
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** The transport of a provider, by its name. */
  readonly transportOf: (provider: string) => Transport;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly region: string | undefined;
  /** The operator's switch of a route, by its id. */
  readonly switchOf: (routeId: string) => "disabled" | "draining" | undefined;
  readonly onEvent: (event: RouteEvent) => void;
}

/** An `internal_error` is a bug of ours: one strange request must not take routes out for everybody. */
function harmsHealth(error: GatewayError): boolean {
  return isRouteFault(error) && error.code !== "internal_error";
}

/** Shown to operators as the reason why a route rests. */
const falseReportReason = "false_reports";

const keyRefusals: ReadonlySet<number> = new Set([401, 403]);

/** Traffic of its own has had its chance to probe a route by then. */
const overdueProbeMs = 30_000;

export class LiveRouter implements Router {
  readonly #options: LiveRouterOptions;
  readonly #health = new Map<Route, Map<Operation, RouteHealth>>();
  readonly #firstOutput = new Map<string, LatencyHistogram>();
  readonly #credentials = new Map<string, Credentials>();
  readonly #limited = new Map<Route, LimitedCustomers>();
  readonly #recentCalls = new Map<string, RecentCalls>();
  readonly #falseReports = new Map<Route, FalseReports>();

  constructor(options: LiveRouterOptions) {
    this.#options = options;
    for (const provider of Object.keys(options.catalog.providers)) {
      this.#credentials.set(provider, new Credentials(options.providerKeys[provider] ?? []));
    }
  }

  #healthOf(route: Route, operation: Operation): RouteHealth {
    let byOperation = this.#health.get(route);
    if (byOperation === undefined) this.#health.set(route, byOperation = new Map());
    let health = byOperation.get(operation);
    if (health === undefined) byOperation.set(operation, health = new RouteHealth());
    return health;
  }

  #histogramOf(model: Model): LatencyHistogram {
    let histogram = this.#firstOutput.get(model.id);
    if (histogram === undefined) {
      this.#firstOutput.set(model.id, histogram = new LatencyHistogram());
    }
    return histogram;
  }

  candidates(model: Model, wanted: RouteQuery): readonly Route[] {
    const nowMs = this.#options.clock.monotonicMs();
    const open: Choice[] = [];
    const stuck: Choice[] = [];
    let soonest: { route: Route; health: RouteHealth } | undefined;
    for (const route of model.routes) {
      if (this.#options.switchOf(route.id) !== undefined) continue;
      if (this.#restMs(route, wanted.customer, nowMs) > 0) continue;
      const health = this.#healthOf(route, wanted.operation);
      const availability = health.availability(nowMs);
      if (availability !== "no") {
        const choice = {
          route,
          firstOutputMs: health.firstOutputMs(nowMs),
          inFlight: health.inFlight,
        };
        // When a probe is due is the breaker's to say.
        const hangs = availability === "yes" && health.isStuck(nowMs);
        (hangs ? stuck : open).push(choice);
      } else if (soonest === undefined || health.nextProbeMs < soonest.health.nextProbeMs) {
        soonest = { route, health };
      }
    }
    if (open.length === 0 && stuck.length === 0) {
      // All rest. One last try is better than a certain refusal, unless the provider itself asked for the pause.
      return soonest === undefined || soonest.health.pauseWasAsked ? [] : [soonest.route];
    }
    const { region, random } = this.#options;
    const order = { style: wanted.style, region, random };
    const ordered = [...orderRoutes(open, order), ...orderRoutes(stuck, order)];
    const overdue = this.#overdueProbe(ordered, wanted, nowMs);
    if (overdue !== undefined) return [overdue, ...ordered.filter((route) => route !== overdue)];
    if (wanted.former === undefined || ordered.length < 2) return ordered;
    const mayLead = (route: Route) =>
      open.some((choice) => choice.route === route) &&
      this.#healthOf(route, wanted.operation).availability(nowMs) === "yes";
    return formerFirst(ordered, wanted.former, mayLead);
  }

  /**
   * A route whose probe has been due for long because calls never come that far: the first message of a conversation
   * probes it. Only a stream of chat does, which has a second route beside it.
   */
  #overdueProbe(
    ordered: readonly Route[],
    { operation, former }: RouteQuery,
    nowMs: number,
  ): Route | undefined {
    if (operation !== "chat_stream" || former !== undefined) return undefined;
    return ordered.slice(1).find((route) => {
      const health = this.#healthOf(route, operation);
      return health.availability(nowMs) === "probe" &&
        nowMs - health.nextProbeMs >= overdueProbeMs;
    });
  }

  begin(route: Route, operation: Operation): RouteAccess {
    this.#healthOf(route, operation).begin(this.#options.clock.monotonicMs());
    return this.access(route);
  }

  access(route: Route): RouteAccess {
    const { catalog, clock, transportOf } = this.#options;
    const provider = catalog.providers[route.provider];
    const credentials = this.#credentials.get(route.provider);
    invariant(provider !== undefined && credentials !== undefined, `No provider ${route.provider}`);
    const secret = credentials.take(clock.monotonicMs());
    let refused = false;
    return {
      provider,
      secret,
      transport: transportOf(route.provider),
      onStatus(status, retryAfterSeconds) {
        if (secret === undefined) return;
        const nowMs = clock.monotonicMs();
        if (keyRefusals.has(status)) {
          refused = true;
          credentials.refused(secret, nowMs);
        } else if (status === 429) {
          refused = true;
          const retryAfterMs = retryAfterSeconds === undefined
            ? undefined
            : retryAfterSeconds * 1000;
          credentials.limited(secret, nowMs, retryAfterMs);
        } else if (status < 300) credentials.worked(secret);
      },
      mayRepeat: () => refused && credentials.hasFresh(clock.monotonicMs()),
    };
  }

  /** While a customer rests on a route that limited it: what is left of the time that the provider asked for. */
  #restMs(route: Route, customer: string | undefined, nowMs: number): number {
    const limited = customer === undefined ? undefined : this.#limited.get(route);
    if (limited === undefined || customer === undefined) return 0;
    const restMs = limited.restMs(customer, nowMs);
    return restMs === 0 ? 0 : Math.max(restMs, limited.askedMs(customer, nowMs));
  }

  /** Whether a failure is a rate limit that only its own customer met, as far as is known. */
  #isOneCustomers(
    route: Route,
    { code, retryAfterSeconds }: GatewayError,
    customer: string | undefined,
  ): boolean {
    if (customer === undefined || code !== "rate_limit_exceeded") return false;
    const nowMs = this.#options.clock.monotonicMs();
    // With another key left the limit is that key's.
    if (this.#credentials.get(route.provider)?.hasFresh(nowMs)) return false;
    let limited = this.#limited.get(route);
    if (limited === undefined) this.#limited.set(route, limited = new LimitedCustomers());
    const askedMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000;
    return !limited.refused(customer, askedMs, nowMs);
  }

  report(
    model: Model,
    route: Route,
    operation: Operation,
    result: AttemptResult,
    customer?: string,
  ): void {
    const { clock, random } = this.#options;
    const health = this.#healthOf(route, operation);
    const nowMs = clock.monotonicMs();
    const startedMs = nowMs - result.ms;
    switch (result.kind) {
      case "stopped":
        return health.forget(startedMs);
      case "beaten":
        // Counted as if it had answered now: left out, the p95 would sink with every hedge, and hedges grow with it.
        this.#histogramOf(model).add(result.ms);
        return this.#tell(
          route,
          operation,
          health.beaten(nowMs, random(), startedMs, result.silent),
        );
      case "failed": {
        if (!harmsHealth(result.error) || this.#isOneCustomers(route, result.error, customer)) {
          return health.forget(startedMs);
        }
        const sample = this.#failureOf(route, result.error);
        const changed = health.end(sample, nowMs, random(), startedMs);
        return this.#tell(route, operation, changed);
      }
      case "ok": {
        if (operation === "chat_stream") this.#histogramOf(model).add(result.ms);
        this.#limited.get(route)?.worked(customer, nowMs);
        const sample = { ok: true, firstOutputMs: result.ms } as const;
        const changed = health.end(sample, nowMs, random(), startedMs);
        return this.#tell(route, operation, changed);
      }
    }
  }

  #tell(route: Route, operation: Operation, changed: BreakerState | undefined): void {
    if (changed === undefined) return;
    const { reason } = this.#healthOf(route, operation);
    this.#options.onEvent({ route: route.id, operation, state: changed, reason });
  }

  #failureOf(route: Route, error: GatewayError): HealthSample {
    const asked = error.code === "rate_limit_exceeded" ? error.retryAfterSeconds : undefined;
    const credentials = this.#credentials.get(route.provider);
    // With another key left the provider's pause is that key's, not the route's.
    const rests = asked !== undefined && asked > 0 &&
      !credentials?.hasFresh(this.#options.clock.monotonicMs());
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
        this.#options.switchOf(route.id) === undefined &&
        this.#healthOf(route, operation).availability(nowMs) === "yes"
      );
      if (others) return;
    }
    let recent = this.#recentCalls.get(model.id);
    if (recent === undefined) this.#recentCalls.set(model.id, recent = new RecentCalls());
    recent.note(error === undefined, nowMs);
  }

  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void {
    this.#healthOf(route, operation).noteThroughput(outputTokens, ms);
  }

  noteFalseReport(route: Route): void {
    const { clock, random } = this.#options;
    let reports = this.#falseReports.get(route);
    if (reports === undefined) this.#falseReports.set(route, reports = new FalseReports());
    const nowMs = clock.monotonicMs();
    if (!reports.note(nowMs)) return;
    for (const operation of ["chat", "chat_stream"] as const) {
      const health = this.#healthOf(route, operation);
      this.#tell(route, operation, health.distrust(falseReportReason, nowMs, random()));
    }
  }

  hedge(model: Model, operation: Operation, first: Route | undefined): Hedge | undefined {
    if (first === undefined || operation !== "chat_stream") return undefined;
    const { clock } = this.#options;
    const health = this.#healthOf(first, operation);
    const nowMs = clock.monotonicMs();
    if (health.availability(nowMs) !== "yes" || health.isStuck(nowMs)) {
      return { afterMs: Math.max(probeHedgeMs, 2 * (health.usualFirstOutputMs ?? 0)) };
    }
    const histogram = this.#histogramOf(model);
    if (model.hedge && histogram.count >= hedgeMinSamples) {
      const p95Ms = histogram.quantileMs(0.95);
      if (p95Ms !== undefined) return { afterMs: p95Ms };
    }
    return { afterMs: health.stuckAfterMs, when: () => health.isStuck(clock.monotonicMs()) };
  }

  retryAfterSeconds(model: Model, operation: Operation, customer?: string): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    let soonestMs = Infinity;
    for (const route of model.routes) {
      if (this.#options.switchOf(route.id) !== undefined) continue;
      const health = this.#healthOf(route, operation);
      const readyMs = health.availability(nowMs) === "no" ? health.readyMs : nowMs;
      soonestMs = Math.min(
        soonestMs,
        Math.max(readyMs, nowMs + this.#restMs(route, customer, nowMs)),
      );
    }
    return Number.isFinite(soonestMs)
      ? Math.max(1, Math.ceil((soonestMs - nowMs) / 1000))
      : undefined;
  }

  reports(): RouteReport[] {
    const { catalog, clock, switchOf } = this.#options;
    const nowMs = clock.monotonicMs();
    const wallOffsetMs = clock.nowMs() - nowMs;
    return catalog.models.flatMap((model) =>
      model.routes.map((route): RouteReport => {
        const views: RouteReport["operations"] = {};
        for (const operation of operations) {
          const health = this.#health.get(route)?.get(operation);
          if (health !== undefined) views[operation] = health.view(nowMs, wallOffsetMs);
        }
        const credentials = this.#credentials.get(route.provider);
        return {
          model: model.id,
          route,
          switched: switchOf(route.id),
          operations: views,
          credentials: {
            count: credentials?.count ?? 0,
            resting: credentials?.resting(nowMs) ?? 0,
          },
        };
      })
    );
  }

  #stateOfRoutes(inService: readonly Route[], nowMs: number): ModelStatus["state"] {
    let allWell = inService.length > 0;
    let someWorks = false;
    for (const route of inService) {
      const known = [...this.#health.get(route)?.values() ?? []];
      const states = known.map((health) => health.availability(nowMs));
      if (states.some((state) => state !== "yes")) allWell = false;
      if (states.length === 0 || states.some((state) => state !== "no")) someWorks = true;
    }
    return allWell ? "up" : someWorks ? "degraded" : "down";
  }

  status(model: Model): ModelStatus {
    const nowMs = this.#options.clock.monotonicMs();
    // What an operator took out is no trouble as long as something is left.
    const inService = model.routes.filter((route) =>
      this.#options.switchOf(route.id) === undefined
    );
    // Callers know best. Where there were none of late, the routes must do.
    const seen = inService.length === 0 ? undefined : this.#recentCalls.get(model.id)?.state(nowMs);
    const histogram = this.#firstOutput.get(model.id);
    return {
      state: seen ?? this.#stateOfRoutes(inService, nowMs),
      p50FirstOutputMs: histogram?.quantileMs(0.5),
      p95FirstOutputMs: histogram?.quantileMs(0.95),
    };
  }
}
