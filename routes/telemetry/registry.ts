/**
 * A small metrics registry with the Prometheus text format (version 0.0.4). Label values come from configuration and
 * our own enumerations, never from callers; a bound on series limits the damage if one does.
 */
import { invariant } from "../../core/lib/assert.ts";

/** Most series of one metric: models × outcomes × statuses of the largest catalog are far fewer. */
const maxSeriesPerMetric = 10_000;

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  lines(): Iterable<string>;
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

  *entries(): Iterable<[string, Value]> {
    for (const { labels, value } of this.#all) yield [labels, value];
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

/** A value of a gauge, read when metrics are scraped. */
export interface GaugeSample {
  readonly labels: readonly string[];
  readonly value: number;
}

/** The metrics of a process, in the order in which they were added. */
export class Registry {
  readonly #metrics: Metric[] = [];

  counter(name: string, help: string, labelNames: readonly string[]): Counter<number> {
    const series = new Series(labelNames, () => ({ value: 0 }));
    this.#metrics.push({
      name,
      help,
      type: "counter",
      *lines() {
        for (const [labels, { value }] of series.entries()) {
          yield `${name}${braced(labels)} ${value}`;
        }
      },
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
      *lines() {
        for (const [labels, { value }] of series.entries()) {
          yield `${name}${braced(labels)} ${format(value)}`;
        }
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
      *lines() {
        for (const [labels, { buckets, sum, count }] of series.entries()) {
          const comma = labels === "" ? "" : ",";
          let below = 0;
          for (const [i, inBucket] of buckets.entries()) {
            below += inBucket;
            yield `${name}_bucket{${labels}${comma}le="${bounds[i] ?? "+Inf"}"} ${below}`;
          }
          yield `${name}_sum${braced(labels)} ${sum}`;
          yield `${name}_count${braced(labels)} ${count}`;
        }
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

  gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: () => Iterable<GaugeSample>,
  ): void {
    this.#metrics.push({
      name,
      help,
      type: "gauge",
      *lines() {
        for (const { labels, value } of read()) {
          yield `${name}${braced(labelText(labelNames, labels))} ${value}`;
        }
      },
    });
  }

  /** The whole registry as text. */
  text(): string {
    let text = "";
    for (const metric of this.#metrics) {
      text += `# HELP ${metric.name} ${metric.help}\n# TYPE ${metric.name} ${metric.type}\n`;
      for (const line of metric.lines()) text += `${line}\n`;
    }
    return text;
  }
}
