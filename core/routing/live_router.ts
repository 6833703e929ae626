/** Routing by health: breakers, observed speed, credentials and the operator's switches. Clock and random injected. */
import { invariant } from "../assert.ts";
import { isRouteFault } from "../call/attempt_loop.ts";
import type { RouteAccess } from "../call/chat_exchange.ts";
import type { AttemptResult } from "../call/racer.ts";
import type { Catalog, Model, Route, RouteStyle } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import { limits } from "../limits.ts";
import type { Transport } from "../upstream/transport.ts";
import { type Choice, orderRoutes } from "./choose.ts";
import { Credentials } from "./credentials.ts";
import { LatencyHistogram } from "./latency_histogram.ts";
import { type HealthSample, RouteHealth } from "./route_health.ts";
import {
  type ModelStatus,
  type Operation,
  operations,
  type RouteEvent,
  type Router,
  type RouteReport,
} from "./router.ts";

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

const keyRefusals: ReadonlySet<number> = new Set([401, 403]);

export class LiveRouter implements Router {
  readonly #options: LiveRouterOptions;
  readonly #health = new Map<Route, Map<Operation, RouteHealth>>();
  readonly #firstOutput = new Map<string, LatencyHistogram>();
  readonly #credentials = new Map<string, Credentials>();

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

  candidates(
    model: Model,
    wanted: { readonly style: RouteStyle; readonly operation: Operation },
  ): readonly Route[] {
    const nowMs = this.#options.clock.monotonicMs();
    const open: Choice[] = [];
    let soonest: { route: Route; health: RouteHealth } | undefined;
    for (const route of model.routes) {
      if (this.#options.switchOf(route.id) !== undefined) continue;
      const health = this.#healthOf(route, wanted.operation);
      if (health.availability(nowMs) !== "no") {
        open.push({ route, firstOutputMs: health.firstOutputMs(nowMs), inFlight: health.inFlight });
      } else if (soonest === undefined || health.nextProbeMs < soonest.health.nextProbeMs) {
        soonest = { route, health };
      }
    }
    if (open.length === 0) {
      // All rest. One last try is better than a certain refusal, unless the provider itself asked for the pause.
      return soonest === undefined || soonest.health.pauseWasAsked ? [] : [soonest.route];
    }
    const { region, random } = this.#options;
    return orderRoutes(open, { style: wanted.style, region, random });
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

  report(model: Model, route: Route, operation: Operation, result: AttemptResult): void {
    const health = this.#healthOf(route, operation);
    if (result.kind === "stopped" || (result.kind === "failed" && !isRouteFault(result.error))) {
      health.forget();
      return;
    }
    if (result.kind === "ok" && operation === "chat_stream") {
      this.#histogramOf(model).add(result.ms);
    }
    const { clock, random, onEvent } = this.#options;
    const changed = health.end(this.#sampleOf(route, result), clock.monotonicMs(), random());
    if (changed === undefined) return;
    const reason = result.kind === "failed" ? result.error.code : undefined;
    onEvent({ route: route.id, operation, state: changed, reason });
  }

  #sampleOf(route: Route, result: Exclude<AttemptResult, { kind: "stopped" }>): HealthSample {
    if (result.kind === "ok") return { ok: true, firstOutputMs: result.ms };
    const { error } = result;
    const asked = error.code === "rate_limit_exceeded" ? error.retryAfterSeconds : undefined;
    // With another key left the provider's pause is that key's, not the route's.
    const fresh = this.#credentials.get(route.provider)?.hasFresh(
      this.#options.clock.monotonicMs(),
    );
    const rests = asked !== undefined &&
      ((this.#credentials.get(route.provider)?.count ?? 0) === 0 || !fresh);
    return {
      ok: false,
      reason: error.code,
      ...(rests ? { retryAfterMs: asked * 1000 } : {}),
    };
  }

  noteThroughput(route: Route, operation: Operation, outputTokens: number, ms: number): void {
    this.#healthOf(route, operation).noteThroughput(outputTokens, ms);
  }

  hedgeAfterMs(model: Model): number | undefined {
    if (!model.hedge) return undefined;
    const histogram = this.#histogramOf(model);
    return histogram.count < limits.hedgeMinSamples ? undefined : histogram.quantileMs(0.95);
  }

  retryAfterSeconds(model: Model, operation: Operation): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    let soonestMs = Infinity;
    for (const route of model.routes) {
      if (this.#options.switchOf(route.id) !== undefined) continue;
      const health = this.#healthOf(route, operation);
      soonestMs = Math.min(
        soonestMs,
        health.availability(nowMs) === "no" ? health.nextProbeMs : nowMs,
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

  status(model: Model): ModelStatus {
    const nowMs = this.#options.clock.monotonicMs();
    const usable = model.routes.filter((route) => {
      if (this.#options.switchOf(route.id) !== undefined) return false;
      const byOperation = this.#health.get(route);
      return byOperation === undefined ||
        [...byOperation.values()].every((health) => health.availability(nowMs) === "yes");
    });
    const histogram = this.#firstOutput.get(model.id);
    return {
      state: usable.length === model.routes.length ? "up" : usable.length > 0 ? "degraded" : "down",
      p50FirstOutputMs: histogram?.quantileMs(0.5),
      p95FirstOutputMs: histogram?.quantileMs(0.95),
    };
  }
}
