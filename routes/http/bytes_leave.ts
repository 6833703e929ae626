import { setImmediate } from "node:timers";

/**
 * Resolves when bytes that were handed to the server have had the chance to be sent.
 *
 * The server writes to its connections between two turns of the event loop. The first callback still belongs to the
 * turn in which it is requested, so two are needed.
 */
export function bytesLeave(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
