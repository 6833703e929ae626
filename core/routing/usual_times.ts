/**
 * Learns how long calls usually take that are answered in one piece, and says when such a call has waited long enough
 * on its route for the next route to start beside it.
 *
 * A provider completes a whole answer or a picture even if the result is ignored, and charges the operator. So a
 * second attempt is paid from a budget: a share of the answered calls. Only a route that is known to be in trouble, or
 * a call that waited longer than nearly all before it, gets one beyond the budget.
 */
import type { Model, Route } from "../catalog/catalog.ts";
import type { CallLoad, Operation } from "./contract/router.ts";
import { LatencyHistogram } from "./health/route_health.ts";

/**
 * Second attempts per answered call that routes without trouble get: what hedging may cost the operator, with some room
 * for those beyond the budget.
 */
const hedgeShare = 0.04;
/**
 * Second attempts before the first call has ended, by model and operation: as many failures in a row take a route out
 * of use.
 */
export const firstHedges = 3;
/** Second attempts that are saved up at most: a route that begins to hang has some dozens of calls in flight. */
const maxSavedHedges = 20;
/** Second attempts that are owed at most; later calls pay them. */
const maxOwedHedges = 10;

/** Milliseconds to wait where nothing is known of the model: most calls of most models are answered by then. */
export const unknownWaitMs = 4_000;
/** Milliseconds to wait at least, however quick a route usually is: a busy machine or network costs a second. */
const minWaitMs = 2_000;
/** The same for what is dear: the customer would rather wait than the operator pay a picture twice. */
const minDearWaitMs = 4_000;
const dear: ReadonlySet<Operation> = new Set<Operation>(["image", "video"]);

/** Calls from which a 95th percentile means something. */
const enoughCalls = 20;
/** Milliseconds beyond the 95th percentile, which is known to within a tenth. */
const p95SlackMs = 1_000;
/**
 * The wait is at most this multiple of the median and this much more, so that the second route can still answer within
 * three times the usual time and five seconds.
 */
const maxMedians = 2;
const medianSlackMs = 3_000;
/** Multiple of the wait after which a call gets a second route although the budget is used up. */
const unpaidFactor = 3;

/** Classes of size, each twice the one before: up to 16 million tokens or bytes. */
const sizeClasses = 24;

function classOf({ size }: CallLoad): number {
  return Math.min(sizeClasses - 1, Math.floor(Math.log2(Math.max(1, size))));
}

/** Durations of the calls of one operation on one route, by class of size. */
type Times = (LatencyHistogram | undefined)[];

/** Moment at which the next route may start beside a route. */
interface Wait {
  readonly afterMs: number;
  /** Nineteen of twenty calls were answered by then. */
  readonly p95Ms: number;
  /** From here on the budget does not count. */
  readonly unpaidMs: number;
}

function waitOf(times: LatencyHistogram | undefined, leastMs: number): Wait {
  if (times === undefined) {
    return { afterMs: unknownWaitMs, p95Ms: 0, unpaidMs: unpaidFactor * unknownWaitMs };
  }
  const latest = times.count < enoughCalls
    ? Infinity
    : (times.quantileMs(0.95) ?? Infinity) + p95SlackMs;
  const medianMs = times.quantileMs(0.5) ?? 0;
  const afterMs = Math.max(leastMs, Math.min(latest, maxMedians * medianMs + medianSlackMs));
  return {
    afterMs,
    p95Ms: latest === Infinity ? 0 : latest,
    unpaidMs: Math.max(unpaidFactor * afterMs, times.quantileMs(0.99) ?? 0),
  };
}

/**
 * The usual times of all routes, and the budget of second attempts. Bounded by the routes of the catalogue and the
 * classes of size.
 *
 * @example
 * ```ts
 * import { buildModel } from "../catalog/catalog.ts";
 * import { modelSchema } from "../catalog/schema.ts";
 * import { UsualTimes } from "./usual_times.ts";
 * const price = { unit: "image", vnd: 1 };
 * const routes = [{ provider: "p" }, { provider: "q" }];
 * const model = buildModel(modelSchema.parse({ id: "m", kind: "image", family: "f", price, routes }));
 * const [route] = model.routes;
 * const load = { operation: "image", stream: false, size: 1 } as const;
 * const times = new UsualTimes();
 * for (let i = 0; i < 50; i++) times.answered(model, route!, load, 10_000);
 * const waitMs = times.slowAfterMs(model, route!, load);
 * if (waitMs < 10_000 || waitMs > 13_000) throw new Error(`${waitMs} ms`);
 * ```
 */
