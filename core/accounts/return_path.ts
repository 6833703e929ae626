/** Where to go after signing in. */

import { parseUrl } from "../lib/runtime/mod.ts";

/**
 * A path of this site out of a `next` parameter, or `fallback` for anything that could lead elsewhere.
 *
 * Only printable ASCII without the backslash is looked at: browsers drop tabs and line breaks and read `\` as `/`.
 * Then the path is resolved, and must still be of this origin. The fragment is dropped.
 *
 * @example
 * ```ts
 * import { returnPath } from "./return_path.ts";
 * if (returnPath("/keys?page=2", "/") !== "/keys?page=2") throw new Error();
 * if (returnPath("//evil.example/", "/") !== "/") throw new Error();
 * if (returnPath("/\\evil.example", "/") !== "/") throw new Error();
 * ```
 */
export function returnPath(next: string | undefined, fallback: string): string {
  if (next === undefined || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(next)) return fallback;
  const here = new URL("https://here.invalid");
  const url = parseUrl(next, here);
  if (url === null || url.origin !== here.origin || url.pathname.startsWith("//")) return fallback;
  return url.pathname + url.search;
}
