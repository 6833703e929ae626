/**
 * Collects the paths of what a conversion dropped or approximated.
 *
 * Paths contain field names from clients and go into a response header, so other characters than `[A-Za-z0-9_.-]` are
 * replaced and the list is bounded ({@linkcode maxConversionWarnings}); a last entry `more` marks a cut list.
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
  /** Few: a list is searched as quickly as a set, and made for each call. */
  readonly #paths: string[] = [];
  #cut = false;

  constructor(paths: readonly string[] = []) {
    for (const path of paths) this.add(path);
  }

  add(path: string): void {
    if (this.#cut) return;
    const name = clean(path);
    if (this.#paths.includes(name)) return;
    if (this.#paths.length < maxConversionWarnings) this.#paths.push(name);
    else this.#cut = true;
  }

  /** The paths in the order in which they were found, each once. */
  list(): readonly string[] {
    return this.#cut ? [...this.#paths, "more"] : [...this.#paths];
  }
}

function clean(path: string): string {
  return path.slice(0, 96).replace(/[^A-Za-z0-9_.-]/g, "_");
}
