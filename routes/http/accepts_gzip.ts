/**
 * Whether a client takes gzip, by its `accept-encoding` (RFC 9110, section 12.5.3): named with a weight above 0, or
 * covered by `*` where it is not named.
 *
 * @example
 * ```ts
 * import { acceptsGzip } from "./accepts_gzip.ts";
 * if (!acceptsGzip("br, gzip") || acceptsGzip("gzip;q=0, *")) throw new Error("misread");
 * ```
 */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const coding of (acceptEncoding ?? "").split(",")) {
    const [name = "", ...parameters] = coding.split(";").map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice("q=".length);
    weights.set(name, weight === undefined ? 1 : Number(weight));
  }
  // What is no number refuses, too.
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
