/** How quick a route is: when its first output comes, and how fast the rest follows. */

/** Milliseconds in which a measured slowness loses half its weight if no measurement follows. */
const slownessHalfLifeMs = 30_000;

/** Share of a new sample in the moving averages: the last ten or so decide. */
const ewmaShare = 0.2;

/** Average time to first output. It fades while nothing is measured, so that slowness is not held against a route for ever. */
export class FirstOutputTime {
  #averageMs: number | undefined;
  #measuredAtMs = 0;

  /** The average as it was last measured, faded or not: what the route took in its good days. */
  get usualMs(): number | undefined {
    return this.#averageMs;
  }

  /**
   * `undefined` before the first measurement. A route that was slow gets a call again after a while, and so a chance
   * to show that it has recovered.
   */
  fadedMs(nowMs: number): number | undefined {
    if (this.#averageMs === undefined) return undefined;
    return this.#averageMs * 0.5 ** ((nowMs - this.#measuredAtMs) / slownessHalfLifeMs);
  }

  /** The older the former measurements, the less they weigh: one good answer of a route that was slow is enough. */
  measure(ms: number, nowMs: number): void {
    const faded = this.fadedMs(nowMs);
    const former = this.#averageMs;
    this.#measuredAtMs = nowMs;
    if (faded === undefined || former === undefined || former === 0) this.#averageMs = ms;
    else this.#averageMs = ms + (1 - ewmaShare) * (faded / former) * (faded - ms);
  }
}

/** Average output tokens per second, of finished streams. */
export class Throughput {
  #tokensPerSecond: number | undefined;

  get tokensPerSecond(): number | undefined {
    return this.#tokensPerSecond;
  }

  measure(outputTokens: number, ms: number): void {
    if (ms < 1 || outputTokens < 1) return;
    const rate = outputTokens * 1000 / ms;
    this.#tokensPerSecond = this.#tokensPerSecond === undefined
      ? rate
      : this.#tokensPerSecond + ewmaShare * (rate - this.#tokensPerSecond);
  }
}
