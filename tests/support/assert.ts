/**
 * Assertions for the tests, over `node:assert/strict`, with the names and the order of arguments of
 * `@std/assert`, which is not published on npm (`docs/adr/0003-npm-instead-of-jsr.md`).
 */
import {
  deepStrictEqual,
  match,
  notDeepStrictEqual,
  ok,
  rejects,
  throws,
} from "node:assert/strict";

export function assert(condition: unknown, message?: string): asserts condition {
  if (message === undefined) ok(condition);
  else ok(condition, message);
}

export function assertEquals<T>(actual: T, expected: T, message?: string): void {
  if (message === undefined) deepStrictEqual(actual, expected);
  else deepStrictEqual(actual, expected, message);
}

export function assertNotEquals<T>(actual: T, unexpected: T, message?: string): void {
  if (message === undefined) notDeepStrictEqual(actual, unexpected);
  else notDeepStrictEqual(actual, unexpected, message);
}

export function assertStringIncludes(actual: string, expected: string, message?: string): void {
  ok(
    actual.includes(expected),
    message ?? `Expected ${JSON.stringify(actual)} to include ${JSON.stringify(expected)}`,
  );
}

export function assertMatch(actual: string, expected: RegExp, message?: string): void {
  if (message === undefined) match(actual, expected);
  else match(actual, expected, message);
}

type ErrorClass = abstract new (...args: never[]) => Error;

function checkError(error: unknown, errorClass?: ErrorClass, messageIncludes?: string): true {
  ok(error instanceof Error, `Expected an Error, got ${String(error)}`);
  if (errorClass) {
    ok(
      error instanceof errorClass,
      `Expected ${errorClass.name}, got ${error.name}: ${error.message}`,
    );
  }
  if (messageIncludes !== undefined) assertStringIncludes(error.message, messageIncludes);
  return true;
}

export function assertThrows(
  run: () => unknown,
  errorClass?: ErrorClass,
  messageIncludes?: string,
): void {
  throws(run, (error) => checkError(error, errorClass, messageIncludes));
}

export async function assertRejects(
  run: () => Promise<unknown>,
  errorClass?: ErrorClass,
  messageIncludes?: string,
): Promise<void> {
  await rejects(run, (error) => checkError(error, errorClass, messageIncludes));
}
