/**
 * Customers whose calls a provider refused for their rate (429) on one route. One such refusal says little of the others:
 * it rests that customer first, and the route only when several customers got it since a call last worked.
 */
import { breakerPauseMaxMs, rateLimitRestMs } from "./limits.ts";

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
}

/** Customers that are remembered per route; the longest unused is removed first. */
const mostCustomers = 1_000;
/** Customers who must have been refused before a route rests for all. */
const customersOfEvidence = 2;
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
  #workedAtMs = -Infinity;

  get size(): number {
    return this.#customers.size;
  }

  /**
   * A call of `customer` was refused.
   *
   * @param askedMs how long the provider asks to be left alone, if it said so
   * @returns whether so many customers were refused that the route should rest for all
   */
  refused(customer: string, askedMs: number | undefined, nowMs: number): boolean {
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
    let evidence = 0;
    for (const { refusedAtMs, askedUntilMs } of this.#customers.values()) {
      if (refusedAtMs > this.#workedAtMs && askedUntilMs > nowMs) evidence++;
    }
    return evidence >= customersOfEvidence;
  }

  /** A call of `customer` worked, so the route limits not everyone. Returns whether the customer was limited. */
  worked(customer: string | undefined, nowMs: number): boolean {
    if (this.#customers.size === 0) return false;
    this.#workedAtMs = nowMs;
    return customer !== undefined && this.#customers.delete(customer);
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
    };
  }

  /** Takes over what another thread knows of a limited customer. */
  adopt(customer: string, shared: SharedLimit, nowMs: number): void {
    const former = this.#customers.get(customer);
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

  /** What is left of the time that the provider asked this customer to wait, in milliseconds. */
  askedMs(customer: string, nowMs: number): number {
    return Math.max(0, (this.#customers.get(customer)?.askedUntilMs ?? 0) - nowMs);
  }
}
