/** Computes how long a call waits for a route, from the configuration of its provider and model. */
import type { Catalog, Model, Route } from "../catalog/catalog.ts";
import { defaultIdleMs } from "../net/http1/heads.ts";
import { defaultFirstOutputMs } from "../catalog/entries/model.ts";
import type { Hedge } from "../calls/attempts/attempt_loop.ts";
import type { Clock } from "../lib/time/clock.ts";
import { LatencyHistogram, type RouteHealth } from "./health/route_health.ts";
import { GatewayError } from "../lib/errors/errors.ts";
import { maintenanceRetrySeconds } from "./health/limits.ts";
import type { Operation, Router } from "./contract/router.ts";

// When a second route starts beside the first one of a chat stream.
//
// A probe of a route in trouble gets a short time, since no client should pay for probes. A model with hedging on gets
// the 95th percentile of its first outputs, once enough of them were measured. Every other stream gets a second route
// only if its first one turns out to be stuck.

/** First outputs measured before hedging starts: a p95 of fewer is a guess. */
export const hedgeMinSamples = 20;

/**
 * Milliseconds that a probe of a route in trouble gets before a working route starts beside it. No client pays for
 * probes.
 */
export const probeHedgeMs = 2_000;

/** Keeps the times to first output of each model, and computes hedges from them. Bounded by the models of the catalog. */
export class Hedging {
  readonly #firstOutput = new Map<string, LatencyHistogram>();

  /** Forgets models that are no longer configured. */
  keepOnly(modelIds: ReadonlySet<string>): void {
    for (const id of this.#firstOutput.keys()) if (!modelIds.has(id)) this.#firstOutput.delete(id);
  }

  /** Adds the time to first output of a stream. */
  measured(model: Model, ms: number): void {
    this.#histogramOf(model).add(ms);
  }

  /** The time to first output below which the share `q` of streams lies; `undefined` without samples. */
  quantileMs(model: Model, q: number): number | undefined {
    return this.#firstOutput.get(model.id)?.quantileMs(q);
  }

  /** @param health of the route that is tried first */
  hedge(model: Model, health: RouteHealth, clock: Clock): Hedge {
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

  #histogramOf(model: Model): LatencyHistogram {
    let histogram = this.#firstOutput.get(model.id);
    if (histogram === undefined) {
      this.#firstOutput.set(model.id, histogram = new LatencyHistogram());
    }
    return histogram;
  }
}

/**
 * Builds the error for a client if no route of a model may be tried.
 *
 * Either all of them are paused because their providers asked for it (429 with the soonest
 * `retry-after`), or operators have taken all of them out, or their providers lack their keys (503).
 */
export function noRouteError(
  router: Router,
  model: Model,
  operation: Operation,
  customer?: string,
): GatewayError {
  const seconds = router.retryAfterSeconds(model, operation, customer);
  return seconds === undefined
    ? new GatewayError("maintenance", "This model is out of service at the moment", {
      retryAfterSeconds: maintenanceRetrySeconds,
    })
    : new GatewayError(
      "rate_limit_exceeded",
      "All providers of this model limit the rate of calls at the moment",
      { retryAfterSeconds: seconds },
    );
}

/**
 * Milliseconds after which a video task that was not accepted is sent to the next route. Accepting one takes
 * seconds, uploads of pictures included; with too short a time a slow provider makes a video that nobody asks
 * for.
 */
const videoSubmitMs = 60_000;

/**
 * Time to wait for what commits a call to a route: the first picture of a stream, a whole answer, the first bytes of
 * audio, an accepted video task. Chat streams have {@linkcode slowAfterMs} and {@linkcode ownFirstOutputMs} instead.
 * `undefined`: as long as the call may take, since a slow model cannot be distinguished from one that hangs.
 */
export function answerTimeoutMs(
  catalog: Catalog,
  model: Model,
  route: Route,
  stream: boolean,
): number | undefined {
  const ownMs = ownFirstOutputMs(catalog, route);
  // A whole answer or picture arrives only when it is complete, so `slowAfterMs` of the model, meant for first
  // output, does not apply; the provider's own timeout does.
  const beginsSoon = stream || model.kind === "speech" || model.kind === "video";
  const writtenMs = Math.min(
    ownMs ?? Infinity,
    (beginsSoon ? model.slowAfterMs : undefined) ?? Infinity,
  );
  if (writtenMs !== Infinity) return writtenMs;
  return model.kind === "video" ? videoSubmitMs : undefined;
}

/** Time without output after which a second route starts beside this one for a chat stream; this one continues. */
export function slowAfterMs(catalog: Catalog, model: Model, route: Route): number {
  return Math.min(
    ownFirstOutputMs(catalog, route) ?? Infinity,
    model.slowAfterMs ?? defaultFirstOutputMs,
  );
}

/**
 * The provider's own timeout for the first output, after which a chat stream is given up, even on the last route.
 * `undefined` unless configured: a model that reasons may take as long as a call.
 */
export function ownFirstOutputMs(catalog: Catalog, route: Route): number | undefined {
  const provider = catalog.providers[route.provider];
  return provider?.kind === "http" ? provider.timeouts.firstOutputMs : undefined;
}

/** Longest silence within the answer of a route, once its output has begun. */
export function idleMs(catalog: Catalog, route: Route): number {
  const provider = catalog.providers[route.provider];
  const ownMs = provider?.kind === "http" ? provider.timeouts.idleMs : undefined;
  return ownMs ?? defaultIdleMs;
}
