/**
 * Writes an error's message on one line, for an operator at a terminal.
 *
 * Only for errors of this machine (files, sockets, the store): messages from elsewhere may contain
 * what must not be printed.
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

/**
 * Describes an unexpected error for the log. A `SyntaxError` quotes what was parsed, which may be a
 * prompt or an answer; of it only the name and the stack frames are logged.
 *
 * @example
 * ```ts
 * import { unforeseen } from "./error_line.ts";
 * try {
 *   JSON.parse("my secret");
 * } catch (error) {
 *   if (JSON.stringify(unforeseen(error)).includes("secret")) throw new Error("it is in the log");
 * }
 * ```
 */
export function unforeseen(
  thrown: unknown,
): { readonly error: string; readonly stack?: string | undefined } {
  if (!(thrown instanceof Error)) return { error: "unknown" };
  if (!(thrown instanceof SyntaxError)) {
    return { error: `${thrown.name}: ${thrown.message}`, stack: thrown.stack };
  }
  const places = thrown.stack?.split("\n").filter((line) => /^ {4}at \S/.test(line)).join("\n");
  return { error: thrown.name, stack: places };
}

/** Returns the name of an error, for log lines that must not quote its message. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : "unknown";
}
