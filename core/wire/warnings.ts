/**
 * Collects the paths of what a conversion dropped or approximated.
 *
 * Paths hold field names that strangers sent and end up in a response header, so only `[A-Za-z0-9_.-]` survives and
 * the list is bounded ({@linkcode maxConversionWarnings}); a last entry `more` says that it was cut.
 *
 * @example
 * ```ts
 * import { Warnings } from "./warnings.ts";
 * const warnings = new Warnings();
 * warnings.add("top_k");
 * warnings.add("top_k");
 * warnings.add("x\r\nset-cookie");
 * if (warnings.list().join() !== "top_k,x__set-cookie") throw new Error(warnings.list().join());
 * ```
 */

/** Paths named in `x-gateway-conversion`: a header, so a few kilobytes at most. */
const maxConversionWarnings = 64;

/** The paths of fields that a conversion dropped or approximated, bounded and safe for a header. */
export class Warnings {
  readonly #paths = new Set<string>();
  #cut = false;

  constructor(paths: readonly string[] = []) {
    for (const path of paths) this.add(path);
  }

  add(path: string): void {
    if (this.#paths.size >= maxConversionWarnings) {
      this.#cut ||= !this.#paths.has(clean(path));
      return;
    }
    this.#paths.add(clean(path));
  }

  /** The paths in the order in which they were found, each once. */
  list(): readonly string[] {
    return this.#cut ? [...this.#paths, "more"] : [...this.#paths];
  }
}

function clean(path: string): string {
  return path.slice(0, 96).replace(/[^A-Za-z0-9_.-]/g, "_");
}
