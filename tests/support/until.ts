/** Waits for events in another process, behind a socket, or after an answer. */

/** Ten times what the slowest of these events takes on a busy machine: it is only reached where something is broken. */
const patienceMs = 120_000;

/**
 * Polls until the value is found, however slow the machine is.
 *
 * @throws when nothing was found in time
 */
export async function until<Found>(
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  what: string,
  withinMs = patienceMs,
): Promise<Found> {
  const endMs = performance.now() + withinMs;
  while (performance.now() < endMs) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Waited ${withinMs} ms in vain: ${what}`);
}
