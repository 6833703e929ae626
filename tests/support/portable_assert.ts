/**
 * The part of `node:assert/strict` that the tests use, for runtimes without `node:` modules. The bundle of
 * `tests/runtimes/` has it in that module's place.
 */

function fail(message: string | undefined, otherwise: string): never {
  throw new Error(message ?? otherwise);
}

/** A value as text for a message. */
function shown(value: unknown): string {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === "bigint") return `${inner}n`;
    if (inner instanceof Map || inner instanceof Set) return [...inner];
    return inner;
  });
  return (text ?? String(value)).slice(0, 2_000);
}

export function ok(condition: unknown, message?: string): asserts condition {
  if (!condition) fail(message, `Expected a true value, got ${shown(condition)}`);
}

export function match(text: string, expected: RegExp, message?: string): void {
  if (!expected.test(text)) fail(message, `Expected ${shown(text)} to match ${expected}`);
}

export function deepStrictEqual(actual: unknown, expected: unknown, message?: string): void {
  if (isDeepEqual(actual, expected)) return;
  fail(message, `Not equal:\n  actual   ${shown(actual)}\n  expected ${shown(expected)}`);
}

export function notDeepStrictEqual(actual: unknown, unexpected: unknown, message?: string): void {
  if (isDeepEqual(actual, unexpected)) fail(message, `Equal: ${shown(actual)}`);
}

export function throws(run: () => unknown, check: (error: unknown) => true): void {
  try {
    run();
  } catch (error) {
    check(error);
    return;
  }
  fail(undefined, "Expected an error");
}

export async function rejects(
  run: () => Promise<unknown>,
  check: (error: unknown) => true,
): Promise<void> {
  try {
    await run();
  } catch (error) {
    check(error);
    return;
  }
  fail(undefined, "Expected a rejection");
}

/** Whether `node:assert/strict` takes two values for equal; circular values are not supported. */
export function isDeepEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  if (one === null || other === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (one instanceof Date && other instanceof Date && !Object.is(one.getTime(), other.getTime())) {
    return false;
  }
  if (one instanceof RegExp && String(one) !== String(other)) return false;
  if (one instanceof Error && other instanceof Error && !areErrorsEqual(one, other)) return false;
  if (one instanceof Map && other instanceof Map) return haveEqualItems(one, other);
  if (one instanceof Set && other instanceof Set) return haveEqualItems(one, other);
  return arePropertiesEqual(one, other);
}

function areErrorsEqual(one: Error, other: Error): boolean {
  return one.message === other.message && one.name === other.name &&
    isDeepEqual(one.cause, other.cause);
}

/** Compares the items of sets, or the entries of maps, in any order. */
function haveEqualItems(one: Iterable<unknown>, other: Iterable<unknown>): boolean {
  const items = [...one];
  const rest = [...other];
  return items.length === rest.length && items.every((item) => {
    const at = rest.findIndex((candidate) => isDeepEqual(item, candidate));
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}

/** Compares what an object lists: elements, properties, symbols. */
function arePropertiesEqual(one: object, other: object): boolean {
  const names = enumerableKeys(one);
  if (names.length !== enumerableKeys(other).length) return false;
  if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length) return false;
  return names.every((name) =>
    Object.prototype.propertyIsEnumerable.call(other, name) &&
    isDeepEqual(Reflect.get(one, name), Reflect.get(other, name))
  );
}

function enumerableKeys(of: object): readonly PropertyKey[] {
  return Reflect.ownKeys(of).filter((key) => Object.prototype.propertyIsEnumerable.call(of, key));
}
