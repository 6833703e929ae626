/** How far a provider is by network, measured by the time that connections to it take to open. */

/**
 * Latest connections of which the quickest counts: waits of a busy machine make others longer. After as many slower
 * ones the network has changed.
 */
const keptConnections = 8;

/** Milliseconds by which a connection may take longer than to the nearest route and still count as near. */
const nearSlackMs = 10;

/** Multiple of the nearest route's time up to which a route counts as near. */
const nearFactor = 1.5;

/**
 * The network distance of one provider. The time to open a connection has nothing in it of the time that a model
 * thinks, unlike the time to first output.
 *
 * @example
 * ```ts
 * import { isNear, NetworkDistance } from "./network_distance.ts";
 * const distance = new NetworkDistance();
 * for (const ms of [190, 180, 400]) distance.note(ms);
 * if (distance.connectMs !== 180) throw new Error("another distance");
 * if (isNear(180, 20) || !isNear(28, 20)) throw new Error("wrong");
 * ```
 */
export class NetworkDistance {
  readonly #latestMs: number[] = [];

  /** Notes how long a connection took to open. */
  note(ms: number): void {
    this.#latestMs.push(ms);
    if (this.#latestMs.length > keptConnections) this.#latestMs.shift();
  }

  /** Milliseconds that a connection takes; `undefined` before the first one. */
  get connectMs(): number | undefined {
    return this.#latestMs.length === 0 ? undefined : Math.min(...this.#latestMs);
  }
}

/** Whether a route counts as near beside the nearest one. */
export function isNear(connectMs: number, nearestMs: number): boolean {
  return connectMs <= nearestMs * nearFactor + nearSlackMs;
}
