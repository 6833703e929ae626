/** Waits of a gateway that ends. */

/** Milliseconds that the end of the process waits for what was asked to end: the last answers, the admin socket. */
export const lastEndsMs = 1_000;

/** Resolves when a signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true })
  );
}

/** Waits until load balancers have seen that `/readyz` answers 503. Calls are still accepted. */
export async function awaitBalancers(stopDelayMs: number, hurry?: AbortSignal): Promise<void> {
  if (stopDelayMs === 0 || hurry?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, stopDelayMs);
  hurry?.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
