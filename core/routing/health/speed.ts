/** Measures the speed of a route: its time to first output, and its output per second. */

/** Milliseconds in which a measured slowness loses half its weight if no measurement follows. */
const slownessHalfLifeMs = 30_000;

/** Weight of a new sample in the moving averages: about the last ten samples decide. */
const ewmaShare = 0.2;

/**
 * Average time to first output. It fades while nothing is measured, so that a route is not avoided for ever because
 * it was once slow.
 */
export class FirstOutputTime {
  #averageMs: number | undefined;
  #measuredAtMs = 0;

  /** The average as it was last measured, without fading. */
  get usualMs(): number | undefined {
    return this.#averageMs;
  }

  /**
   * The average, faded since the last measurement; `undefined` before the first. A route that was slow gets a call
   * again after a while, which shows whether it has recovered.
   */
  fadedMs(nowMs: number): number | undefined {
    if (this.#averageMs === undefined) return undefined;
    return this.#averageMs * 0.5 ** ((nowMs - this.#measuredAtMs) / slownessHalfLifeMs);
  }

  /**
   * Adds a measurement. The older the former ones, the less they weigh: one good answer of a route that was slow is
   * enough.
   */
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
