/**
 * Waits for a task, but no longer than this. What becomes of the task later is nobody's matter here.
 *
 * @throws what the task throws in time
 */
import { withResolvers } from "../runtime/mod.ts";

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

/** Waits. What waits takes this as a parameter, so that its tests need not. */
export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}

/**
 * Waits, or until the signal is aborted.
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
