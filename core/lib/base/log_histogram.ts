/**
 * Counts durations in fixed logarithmic buckets, so that histograms of hours, models and customers can be added, and a
 * quantile of the sum is as exact as one of its parts: within a tenth of its value. Of few durations the values are
 * kept, too, since a reader of one call of 259 ms expects "259 ms".
 */

/** Buckets per doubling: neighbours differ by 19 %, so the middle of a bucket is at most 9 % off. */
const bucketsPerDoubling = 4;

/** The last bucket begins above half an hour, longer than any call. */
const lastBucket = 84;

/** Durations whose values are kept: with 20 or more, the 95th percentile is no longer the longest. */
const maxValues = 19;

/** Returns the bucket of a duration. Bucket 0 is below a millisecond. */
function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(lastBucket, 1 + Math.floor(Math.log2(ms) * bucketsPerDoubling + 1e-9));
}

/**
 * A histogram of durations.
 *
 * @example
 * ```ts
 * import { LogHistogram } from "./log_histogram.ts";
 * const durations = new LogHistogram();
 * durations.add(259);
 * if (durations.quantileMs(0.95) !== 259) throw new Error("one value is every percentile");
 * for (let ms = 1; ms <= 1_000; ms++) durations.add(ms);
 * const p95 = durations.quantileMs(0.95) ?? 0;
 * if (Math.abs(p95 - 950) > 95) throw new Error(`${p95}`);
 * ```
 */
export class LogHistogram {
  /** Numbers of durations by bucket; absent entries are 0. */
  readonly counts: number[] = [];
  /** All durations in whole milliseconds, ascending; empty if there are more than are kept, or some are unknown. */
  values: readonly number[] = [];
  #size = 0;

  /** Number of durations. */
  get size(): number {
    return this.#size;
  }

  /** Counts a duration. */
  add(ms: number): void {
    const before = this.#size;
    this.#count(bucketOf(ms), 1);
    this.#keepValues(before, [Math.max(0, Math.round(ms))], 1);
  }

  /** Adds the durations of another histogram. */
  addAll(other: LogHistogram): void {
    const before = this.#size;
    for (const [bucket, count] of other.counts.entries()) this.#count(bucket, count);
    this.#keepValues(before, other.values, other.size);
  }

  /**
   * Returns the duration in milliseconds that a share of all durations does not exceed; `undefined` if there are none.
   * Of fewer than 20 it is one of them (nearest rank).
   */
  quantileMs(share: number): number | undefined {
    const all = this.#size;
    if (all === 0) return undefined;
    const wanted = share * all;
    if (this.values.length === all) return this.values[Math.max(0, Math.ceil(wanted) - 1)];
    let below = 0;
    for (const [bucket, count] of this.counts.entries()) {
      if (count > 0 && below + count >= wanted) {
        if (bucket === 0) return 0;
        // Within a bucket durations are taken as spread evenly on the logarithmic scale.
        const within = Math.max(0, (wanted - below) / count);
        return 2 ** ((bucket - 1 + within) / bucketsPerDoubling);
      }
      below += count;
    }
    return undefined;
  }

  /** The counts as text: `bucket:count`, empty buckets left out. */
  countsText(): string {
    return this.counts.flatMap((count, bucket) => count > 0 ? [`${bucket}:${count}`] : [])
      .join(" ");
  }

  /** The values as text. */
  valuesText(): string {
    return this.values.join(" ");
  }

  /** Reads both texts. Buckets beyond the last are taken as the last; values that are not all there are left out. */
  static parse(countsText: string, valuesText = ""): LogHistogram {
    const histogram = new LogHistogram();
    for (const pair of countsText === "" ? [] : countsText.split(" ")) {
      const colon = pair.indexOf(":");
      histogram.#count(
        Math.min(Number(pair.slice(0, colon)), lastBucket),
        Number(pair.slice(colon + 1)),
      );
    }
    const values = valuesText === "" ? [] : valuesText.split(" ").map(Number);
    if (values.length === histogram.size) histogram.values = values;
    return histogram;
  }

  #count(bucket: number, count: number): void {
    while (this.counts.length <= bucket) this.counts.push(0);
    this.counts[bucket]! += count;
    this.#size += count;
  }

  #keepValues(before: number, added: readonly number[], addedCount: number): void {
    const isWhole = this.values.length === before && added.length === addedCount &&
      before + addedCount <= maxValues;
    this.values = isWhole ? [...this.values, ...added].sort((one, other) => one - other) : [];
  }
}
