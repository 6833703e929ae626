/**
 * Customers whose calls a provider refused for their rate (429) on one route. One such refusal says little of the others:
 * it rests that customer first, and the route only when several customers got it since a call last worked.
 *
 * A customer who has most of the calls that the route serves uses up what the provider allows, and the refusals reach
 * the others, too. Such a customer is blamed for them, rests, and then calls at a pace that leaves room.
 */
import { breakerPauseMaxMs, rateLimitRestMs } from "./limits.ts";
import { Pace } from "./pace.ts";
import { addTo, RecentLoad } from "./recent_load.ts";

interface Limited {
  readonly refusedAtMs: number;
  /** The end of the pause that the provider asked for. */
  readonly askedUntilMs: number;
  /** When the next call of this customer may try again: soon, and later each time it is refused. */
  readonly restUntilMs: number;
  readonly refusals: number;
}

/** What is known of a limited customer, for the other threads of a process: as durations. */
export interface SharedLimit {
  readonly refusedAgoMs: number;
  readonly askedMs: number;
  readonly restMs: number;
  readonly refusals: number;
  /** It was just refused although the route serves many of its calls. */
  readonly isHeavy: boolean;
}

/** Customers that are remembered per route; the longest unused is removed first. */
const mostCustomers = 1_000;
/** Customers who must have been refused before a route rests for all. */
const customersOfEvidence = 2;
/** Milliseconds after a refusal for which served calls are counted: longer than any pace lasts. */
const countedMs = 120_000;
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
  /** Of customers who used up what the provider allows. */
  readonly #paces = new Map<string, Pace>();
  /** Calls that this thread served and others were not told of. */
  #untold = new Map<string, number>();
  #refusedAtMs = -Infinity;
  #workedAtMs = -Infinity;

  get size(): number {
    return this.#customers.size;
  }

  /** Who is to blame for a refusal of `customer`: a customer with most of the served calls, or itself. */
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

  /** A call of `customer` worked, so the route limits not everyone. Returns whether the customer was limited. */
  worked(customer: string | undefined, nowMs: number): boolean {
    if (customer !== undefined && nowMs - this.#refusedAtMs < countedMs) {
      this.#load.note(customer, nowMs);
      addTo(this.#untold, customer, 1);
    }
    if (this.#customers.size === 0) return false;
    this.#workedAtMs = nowMs;
    return customer !== undefined && this.#customers.delete(customer);
  }

  /** The calls that were served here since the last time, by customer. */
  takeServed(): readonly (readonly [customer: string, calls: number])[] {
    if (this.#untold.size === 0) return [];
    const served = [...this.#untold];
    this.#untold = new Map();
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

  /** What is known of a customer, for other threads; `undefined` if it is not limited. */
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

  /** Takes over what another thread knows of a limited customer. */
  adopt(customer: string, shared: SharedLimit, nowMs: number): void {
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
    if (this.#customers.size <= mostCustomers) return;
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
    if (oldest !== undefined && this.#paces.size >= mostCustomers) this.#paces.delete(oldest);
    this.#paces.set(customer, new Pace(perMs, nowMs));
  }

  /** What is left of the time that the provider asked this customer to wait, in milliseconds. */
  askedMs(customer: string, nowMs: number): number {
    return Math.max(0, (this.#customers.get(customer)?.askedUntilMs ?? 0) - nowMs);
  }
}
