/**
 * Checks at compile time that code deals with every member of a type, so that a member that is added later and
 * forgotten somewhere does not compile.
 */

/** The members of the first parameter of a function, or of each function of a union. */
export type MembersRead<Reader> = Reader extends (read: infer Read, ...rest: never[]) => unknown
  ? keyof Read
  : never;

/**
 * Takes the rest of a destructuring and fails to compile if anything is left in it.
 *
 * @example
 * ```ts
 * import { noneLeft } from "./every_member.ts";
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
 * import { noneUnhandled } from "./every_member.ts";
 * interface Point { readonly x: number; readonly y: number }
 * noneUnhandled<Exclude<keyof Point, "x" | "y">>();
 * // @ts-expect-error: Type '"y"' does not satisfy the constraint 'never'
 * noneUnhandled<Exclude<keyof Point, "x">>();
 * ```
 */
export function noneUnhandled<_Left extends never>(): void {}
