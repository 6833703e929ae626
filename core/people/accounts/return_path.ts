/** The page to open after signing in. */

import { parseUrl } from "../../lib/runtime/mod.ts";

/**
 * Reads a path of this site from a `next` parameter; `fallback` for anything that could lead
 * elsewhere.
 *
 * Only printable ASCII without the backslash is accepted: browsers drop tabs and line breaks and
 * read `\` as `/`. The path is then resolved and must still be of this origin. The fragment is
 * dropped.
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
