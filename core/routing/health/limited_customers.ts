/**
 * Customers whose calls a provider refused for their rate (429) on one route. One such refusal says little of the others:
 * it rests that customer first, and the route only when several customers got it since a call last worked.
 *
 * A customer who has most of the calls that the route serves uses up what the provider allows, and the refusals reach
 * the others, too. Such a customer is blamed for them, rests, and then calls at a pace that leaves room.
 */
import { breakerPauseMaxMs, rateLimitRestMs } from "./limits.ts";

// How often a customer who uses up what a provider allows may call a route: less after each limit, then more again.

/** Part of its rate that is left after a limit. */
const leftAfterLimit = 0.7;

/** Milliseconds in which several limits count as one: they are of calls that began at the same rate. */
const sameLimitMs = 1_000;

/** Milliseconds without a limit in which the rate grows by as much again. */
const growthMs = 20_000;

/** Milliseconds without a limit after which a customer is free again. */
const freeAfterMs = 60_000;

/** The slowest pace: a customer always finds out within this time whether more is possible. */
const slowestMs = 5_000;

/** The pace of one customer on one route. */
class Pace {
  /** Milliseconds between two calls, as of the last limit. */
  #everyMs: number;
  #limitedAtMs: number;
  #nextAtMs: number;

  /** @param perMs calls in a millisecond that the route served of late */
  constructor(perMs: number, nowMs: number) {
    this.#everyMs = perMs > 0 ? Math.min(slowestMs, 1 / perMs / leftAfterLimit) : slowestMs;
    this.#limitedAtMs = nowMs;
    this.#nextAtMs = nowMs;
  }

  /** The provider has limited the route again while it served so many calls in a millisecond. */
  limited(perMs: number, nowMs: number): void {
    if (nowMs - this.#limitedAtMs < sameLimitMs) return;
    const servedMs = perMs > 0 ? 1 / perMs : 0;
    this.#everyMs = Math.min(
      slowestMs,
      Math.max(this.#intervalMs(nowMs), servedMs) / leftAfterLimit,
    );
    this.#limitedAtMs = nowMs;
  }

  /** Whether it has lasted so long without a limit that it may end. */
  isOver(nowMs: number): boolean {
    return nowMs - this.#limitedAtMs >= freeAfterMs;
  }

  /** Milliseconds until the next call may begin; 0 if it may now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextAtMs - nowMs);
  }

  /** A call begins. */
  began(nowMs: number): void {
    this.#nextAtMs = Math.max(nowMs, this.#nextAtMs) + this.#intervalMs(nowMs);
  }

  #intervalMs(nowMs: number): number {
    return this.#everyMs / (1 + (nowMs - this.#limitedAtMs) / growthMs);
  }
}

// Which customers a route has served of late, to find who uses up what its provider allows.

/** Milliseconds of each of the two halves of the window: a provider's limit per second or minute shows within it. */
const halfWindowMs = 2_500;

/** Customers that are counted at once; those that come beyond are not heavy. */
const maxCustomers = 1_000;

/** Served calls in the window from which a customer is heavy: about one a second. */
const heavyCalls = 5;

/** Factor by which a heavy customer has more calls than one whose refusal it is blamed for. */
const provokingFactor = 2;

/**
 * Counts calls that worked, by customer, over the last 2.5 to 5 seconds.
 *
 * @example
 * ```ts
 * import { RecentLoad } from "./limited_customers.ts";
 * const load = new RecentLoad();
 * for (let call = 0; call < 10; call++) load.note("flooding", call * 100);
 * load.note("calm", 900);
 * if (load.provoker("calm", 1_000) !== "flooding") throw new Error("who else?");
 * if (load.provoker("flooding", 1_000) !== undefined) throw new Error("nobody else");
 * ```
 */
export class RecentLoad {
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  #beganMs = 0;

