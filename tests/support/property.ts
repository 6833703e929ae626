/**
 * fast-check with the seed and the number of cases of the test run: `import * as fc from ".../property.ts"`.
 *
 * `SEED` makes the cases repeat; without it each run draws others. `PROPERTY_CASES` draws a part of the cases that a
 * property asks for: `tenth` for the fast tier, which runs often and each time with a new seed, and for runs of one
 * seed, which would only try the same cases again.
 */
import {
  assert as assertProperty,
  type IAsyncProperty,
  type IProperty,
  type IRawProperty,
  type Parameters,
} from "fast-check";
import { environment, runRandom, runSeed } from "./random.ts";

export * from "fast-check";

/** fast-check's own number of cases where a property names none. */
const defaultCases = 100;

/** Cases that a property has at least, unless it asks for fewer. */
const minCases = 5;

/** The parts by name: one case of so many. */
const parts: Readonly<Record<string, number>> = { hundredth: 100, tenth: 10, third: 3 };

function partOf(asked: number): number {
  const name = environment("PROPERTY_CASES") ?? "all";
  return name === "all" ? asked : Math.ceil(asked / (parts[name] ?? 1));
}

/** Cases that a property which asks for `asked` gets in this run, for tests that count what happened in them. */
export function casesOf(asked: number): number {
  return Math.min(asked, Math.max(minCases, partOf(asked)));
}

/**
 * The cases of a long table that this run tries: all, or as many of them as its part is, which its seed chooses. Each
 * call chooses for itself.
 */
export function drawn<Case>(cases: readonly Case[]): readonly Case[] {
  const count = Math.max(1, partOf(cases.length));
  if (count >= cases.length) return cases;
  return Array.from({ length: count }, () => cases[Math.floor(runRandom() * cases.length)] as Case);
}

function withRun<Ts>(params: Parameters<Ts> = {}): Parameters<Ts> {
  const seed = runSeed();
  const run = { ...params, numRuns: casesOf(params.numRuns ?? defaultCases) };
  return seed === undefined ? run : { seed, ...run };
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
