/** Quantiles of latencies in constant memory: counts in buckets that grow by a tenth, halved from time to time. */

const smallestMs = 1;
const growth = 1.1;
const bucketCount = 160; // 1.1^160 ms is 70 minutes, longer than every timeout
const logGrowth = Math.log(growth);
/** Samples after which all counts are halved: old ones lose weight, so a shift shows within some hundred calls. */
const halveAtCount = 2_000;

/**
 * Keeps latencies and answers quantiles within a tenth.
 *
 * @example
 * ```ts
 * import { LatencyHistogram } from "./latency_histogram.ts";
 * const histogram = new LatencyHistogram();
 * for (let ms = 1; ms <= 1000; ms++) histogram.add(ms);
 * const p95 = histogram.quantileMs(0.95);
 * if (p95 === undefined || p95 < 900 || p95 > 1050) throw new Error(String(p95));
 * ```
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(bucketCount);
  #total = 0;

  /** Number of samples that quantiles are computed from; older ones count in part. */
  get count(): number {
    return this.#total;
  }

  add(ms: number): void {
    const exact = Math.log(Math.max(ms, smallestMs) / smallestMs) / logGrowth;
    const index = Math.min(bucketCount - 1, Math.floor(exact));
    this.#counts[index]! += 1;
    this.#total++;
    if (this.#total < halveAtCount) return;
    this.#total /= 2;
    for (let i = 0; i < bucketCount; i++) this.#counts[i]! /= 2;
  }

  /** The latency below which the share `q` of samples lies; `undefined` without samples. */
  quantileMs(q: number): number | undefined {
    if (this.#total === 0) return undefined;
    let seen = 0;
    for (let i = 0; i < bucketCount; i++) {
      seen += this.#counts[i]!;
      if (seen >= q * this.#total) return Math.round(smallestMs * growth ** (i + 1));
    }
    return Math.round(smallestMs * growth ** bucketCount);
  }
}
