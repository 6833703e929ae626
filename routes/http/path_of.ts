/**
 * Cuts the path out of an absolute URL, as it was sent and without the cost of a parser. Every layer matches this one
 * form: a path that spells `metrics` as `%6detrics` is another path, so it cannot reach a route that a proxy in front
 * has closed. Parameters of a route are decoded where they are read.
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
