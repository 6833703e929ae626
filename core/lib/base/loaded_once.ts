/** Loads a part of the program with its first use. */

/**
 * Returns a function that loads something at its first call. All callers share that one load and its result; after a
 * load that failed the next call loads again.
 *
 * @example
 * ```ts
 * import { loadedOnce } from "./loaded_once.ts";
 * let loads = 0;
 * const load = loadedOnce(() => Promise.resolve(++loads));
 * await Promise.all([load(), load()]);
 * if (await load() !== 1) throw new Error("loaded again");
 * ```
 */
export function loadedOnce<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let loading: Promise<Part> | undefined;
  return () =>
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
}
