/**
 * Assertions about the program's own state.
 *
 * - Folder `core/lib/base/`: small helpers that every layer uses: assertions, exhaustive tables, CSV, error lines,
 *   histograms, shared bounds.
 * - In: values of the language.
 * - Out: values, texts and types.
 * - Never: imports anything.
 */

/**
 * Writes an error's message on one line, for an operator at a terminal.
 *
 * Only for errors of this machine (files, sockets, the store): messages from elsewhere may contain
 * what must not be printed.
 *
 * @example
 * ```ts
 * import { errorLine } from "./assert.ts";
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
 * import { unforeseen } from "./assert.ts";
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

// Checks at compile time that code deals with every member of a type, so that a member that is added later and
// forgotten somewhere does not compile.

/** The members of the first parameter of a function, or of each function of a union. */
export type MembersRead<Reader> = Reader extends (read: infer Read, ...rest: never[]) => unknown
  ? keyof Read
  : never;

/**
 * Takes the rest of a destructuring and fails to compile if anything is left in it.
 *
 * @example
 * ```ts
 * import { noneLeft } from "./assert.ts";
 * const { name, size: _notWritten, ...rest } = { name: "a", size: 1 };
 * noneLeft(rest);
 * const { ...all } = { name };
 * // @ts-expect-error: `name` is left
 * noneLeft(all);
 * ```
 */
export function noneLeft<Rest extends object>(
  _rest: [keyof Rest] extends [never] ? Rest : { readonly left: keyof Rest },
): void {}

/**
 * Fails to compile if a member is unhandled, and the error names it. The argument is
 * `Exclude<keyof Whole, …the handled members>`.
 *
 * @example
 * ```ts
 * import { noneUnhandled } from "./assert.ts";
 * interface Point { readonly x: number; readonly y: number }
 * noneUnhandled<Exclude<keyof Point, "x" | "y">>();
 * // @ts-expect-error: Type '"y"' does not satisfy the constraint 'never'
 * noneUnhandled<Exclude<keyof Point, "x">>();
 * ```
 */
export function noneUnhandled<_Left extends never>(): void {}

// Loads a part of the program with its first use.

/**
 * Returns a function that loads something at its first call. All callers share that one load and its result; after a
 * load that failed the next call loads again.
 *
 * @example
 * ```ts
 * import { loadedOnce } from "./assert.ts";
 * let loads = 0;
 * const load = loadedOnce(() => Promise.resolve(++loads));
 * await Promise.all([load(), load()]);
 * if (await load() !== 1) throw new Error("loaded again");
 * ```
 */
export function loadedOnce<Part>(load: () => Promise<Part>): () => Promise<Part> {
  let loading: Promise<Part> | undefined;
  return () =>
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
}

/**
 * A record under construction, whose optional fields are left out by not writing them.
 *
 * Under `exactOptionalPropertyTypes` they must not be `undefined`, and spreading conditional
 * objects costs more than all other work on the record.
 */
export type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The error for a bug in the program. Never used for bad input or a failing provider. */
export class InvariantError extends Error {
  override name = "InvariantError";
}

/**
 * Asserts a condition that only a bug can make false.
 *
 * @example
 * ```ts
 * import { invariant } from "./assert.ts";
 * const remainingMicroVnd = 5n;
 * invariant(remainingMicroVnd >= 0n, "a lease is never negative");
 * ```
 *
 * @param message a function where it is put together from values and calls pass here: that would cost each of them more
 * than the assertion
 *
 * @throws {InvariantError} if `condition` is false
 */
export function invariant(
  condition: boolean,
  message: string | (() => string),
): asserts condition {
  if (!condition) throw new InvariantError(typeof message === "string" ? message : message());
}
