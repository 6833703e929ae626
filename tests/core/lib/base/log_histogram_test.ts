import * as fc from "../../../support/property.ts";
import {
  addDuration,
  addHistogram,
  decodeHistogram,
  durationsIn,
  encodeHistogram,
  quantileMs,
} from "../../../../core/lib/base/log_histogram.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const anyDurations = fc.array(fc.double({ min: 0, max: 2_000_000, noNaN: true }), {
  minLength: 1,
  maxLength: 300,
});

function histogramOf(durations: readonly number[]): number[] {
  const counts: number[] = [];
  for (const ms of durations) addDuration(counts, ms);
  return counts;
}

Deno.test("a histogram comes out of its text as it went in", () => {
  fc.assert(fc.property(anyDurations, (durations) => {
    const counts = histogramOf(durations);
    assertEquals(decodeHistogram(encodeHistogram(counts)), counts);
  }));
  assertEquals(decodeHistogram(encodeHistogram([])), []);
});

Deno.test("the histogram of all is the sum of the histograms of the parts", () => {
  fc.assert(fc.property(anyDurations, anyDurations, (one, other) => {
    const sum = histogramOf(one);
    addHistogram(sum, histogramOf(other));
    assertEquals(sum, histogramOf([...one, ...other]));
    assertEquals(durationsIn(sum), one.length + other.length);
  }));
});

Deno.test("a quantile is within a bucket of the exact one", () => {
  const share = fc.constantFrom(0.5, 0.95, 0.99);
  fc.assert(fc.property(anyDurations, share, (durations, share) => {
    const sorted = durations.toSorted((one, other) => one - other);
    const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    const found = quantileMs(histogramOf(durations), share) ?? -1;
    const step = 2 ** (1 / 4) * 1.000_001;
    assert(exact < 1 ? found === 0 : found >= exact / step && found <= exact * step, `${exact}`);
  }));
  assertEquals(quantileMs([], 0.5), undefined);
});
