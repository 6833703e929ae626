/** How often a customer who uses up what a provider allows may call a route: less after each limit, then more again. */

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
export class Pace {
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
