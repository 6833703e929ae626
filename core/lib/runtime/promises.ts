/** Promises that other code settles: `Promise.withResolvers` and `Promise.try`, which Node 20 lacks. */

/** A promise with the functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

/** Creates a promise together with the functions that settle it. */
export function withResolvers<T>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] | undefined;
  let reject: Deferred<T>["reject"] | undefined;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  if (resolve === undefined || reject === undefined) throw new Error("The executor did not run");
  return { promise, resolve, reject };
}

/** Calls a function at once; what it throws rejects the promise. */
export function startPromise<Arguments extends unknown[], T>(
  run: (...given: Arguments) => T | PromiseLike<T>,
  ...given: Arguments
): Promise<T> {
  return new Promise((resolve) => resolve(run(...given)));
}
