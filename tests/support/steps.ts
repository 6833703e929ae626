/** Counts steps, which are the same on every machine however busy it is: what a test asserts in place of a time. */

/** Computations by name, each of any size, as a module exports them under the name `cases`. */
export type Cases = Readonly<Record<string, (count: number) => unknown>>;

/** How the steps of a case grow. */
export interface Growth {
  /** Steps for twice as much, in ratio: four where they grow with the square. */
  readonly factor: number;
  /** Steps for each unit of the size. */
  readonly each: number;
}

/**
 * Counts the steps of cases of a module, at one size and at twice that.
 */
export async function growthOfSteps(
  module: URL,
  names: readonly string[],
  count: number,
): Promise<ReadonlyMap<string, Growth>> {
  const worker = new Worker(new URL("./step_counter.ts", import.meta.url), { type: "module" });
  try {
    const counted = Promise.withResolvers<readonly number[]>();
    worker.onmessage = ({ data }) => counted.resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      counted.reject(new Error(event.message));
    };
    const runs = names.flatMap((name) => [[name, count], [name, 2 * count]]);
    worker.postMessage({ module: module.href, runs });
    const steps = await counted.promise;
    return new Map(names.map((name, i) => {
      const [once = 0, twice = 0] = steps.slice(2 * i);
      if (once < count) throw new Error(`${name}: ${once} steps are not all`);
      return [name, { factor: twice / once, each: twice / (2 * count) }];
    }));
  } finally {
    worker.terminate();
  }
}

/** Most steps for twice as much, in ratio: some work is done once, and sorting takes a little more. */
export const maxLinearGrowth = 2.5;
