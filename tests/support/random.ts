/** Random numbers that a seed repeats. */

/** Numbers from 0 to 1 that follow from the seed. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A variable of the environment, where there is one: not in a browser. */
export const environment = (name: string): string | undefined =>
  (globalThis as { Deno?: { env?: { get(name: string): string | undefined } } }).Deno?.env?.get(
    name,
  );

/** The seed of the run by the variable `SEED`; `undefined` where each process draws its own. */
export function runSeed(): number | undefined {
  const seed = environment("SEED");
  return seed === undefined || seed === "" ? undefined : Number(seed);
}

/** Numbers from 0 to 1 that follow from the seed of the run. */
export const runRandom = seededRandom(runSeed() ?? Math.floor(Math.random() * 2 ** 31));
