/** Waiting: for a time, for a task with a time-out, until a signal. */
import { withResolvers } from "../runtime/built_ins.ts";

/**
 * Waits for a task, but no longer than `durationMs`. The task keeps running; its later result is
 * ignored.
 *
 * @throws what the task throws in time
 */
export async function atMost(
  durationMs: number,
  task: Promise<unknown> | undefined,
): Promise<void> {
  const late = withResolvers<void>();
  const timer = setTimeout(late.resolve, durationMs);
  try {
    await Promise.race([task, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for `durationMs`. Code that waits takes this function as a parameter, so that its tests
 * need not wait.
 */
export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/**
 * Waits for `durationMs`, or until the signal is aborted.
 *
 * @throws the reason of the signal
 */
export async function sleepUnless(durationMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = withResolvers<void>();
  const timer = setTimeout(resolve, durationMs);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  signal.throwIfAborted();
}
