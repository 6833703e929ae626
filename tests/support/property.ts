/**
 * fast-check with the seed and the number of cases of the test run: `import * as fc from ".../property.ts"`.
 *
 * `SEED` makes the cases repeat; without it each run draws others. `PROPERTY_CASES=tenth` draws a tenth of the cases
 * that a property asks for: the fast tier, which runs often and each time with a new seed.
 */
import {
  assert as assertProperty,
  type IAsyncProperty,
  type IProperty,
  type IRawProperty,
  type Parameters,
} from "fast-check";

export * from "fast-check";

/** fast-check's own number of cases where a property names none. */
const defaultCases = 100;

/** Cases that a property has at least, unless it asks for fewer. */
const minCases = 5;

/** The environment of Deno; other runtimes have none, and run all cases. */
const environment = (name: string): string | undefined =>
  (globalThis as { Deno?: { env?: { get(name: string): string | undefined } } }).Deno?.env?.get(
    name,
  );

/** Cases that a property which asks for `asked` gets in this run, for tests that count what happened in them. */
export function casesOf(asked: number): number {
  if (environment("PROPERTY_CASES") !== "tenth") return asked;
  return Math.min(asked, Math.max(minCases, Math.ceil(asked / 10)));
}

function withRun<Ts>(params: Parameters<Ts> = {}): Parameters<Ts> {
  const seed = environment("SEED");
  const run = { ...params, numRuns: casesOf(params.numRuns ?? defaultCases) };
  return seed === undefined || seed === "" ? run : { seed: Number(seed), ...run };
}

/** Like fast-check's `assert`, with the seed and the number of cases of the run. */
export function assert<Ts>(property: IAsyncProperty<Ts>, params?: Parameters<Ts>): Promise<void>;
export function assert<Ts>(property: IProperty<Ts>, params?: Parameters<Ts>): void;
export function assert<Ts>(
  property: IRawProperty<Ts>,
  params?: Parameters<Ts>,
): Promise<void> | void {
  return assertProperty(property, withRun(params));
}
