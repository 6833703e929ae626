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
 * Fails to compile if a member of `Whole` is not in the union `Handled`.
 *
 * @example
 * ```ts
 * import { everyMember } from "./every_member.ts";
 * interface Point { readonly x: number; readonly y: number }
 * everyMember<Point, "x" | "y">();
 * // @ts-expect-error: `y` is not handled
 * everyMember<Point, "x">();
 * ```
 */
export function everyMember<Whole, Handled extends keyof Whole>(
  ..._membersWithoutARow: [Exclude<keyof Whole, Handled>] extends [never] ? []
    : [member: Exclude<keyof Whole, Handled>]
): void {}
