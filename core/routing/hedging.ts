/**
 * When a second route starts beside the first one of a chat stream.
 *
 * A probe of a route in trouble gets a short time, since no client should pay for probes. A model with hedging on gets
 * the 95th percentile of its first outputs, once enough of them were measured. Every other stream gets a second route
 * only if its first one turns out to be stuck.
 */
import type { Hedge } from "../calls/attempts/attempt_loop.ts";
import type { Model } from "../catalog/catalog.ts";
import type { Clock } from "../lib/time/clock.ts";
import { LatencyHistogram } from "./health/latency_histogram.ts";
import type { RouteHealth } from "./health/route_health.ts";

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
