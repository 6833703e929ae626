/**
 * The path of an absolute URL as it came, without what a parser would cost. Every layer matches this one form: a path
 * that spells `metrics` as `%6detrics` is another path, and meets no route that a rule before the gateway has closed.
 * What stands for a parameter of a route is decoded where it is read.
 *
 * @example
 * ```ts
 * import { pathOf } from "./path_of.ts";
 * const path = pathOf("http://gateway.example/v1/models?limit=2");
 * if (path !== "/v1/models") throw new Error(path);
 * ```
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return start === -1 ? "/" : url.slice(start, query === -1 ? undefined : query);
}
