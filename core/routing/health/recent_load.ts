/** Which customers a route has served of late, to find who uses up what its provider allows. */

/** Milliseconds of each of the two halves of the window: a provider's limit per second or minute shows within it. */
const halfWindowMs = 2_500;

/** Customers that are counted at once; those that come beyond are not heavy. */
const mostCustomers = 1_000;

/** Served calls in the window from which a customer is heavy: about one a second. */
const heavyCalls = 5;

/** How many times as many calls a heavy customer has as one whose refusal it is blamed for. */
const provokingFactor = 2;

/**
 * Counts calls that worked, by customer, over the last 2.5 to 5 seconds.
 *
 * @example
 * ```ts
 * import { RecentLoad } from "./recent_load.ts";
 * const load = new RecentLoad();
 * for (let call = 0; call < 10; call++) load.note("flooding", call * 100);
 * load.note("calm", 900);
 * if (load.provoker("calm", 1_000) !== "flooding") throw new Error("who else?");
 * if (load.provoker("flooding", 1_000) !== undefined) throw new Error("nobody else");
 * ```
 */
export class RecentLoad {
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  #beganMs = 0;

  note(customer: string, nowMs: number, calls = 1): void {
    this.#turn(nowMs);
    addTo(this.#young, customer, calls);
  }

  /** Whether the route served so many calls of a customer that a limit may be of that customer's making. */
  isHeavy(customer: string, nowMs: number): boolean {
    this.#turn(nowMs);
    return this.#callsOf(customer) >= heavyCalls;
  }

  /** The calls of a customer in a millisecond. */
  perMs(customer: string, nowMs: number): number {
    this.#turn(nowMs);
    return this.#callsOf(customer) / (nowMs - this.#beganMs + halfWindowMs);
  }

  /** The heaviest other customer, if it has so many more calls that it provoked a refusal of this one. */
  provoker(customer: string, nowMs: number): string | undefined {
    this.#turn(nowMs);
    let heaviest: string | undefined;
    let most = Math.max(heavyCalls, provokingFactor * this.#callsOf(customer)) - 1;
    for (const calls of [this.#young, this.#old]) {
      for (const other of calls.keys()) {
        const itsCalls = this.#callsOf(other);
        if (itsCalls <= most || other === customer) continue;
        most = itsCalls;
        heaviest = other;
      }
    }
    return heaviest;
  }

  #callsOf(customer: string): number {
    return (this.#young.get(customer) ?? 0) + (this.#old.get(customer) ?? 0);
  }

  #turn(nowMs: number): void {
    const ageMs = nowMs - this.#beganMs;
    if (ageMs < halfWindowMs) return;
    this.#old = ageMs < 2 * halfWindowMs ? this.#young : new Map();
    this.#young = new Map();
    this.#beganMs = nowMs;
  }
}

/** Adds calls of a customer to a bounded count. */
export function addTo(counts: Map<string, number>, customer: string, calls: number): void {
  const former = counts.get(customer);
  if (former === undefined && counts.size >= mostCustomers) return;
  counts.set(customer, (former ?? 0) + calls);
}
