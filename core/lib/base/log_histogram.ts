/**
 * Counts durations in fixed logarithmic buckets, so that histograms of hours, models and customers can be added, and a
 * quantile of the sum is as exact as one of its parts: within a tenth of its value.
 */

/** Buckets per doubling: neighbours differ by 19 %, so the middle of a bucket is at most 9 % off. */
const bucketsPerDoubling = 4;

/** The last bucket begins above half an hour, longer than any call. */
const lastBucket = 84;

/** Numbers of durations by bucket; absent entries are 0. */
export type LogHistogram = readonly number[];

/** Returns the bucket of a duration. Bucket 0 is below a millisecond. */
function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(lastBucket, 1 + Math.floor(Math.log2(ms) * bucketsPerDoubling + 1e-9));
}

/** Counts a duration, in place. */
export function addDuration(counts: number[], ms: number): void {
  const bucket = bucketOf(ms);
  while (counts.length <= bucket) counts.push(0);
  counts[bucket]! += 1;
}

/** Adds the counts of another histogram, in place. */
export function addHistogram(counts: number[], other: LogHistogram): void {
  while (counts.length < other.length) counts.push(0);
  for (let bucket = 0; bucket < other.length; bucket++) counts[bucket]! += other[bucket]!;
}

/** Returns how many durations a histogram has. */
export function durationsIn(counts: LogHistogram): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Returns the duration in milliseconds that a share of all durations does not exceed; `undefined` if there are none.
 *
 * @example
 * ```ts
 * import { addDuration, quantileMs } from "./log_histogram.ts";
 * const counts: number[] = [];
 * for (let ms = 1; ms <= 1_000; ms++) addDuration(counts, ms);
 * const p95 = quantileMs(counts, 0.95) ?? 0;
 * if (Math.abs(p95 - 950) > 95) throw new Error(`${p95}`);
 * ```
 */
export function quantileMs(counts: LogHistogram, share: number): number | undefined {
  const all = durationsIn(counts);
  if (all === 0) return undefined;
  const wanted = share * all;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
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

/** Writes a histogram as text: `bucket:count`, empty buckets left out. */
export function encodeHistogram(counts: LogHistogram): string {
  let text = "";
  for (const [bucket, count] of counts.entries()) {
    if (count > 0) text += `${text === "" ? "" : " "}${bucket}:${count}`;
  }
  return text;
}

/** Reads what {@linkcode encodeHistogram} wrote. Buckets beyond the last are taken as the last. */
export function decodeHistogram(text: string): number[] {
  const counts: number[] = [];
  if (text === "") return counts;
  for (const pair of text.split(" ")) {
    const colon = pair.indexOf(":");
    const bucket = Math.min(Number(pair.slice(0, colon)), lastBucket);
    while (counts.length <= bucket) counts.push(0);
    counts[bucket]! += Number(pair.slice(colon + 1));
  }
  return counts;
}
