import { setImmediate } from "node:timers";

/**
 * Lets bytes that were handed to the server go out before what is done next.
 *
 * The server's connections are written to between two turns of the event loop. The first callback still belongs to the
 * turn in which it is asked for, so it takes two.
 */
export function bytesLeave(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