export class UsualTimes {
  readonly #times = new Map<Route, Map<string, Times>>();
  /** Second attempts that are paid for, by model and operation. */
  readonly #saved = new Map<string, Map<Operation, number>>();

  /** Forgets routes and models that are no longer configured. */
  keepOnly(routes: ReadonlySet<Route>, modelIds: ReadonlySet<string>): void {
    for (const route of this.#times.keys()) if (!routes.has(route)) this.#times.delete(route);
    for (const id of this.#saved.keys()) if (!modelIds.has(id)) this.#saved.delete(id);
  }

  /** A route answered a call, which pays for a part of a second attempt. */
  answered(model: Model, route: Route, load: CallLoad, ms: number): void {
    if (model.routes.length < 2) return;
    let ofRoute = this.#times.get(route);
    if (ofRoute === undefined) this.#times.set(route, ofRoute = new Map());
    const key = keyOf(load);
    let times = ofRoute.get(key);
    if (times === undefined) ofRoute.set(key, times = []);
    (times[classOf(load)] ??= new LatencyHistogram()).add(ms);
    const { operation } = load;
    const saved = Math.min(maxSavedHedges, this.#savedOf(model, operation) + hedgeShare);
    this.#save(model, operation, saved);
  }

  /**
   * Another route was quicker than this one, which would have taken longer than `ms`. Counted as if it had answered now:
   * without it, the 95th percentile would fall with every second attempt, and these would multiply. Not while little is
   * known of the route: one that hangs from the beginning would seem to be slow.
   */
  beaten(route: Route, load: CallLoad, ms: number): void {
    const times = this.#times.get(route)?.get(keyOf(load))?.[classOf(load)];
    if (times !== undefined && times.count >= enoughCalls) times.add(ms);
  }

  /** Milliseconds after which a route is slow for this load. */
  slowAfterMs(model: Model, route: Route, load: CallLoad): number {
    return this.#waitOf(model, route, load).afterMs;
  }

  /** Whether a second attempt may start beside one that waited for `waitedMs`; it is paid from the budget then. */
  takeHedge(model: Model, route: Route, load: CallLoad, waitedMs: number): boolean {
    const { p95Ms, unpaidMs } = this.#waitOf(model, route, load);
    const saved = this.#savedOf(model, load.operation);
    const kept = waitedMs < p95Ms ? firstHedges : 0;
    if (saved < kept + 1 && waitedMs < unpaidMs) return false;
    this.#save(model, load.operation, Math.max(-maxOwedHedges, saved - 1));
    return true;
  }

  #waitOf(model: Model, route: Route, load: CallLoad): Wait {
    const leastMs = dear.has(load.operation) ? minDearWaitMs : minWaitMs;
    return waitOf(this.#timesFor(model, route, load), leastMs);
  }

  /** The times of such calls: on this route, or else on another of the model; of this size, or else of the nearest. */
  #timesFor(model: Model, route: Route, load: CallLoad): LatencyHistogram | undefined {
    const key = keyOf(load);
    const at = classOf(load);
    const others = model.routes.filter((other) => other !== route);
    for (let far = 0; far < sizeClasses; far++) {
      for (const one of [route, ...others]) {
        const times = this.#times.get(one)?.get(key) ?? [];
        // The larger one first: it is better to wait too long for a small call than to double a large one.
        const found = times[at + far] ?? times[at - far];
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  #savedOf(model: Model, operation: Operation): number {
    return this.#saved.get(model.id)?.get(operation) ?? firstHedges;
  }

  #save(model: Model, operation: Operation, saved: number): void {
    let ofModel = this.#saved.get(model.id);
    if (ofModel === undefined) this.#saved.set(model.id, ofModel = new Map());
    ofModel.set(operation, saved);
  }
}

function keyOf({ operation, stream }: CallLoad): string {
  return stream ? `${operation} stream` : operation;
}
