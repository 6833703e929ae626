/** Waits. What waits takes this as a parameter, so that its tests need not. */
export function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
