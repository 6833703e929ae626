/**
 * A small metrics registry with the Prometheus text format (version 0.0.4). Label values come from configuration and
 * our own enumerations, never from callers; a bound on series limits the damage if one does.
 */
import { invariant } from "../../core/lib/base/assert.ts";

/** Most series of one metric: models × outcomes × statuses of the largest catalog are far fewer. */
const maxSeriesPerMetric = 10_000;

/** Ways to merge the values of several threads: gauges of one state have the worst, all others the sum. */
export type Merging = "sum" | "max" | "min";

/** The value of one series. */
type SeriesValue = number | bigint | HistogramCounts;

/** Series of a metric with their labels as text. */
type SeriesValues = readonly (readonly [labels: string, value: SeriesValue])[];

/** All values of a registry, by the names of metrics. Can be sent to another thread. */
export type RegistrySnapshot = ReadonlyMap<string, SeriesValues>;

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly merging: Merging;
  values(): SeriesValues;
  /** The lines of one series. */
  lines(labels: string, value: SeriesValue): Iterable<string>;
}

function escaped(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, i) => `${name}="${escaped(values[i] ?? "")}"`).join(",");
}

function braced(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

/** A node of the tree of label values, one level per label: joining the values would cost more than counting. */
interface Step<Value> {
  readonly next: Map<string, Step<Value>>;
  series: { readonly labels: string; readonly value: Value } | undefined;
}

/** Series of one metric, by their label values. */
class Series<Value> {
  readonly #names: readonly string[];
  readonly #make: () => Value;
  readonly #first: Step<Value> = { next: new Map(), series: undefined };
  readonly #all: { readonly labels: string; readonly value: Value }[] = [];

  constructor(names: readonly string[], make: () => Value) {
    this.#names = names;
    this.#make = make;
  }

  /** The series of these label values; `undefined` if it would exceed the bound. */
  of(values: readonly string[]): Value | undefined {
    invariant(
      values.length === this.#names.length,
      "a metric needs a value for each of its labels",
    );
    let step: Step<Value> | undefined = this.#first;
    for (const value of values) step = step?.next.get(value);
    return step?.series === undefined ? this.#add(values) : step.series.value;
  }

  #add(values: readonly string[]): Value | undefined {
    if (this.#all.length >= maxSeriesPerMetric) return undefined;
    let step = this.#first;
    for (const value of values) {
      const next = step.next.get(value) ?? { next: new Map(), series: undefined };
      step.next.set(value, next);
      step = next;
    }
    const series = { labels: labelText(this.#names, values), value: this.#make() };
    step.series = series;
    this.#all.push(series);
    return series.value;
  }

  values<Read>(read: (value: Value) => Read): [string, Read][] {
    return this.#all.map(({ labels, value }) => [labels, read(value)]);
  }
}

/** A metric that only grows. Counts are `number`, money is µVND. */
export interface Counter<Amount> {
  add(labels: readonly string[], amount: Amount): void;
}

/** A metric that counts values in buckets. */
export interface Histogram {
  observe(labels: readonly string[], value: number): void;
}

interface HistogramCounts {
  readonly buckets: Float64Array;
  sum: number;
  count: number;
}

function merged(a: SeriesValue, b: SeriesValue, merging: Merging): SeriesValue {
  if (typeof a === "number" && typeof b === "number") {
    return merging === "sum" ? a + b : Math[merging](a, b);
  }
  if (typeof a === "bigint" && typeof b === "bigint") return a + b;
  invariant(typeof a === "object" && typeof b === "object", "both are of one metric");
  const buckets = a.buckets.map((count, at) => count + (b.buckets[at] ?? 0));
  return { buckets, sum: a.sum + b.sum, count: a.count + b.count };
}

function mergedSeries(parts: readonly SeriesValues[], merging: Merging): Map<string, SeriesValue> {
  const all = new Map<string, SeriesValue>();
  for (const part of parts) {
    for (const [labels, value] of part) {
      const known = all.get(labels);
      all.set(labels, known === undefined ? value : merged(known, value, merging));
    }
  }
  return all;
}

/** The lines of a counter or a gauge. */
function plainLines(name: string): Metric["lines"] {
  return (labels, value) => [`${name}${braced(labels)} ${value}`];
}

/** A value of a gauge, read when metrics are scraped. */
export interface GaugeSample {
  readonly labels: readonly string[];
  readonly value: number;
}

/** The metrics of a process, in the order in which they were added. */
export class Registry {
  readonly #metrics: Metric[] = [];
  readonly #readings: (() => Promise<void>)[] = [];

  counter(name: string, help: string, labelNames: readonly string[]): Counter<number> {
    const series = new Series(labelNames, () => ({ value: 0 }));
    this.#metrics.push({
      name,
      help,
      type: "counter",
      merging: "sum",
      values: () => series.values(({ value }) => value),
      lines: plainLines(name),
    });
    return {
      add(labels, amount) {
        const one = series.of(labels);
        if (one !== undefined) one.value += amount;
      },
    };
  }

  /** Adds a counter that stays exact for any sum; `format` writes its amount. */
  exactCounter(
    name: string,
    help: string,
    labelNames: readonly string[],
    format: (amount: bigint) => string,
  ): Counter<bigint> {
    const series = new Series(labelNames, () => ({ value: 0n }));
    this.#metrics.push({
      name,
      help,
      type: "counter",
      merging: "sum",
      values: () => series.values(({ value }) => value),
      lines(labels, value) {
        invariant(typeof value === "bigint", "an exact counter has whole amounts");
        return [`${name}${braced(labels)} ${format(value)}`];
      },
    });
    return {
      add(labels, amount) {
        const one = series.of(labels);
        if (one !== undefined) one.value += amount;
      },
    };
  }

  /** @param bounds upper bounds of the buckets, ascending, without infinity */
  histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ): Histogram {
    const series = new Series(labelNames, (): HistogramCounts => ({
      buckets: new Float64Array(bounds.length + 1),
      sum: 0,
      count: 0,
    }));
    this.#metrics.push({
      name,
      help,
      type: "histogram",
      merging: "sum",
      values: () => series.values((counts) => counts),
      *lines(labels, value) {
        invariant(typeof value === "object", "a histogram has counts");
        const comma = labels === "" ? "" : ",";
        let below = 0;
        for (const [i, inBucket] of value.buckets.entries()) {
          below += inBucket;
          yield `${name}_bucket{${labels}${comma}le="${bounds[i] ?? "+Inf"}"} ${below}`;
        }
        yield `${name}_sum${braced(labels)} ${value.sum}`;
        yield `${name}_count${braced(labels)} ${value.count}`;
      },
    });
    return {
      observe(labels, value) {
        const one = series.of(labels);
        if (one === undefined) return;
        const index = bounds.findIndex((bound) => value <= bound);
        one.buckets[index === -1 ? bounds.length : index]! += 1;
        one.sum += value;
        one.count++;
      },
    };
  }

  /** @param merging how the values of several threads become one */
  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<GaugeSample>,
    merging: Merging = "sum",
  ): void {
    this.#readWhenScraped("gauge", { name, help, labelNames, read, merging });
  }

  /** Adds a counter without labels that something else keeps. */
  keptCounter(name: string, help: string, read: () => number, merging: Merging = "sum"): void {
    const sample = () => [{ labels: [], value: read() }];
    this.#readWhenScraped("counter", { name, help, labelNames: [], read: sample, merging });
  }

  #readWhenScraped(type: "gauge" | "counter", { name, help, labelNames, read, merging }: {
    readonly name: string;
    readonly help: string;
    readonly labelNames: readonly string[];
    readonly read: () => Iterable<GaugeSample>;
    readonly merging: Merging;
  }): void {
    this.#metrics.push({
      name,
      help,
      type,
      merging,
      values: () =>
        Array.from(read(), ({ labels, value }) => [labelText(labelNames, labels), value] as const),
      lines: plainLines(name),
    });
  }

  /** Adds what has to be read before the metrics are scraped. It must not fail. */
  readBefore(read: () => Promise<void>): void {
    this.#readings.push(read);
  }

  /** The text, after everything was read; with the values of other threads, as they are then. */
  async scrape(others: () => readonly RegistrySnapshot[] = () => []): Promise<string> {
    await Promise.all(this.#readings.map((read) => read()));
    return this.text(others());
  }

  /** All values as they are now. */
  snapshot(): RegistrySnapshot {
    return new Map(this.#metrics.map((metric) => [metric.name, metric.values()]));
  }

  /** Rest of threads that have ended: the sums of their counters, without gauges. */
  remaining(ended: readonly RegistrySnapshot[]): RegistrySnapshot {
    const growing = this.#metrics.filter(({ type }) => type !== "gauge");
    return new Map(growing.map(({ name, merging }) => {
      const parts = ended.map((snapshot) => snapshot.get(name) ?? []);
      return [name, [...mergedSeries(parts, merging)]];
    }));
  }

  /** The whole registry as text, together with the values of other threads. */
  text(others: readonly RegistrySnapshot[] = []): string {
    let text = "";
    for (const { name, help, type, merging, values, lines } of this.#metrics) {
      text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      const parts = [values(), ...others.map((snapshot) => snapshot.get(name) ?? [])];
      for (const [labels, value] of mergedSeries(parts, merging)) {
        for (const line of lines(labels, value)) text += `${line}\n`;
      }
    }
    return text;
  }
}
