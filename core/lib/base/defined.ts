/** The members of `Members` that can be undefined, as optional ones that cannot. */
export type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/**
 * Keeps the members of an object that are not undefined, in their order.
 *
 * Under `exactOptionalPropertyTypes` an optional field may be absent but not `undefined`, and JSON, the store and equality
 * tell the two apart. Spread the result into the object that has the optional fields. The names are those of the code,
 * never a client's.
 *
 * One use takes 10 to 30 ns longer than `...(x === undefined ? {} : { x })`: nothing in the conversion of a whole request
 * (within noise for 180 messages and 40 tools), but code that runs per streamed event keeps the direct form.
 *
 * @example
 * ```ts
 * import { defined } from "./defined.ts";
 * const name = undefined as string | undefined;
 * const key: { id: number; name?: string; note?: string } = { id: 1, ...defined({ name, note: "x" }) };
 * if (JSON.stringify(key) !== '{"id":1,"note":"x"}') throw new Error("kept an undefined member");
 * ```
 */
export function defined<Members extends object>(members: Members): Defined<Members> {
  const kept: Defined<Members> = {};
  for (const name in members) {
    const value = members[name];
    if (isDefined(value)) kept[name] = value;
  }
  return kept;
}

function isDefined<Value>(value: Value): value is Exclude<Value, undefined> {
  return value !== undefined;
}
