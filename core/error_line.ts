/**
 * What an error says, on one line, for an operator who reads a terminal. Only for errors of this machine (files,
 * sockets, the store): the text of others may hold what must not be printed.
 *
 * @example
 * ```ts
 * import { errorLine } from "./error_line.ts";
 * if (errorLine(new Error("no such\n  file")) !== "no such file") throw new Error("two lines");
 * ```
 */
export function errorLine(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\s+/g, " ").trim();
}
