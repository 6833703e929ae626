import * as fc from "../../../support/property.ts";
import { LogHistogram } from "../../../../core/lib/base/log_histogram.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const anyDurations = fc.array(fc.double({ min: 0, max: 2_000_000, noNaN: true }), {
  minLength: 1,
  maxLength: 300,
});

function histogramOf(durations: readonly number[]): LogHistogram {
  const histogram = new LogHistogram();
  for (const ms of durations) histogram.add(ms);
  return histogram;
}

const parsed = (one: LogHistogram) => LogHistogram.parse(one.countsText(), one.valuesText());

Deno.test("a histogram comes out of its text as it went in", () => {
  fc.assert(fc.property(anyDurations, (durations) => {
    const histogram = histogramOf(durations);
    assertEquals(parsed(histogram), histogram);
  }));
  assertEquals(parsed(new LogHistogram()), new LogHistogram());
});

Deno.test("the histogram of all is the sum of the histograms of the parts", () => {
  fc.assert(fc.property(anyDurations, anyDurations, (one, other) => {
    const sum = histogramOf(one);
    sum.addAll(histogramOf(other));
    assertEquals(sum, histogramOf([...one, ...other]));
    assertEquals(sum.size, one.length + other.length);
  }));
});

Deno.test("a quantile is within a bucket of the exact one, and exact of fewer than 20", () => {
  const share = fc.constantFrom(0.5, 0.95, 0.99);
  fc.assert(fc.property(anyDurations, share, (durations, share) => {
    const sorted = durations.toSorted((one, other) => one - other);
    const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    const found = histogramOf(durations).quantileMs(share) ?? -1;
    if (durations.length < 20) return assertEquals(found, Math.round(exact));
    const step = 2 ** (1 / 4) * 1.000_001;
    assert(exact < 1 ? found === 0 : found >= exact / step && found <= exact * step, `${exact}`);
  }));
  assertEquals(new LogHistogram().quantileMs(0.5), undefined);
});

Deno.test("without its values a histogram has the quantiles of its buckets", () => {
  const few = histogramOf([100, 259, 300]);
  const bare = LogHistogram.parse(few.countsText());
  assertEquals([few.quantileMs(0.5), bare.values], [259, []]);
  assert(Math.abs((bare.quantileMs(0.5) ?? 0) - 259) < 259 * 0.2);
  // A sum with a part whose values are unknown has none.
  bare.addAll(few);
  assertEquals([bare.size, bare.values], [6, []]);
  // Values that are not as many as the counts are not believed.
  assertEquals(LogHistogram.parse(few.countsText(), "100 259").values, []);
});