  note(customer: string, nowMs: number, calls = 1): void {
    this.#turn(nowMs);
    addTo(this.#young, customer, calls);
  }

  /** Whether the route served so many calls of a customer that a limit may be of that customer's making. */
  isHeavy(customer: string, nowMs: number): boolean {
    this.#turn(nowMs);
    return this.#callsOf(customer) >= heavyCalls;
  }

  /** The calls of a customer in a millisecond. */
  perMs(customer: string, nowMs: number): number {
    this.#turn(nowMs);
    return this.#callsOf(customer) / (nowMs - this.#beganMs + halfWindowMs);
  }

  /** The heaviest other customer, if it has so many more calls that it provoked a refusal of this one. */
  provoker(customer: string, nowMs: number): string | undefined {
    this.#turn(nowMs);
    let heaviest: string | undefined;
    let most = Math.max(heavyCalls, provokingFactor * this.#callsOf(customer)) - 1;
    for (const calls of [this.#young, this.#old]) {
      for (const other of calls.keys()) {
        const itsCalls = this.#callsOf(other);
        if (itsCalls <= most || other === customer) continue;
        most = itsCalls;
        heaviest = other;
      }
    }
    return heaviest;
  }

  #callsOf(customer: string): number {
    return (this.#young.get(customer) ?? 0) + (this.#old.get(customer) ?? 0);
  }

  #turn(nowMs: number): void {
    const ageMs = nowMs - this.#beganMs;
    if (ageMs < halfWindowMs) return;
    this.#old = ageMs < 2 * halfWindowMs ? this.#young : new Map();
    this.#young = new Map();
    this.#beganMs = nowMs;
  }
}

/** Adds calls of a customer to a bounded count. */
function addTo(counts: Map<string, number>, customer: string, calls: number): void {
  const former = counts.get(customer);
  if (former === undefined && counts.size >= maxCustomers) return;
  counts.set(customer, (former ?? 0) + calls);
}

interface Limited {
  readonly refusedAtMs: number;
  /** The end of the pause that the provider asked for. */
  readonly askedUntilMs: number;
  /** Moment at which the next call of this customer may try again: soon, and later each time it is refused. */
  readonly restUntilMs: number;
  readonly refusals: number;
}

/** State of a limited customer, for the other threads of a process: as durations. */
export interface SharedLimit {
  readonly refusedAgoMs: number;
  readonly askedMs: number;
  readonly restMs: number;
  readonly refusals: number;
  /** It was just refused although the route serves many of its calls. */
  readonly isHeavy: boolean;
}

/** Customers who must have been refused before a route rests for all. */
const customersOfEvidence = 2;
/** Milliseconds after a refusal for which served calls are counted: longer than any pace lasts. */
const countedMs = 120_000;
/** Milliseconds for which a refusal that a request may have caused counts: in a minute, calls of a healthy route work. */
const disputedMs = 60_000;
/** First rest of a customer; doubled with each further refusal, up to what the provider asked for. */
const firstRestMs = 1_000;

/**
 * Remembers the customers whose calls a provider refused for their rate (429) on one route.
 *
 * @example
 * ```ts
 * import { LimitedCustomers } from "./limited_customers.ts";
 * const limited = new LimitedCustomers();
 * if (limited.refused("a", 30_000, 0)) throw new Error("one customer is no evidence");
 * if (limited.restMs("a", 0) !== 1_000 || limited.restMs("b", 0) !== 0) throw new Error("who rests?");
 * if (!limited.refused("b", 30_000, 10)) throw new Error("two are");
 * ```
 */
export class LimitedCustomers {
  readonly #customers = new Map<string, Limited>();
  readonly #load = new RecentLoad();
  /** Moments at which each customer last met a refusal that its request may have caused. */
  readonly #disputedAt = new Map<string, number>();
  /** Of customers who used up what the provider allows. */
  readonly #paces = new Map<string, Pace>();
  /** Calls that this thread served and has not published. */
  #unpublished = new Map<string, number>();
  #refusedAtMs = -Infinity;
  #workedAtMs = -Infinity;

  get size(): number {
    return this.#customers.size;
  }

  /** Customer to blame for a refusal of `customer`: one with most of the served calls, or itself. */
  blamed(customer: string, nowMs: number): string {
    return this.#load.provoker(customer, nowMs) ?? customer;
  }

  /**
   * A call was refused, for which `customer` is to blame.
   *
   * @param askedMs how long the provider asks to be left alone, if it said so
   * @returns whether so many customers were refused that the route should rest for all
   */
  refused(customer: string, askedMs: number | undefined, nowMs: number): boolean {
    this.#refusedAtMs = nowMs;
    const isHeavy = this.#load.isHeavy(customer, nowMs);
    if (isHeavy) this.#slow(customer, nowMs);
    const wantedMs = Math.min(askedMs ?? rateLimitRestMs, breakerPauseMaxMs);
    const former = this.#customers.get(customer);
    // Refusals of concurrent calls count as one.
    const isSame = former !== undefined && nowMs < former.restUntilMs;
    const refusals = (former?.refusals ?? 0) + (isSame ? 0 : 1);
    const restMs = Math.min(wantedMs, firstRestMs * 2 ** Math.min(refusals - 1, 16));
    this.#remember(customer, {
      refusedAtMs: nowMs,
      askedUntilMs: nowMs + wantedMs,
      restUntilMs: isSame ? former.restUntilMs : nowMs + restMs,
      refusals,
    });
    // The route serves it well enough: the limit is of its own making.
    if (isHeavy) return false;
    let evidence = 0;
    for (const { refusedAtMs, askedUntilMs } of this.#customers.values()) {
      if (refusedAtMs > this.#workedAtMs && askedUntilMs > nowMs) evidence++;
    }
    return evidence >= customersOfEvidence;
  }

  /**
   * A call was refused for a reason that its own request may have been: the customer prefers other routes for a while.
   *
   * @returns whether so many customers met it since a call last worked that the route should rest for all
   */
  disputed(customer: string, nowMs: number): boolean {
    this.#disputedAt.delete(customer);
    this.#disputedAt.set(customer, nowMs);
    const [oldest] = this.#disputedAt.keys();
    if (oldest !== undefined && this.#disputedAt.size > maxCustomers) {
      this.#disputedAt.delete(oldest);
    }
    let evidence = 0;
    for (const atMs of this.#disputedAt.values()) {
      if (atMs > this.#workedAtMs && nowMs - atMs < disputedMs) evidence++;
    }
    return evidence >= customersOfEvidence;
  }

  /** Whether a call of `customer` should try other routes first. */
  isDisputed(customer: string, nowMs: number): boolean {
    const atMs = this.#disputedAt.get(customer);
    if (atMs === undefined || nowMs - atMs < disputedMs) return atMs !== undefined;
    this.#disputedAt.delete(customer);
    return false;
  }

  /** A call of `customer` worked, so the route limits not everyone. Returns whether the customer was limited. */
  worked(customer: string | undefined, nowMs: number): boolean {
    if (customer !== undefined && nowMs - this.#refusedAtMs < countedMs) {
      this.#load.note(customer, nowMs);
      addTo(this.#unpublished, customer, 1);
    }
    this.#workedAtMs = nowMs;
    if (this.#customers.size === 0) return false;
    return customer !== undefined && this.#customers.delete(customer);
  }

  /** The calls that were served here since the last time, by customer. */
  takeServed(): readonly (readonly [customer: string, calls: number])[] {
    if (this.#unpublished.size === 0) return [];
    const served = [...this.#unpublished];
    this.#unpublished = new Map();
    return served;
  }

  /** Counts calls that another thread served. */
  served(customer: string, calls: number, nowMs: number): void {
    this.#load.note(customer, nowMs, calls);
  }

  /** Whoever is limited now, or will rest longer when refused again. */
  customers(): Iterable<string> {
    return this.#customers.keys();
  }

  /** State of a customer, for other threads; `undefined` if it is not limited. */
  shared(customer: string, nowMs: number): SharedLimit | undefined {
    const limited = this.#customers.get(customer);
    if (limited === undefined) return undefined;
    return {
      refusedAgoMs: nowMs - limited.refusedAtMs,
      askedMs: this.askedMs(customer, nowMs),
      restMs: this.restMs(customer, nowMs),
      refusals: limited.refusals,
      isHeavy: limited.refusedAtMs === this.#refusedAtMs && this.#load.isHeavy(customer, nowMs),
    };
  }

  /** Merges what another thread knows of a limited customer. */
  merge(customer: string, shared: SharedLimit, nowMs: number): void {
    const former = this.#customers.get(customer);
    this.#refusedAtMs = Math.max(this.#refusedAtMs, nowMs - shared.refusedAgoMs);
    if (shared.isHeavy) this.#slow(customer, nowMs);
    this.#remember(customer, {
      refusedAtMs: Math.max(former?.refusedAtMs ?? -Infinity, nowMs - shared.refusedAgoMs),
      askedUntilMs: Math.max(former?.askedUntilMs ?? 0, nowMs + shared.askedMs),
      restUntilMs: Math.max(former?.restUntilMs ?? 0, nowMs + shared.restMs),
      refusals: Math.max(former?.refusals ?? 0, shared.refusals),
    });
  }

  #remember(customer: string, limited: Limited): void {
    this.#customers.delete(customer);
    this.#customers.set(customer, limited);
    if (this.#customers.size <= maxCustomers) return;
    const [oldest] = this.#customers.keys();
    if (oldest !== undefined) this.#customers.delete(oldest);
  }

  /** Milliseconds until the next call of `customer` may try again; 0 if it may now. */
  restMs(customer: string, nowMs: number): number {
    return Math.max(0, (this.#customers.get(customer)?.restUntilMs ?? 0) - nowMs);
  }

  /** Milliseconds until the pace of `customer` allows another call; 0 if it has none. */
  paceMs(customer: string, nowMs: number): number {
    const pace = this.#paces.get(customer);
    if (pace === undefined) return 0;
    if (!pace.isOver(nowMs)) return pace.waitMs(nowMs);
    this.#paces.delete(customer);
    return 0;
  }

  /** A call of `customer` may go to the route. */
  began(customer: string, nowMs: number): void {
    this.#paces.get(customer)?.began(nowMs);
  }

  #slow(customer: string, nowMs: number): void {
    const perMs = this.#load.perMs(customer, nowMs);
    const pace = this.#paces.get(customer);
    if (pace !== undefined) return pace.limited(perMs, nowMs);
    const [oldest] = this.#paces.keys();
    if (oldest !== undefined && this.#paces.size >= maxCustomers) this.#paces.delete(oldest);
    this.#paces.set(customer, new Pace(perMs, nowMs));
  }

  /** Rest of the time that the provider asked this customer to wait, in milliseconds. */
  askedMs(customer: string, nowMs: number): number {
    return Math.max(0, (this.#customers.get(customer)?.askedUntilMs ?? 0) - nowMs);
  }
}
