/**
 * Orders the routes of a model for a call. Pure.
 *
 * See docs/behaviour.md#routing.
 */
import type { Route, RouteStyle } from "../catalog/catalog.ts";
import type { FormerRoute } from "./contract/router.ts";

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
 * import { isNear, NetworkDistance } from "./choose.ts";
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

/** What the order of routes depends on. */
export interface ChooseOptions {
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
