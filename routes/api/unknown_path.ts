/**
 * Writes the 404 for a path that is not served. The cause is nearly always a wrong base address, or an endpoint that
 * only vendors have.
 */

/** Characters of an unknown path that the 404 repeats: longer than any path that a library requests. */
const maxRepeatedPathChars = 64;

function withoutVersion(path: string): string {
  return path.slice("/v1".length);
}

/** Finds the served path that `pathname` ends with, whatever the base address before it. */
function meantPath(pathname: string, served: readonly string[]): string | undefined {
  const tidy = pathname.replace(/\/{2,}/g, "/").replace(/\/$/, "");
  return served.filter((path) => tidy.endsWith(withoutVersion(path)))
    .sort((a, b) => b.length - a.length)[0];
}

/**
 * The message of a 404.
 * @param pathname the requested path
 * @param served the paths under `/v1` that are served
 * @example
 * ```ts
 * import { equal } from "node:assert/strict";
 * equal(
 *   unknownPathMessage("/v1/chat/completions/chat/completions", ["/v1/chat/completions"]),
 *   "There is no such path: did you mean /v1/chat/completions? Check the base address",
 * );
 * ```
 */
export function unknownPathMessage(pathname: string, served: readonly string[]): string {
  if (pathname.startsWith("/v1/v1/")) {
    return "There is no such path: the base address must not end in /v1 for this client";
  }
  const meant = meantPath(pathname, served);
  if (meant !== undefined) {
    const advice = withoutVersion(meant) === pathname
      ? "Add /v1 to the base address"
      : "Check the base address";
    return `There is no such path: did you mean ${meant}? ${advice}`;
  }
  if (!pathname.startsWith("/v1/")) return "There is no such path";
  const told = pathname.slice(0, maxRepeatedPathChars);
  return `There is no such path: this gateway does not offer ${told}. ` +
    `Calls of models go to ${served.join(", ")}`;
}
