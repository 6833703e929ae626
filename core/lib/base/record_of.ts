/** Records that have a member for each name of a list, in a way that types know. */
import { invariant } from "./assert.ts";

/**
 * Makes a record with a member for each of some names.
 *
 * @example
 * ```ts
 * import { recordOf } from "./record_of.ts";
 * const lengths = recordOf(["one", "three"], (name) => name.length);
 * if (lengths.three !== 5) throw new Error(`${lengths.three}`);
 * ```
 */
export function recordOf<const Name extends string, Value>(
  names: readonly Name[],
  make: (name: Name) => Value,
): Readonly<Record<Name, Value>> {
  const made: Partial<Record<Name, Value>> = {};
  for (const name of names) made[name] = make(name);
  invariant(hasAll(made, names), "each name has its member");
  return made;
}

function hasAll<Name extends string, Value>(
  made: Partial<Record<Name, Value>>,
  names: readonly Name[],
): made is Record<Name, Value> {
  return names.every((name) => Object.hasOwn(made, name));
}
