/** Amounts of the last minute in constant memory, by which a rate limit decides. */

/** Milliseconds of the window of every rate limit: a minute, as vendors count. */
export const rateWindowMs = 60_000;

/** Milliseconds of one slot: an amount leaves the window at most this much later than it could. */
const slotMs = 1_000;

/** A slot more than the window has: the oldest counts until all of it has left the window. */
const slots = rateWindowMs / slotMs + 1;

/** The largest amount that a slot holds. */
const maxInSlot = 2 ** 32 - 1;

/**
 * Sums amounts by the second of their arrival. An amount counts for at least 60 and less than 61 seconds, so whoever
 * adds only what the sum allows never has more than that in any 60 seconds.
 *
 * @example
 * ```ts
 * import { MinuteWindow } from "./minute_window.ts";
 * const window = new MinuteWindow();
 * window.add(3, 500);
 * window.add(1, 30_000);
 * if (window.sum(60_500) !== 4 || window.sum(61_000) !== 1) throw new Error("not a minute");
 * ```
 */
export class MinuteWindow {
  readonly #slots = new Uint32Array(slots);
  /** The number of the newest slot since the clock's zero. */
  #newest = 0;
  #sum = 0;

  /** The sum of what counts at `nowMs`, by a monotonic clock. */
  sum(nowMs: number): number {
    this.#advance(nowMs);
    return this.#sum;
  }

  /** Adds an amount; returns where, for {@linkcode takeBack}. */
  add(amount: number, nowMs: number): number {
    this.#advance(nowMs);
    const at = this.#newest % slots;
    const held = this.#slots[at]!;
    const added = Math.min(amount, maxInSlot - held);
    this.#slots[at] = held + added;
    this.#sum += added;
    return this.#newest;
  }

  /** Takes back a part of what was added at `place`; returns how much of it was still in the window. */
  takeBack(place: number, amount: number, nowMs: number): number {
    this.#advance(nowMs);
    return place <= this.#newest - slots ? 0 : this.#take(place % slots, amount);
  }

  /** Takes back from the newest amounts, where it is not known when they were added. */
  takeBackNewest(amount: number, nowMs: number): void {
    this.#advance(nowMs);
    let left = amount;
    for (let age = 0; age < slots && left > 0; age++) {
      left -= this.#take(this.#at(age), left);
    }
  }

  /** Returns what was added `age` slots before the newest one; call {@linkcode sum} first. */
  addedAt(age: number): number {
    return this.#slots[this.#at(age)]!;
  }

  /** Milliseconds until the window is empty, if nothing more is added. */
  emptyInMs(nowMs: number): number {
    if (this.sum(nowMs) === 0) return 0;
    for (let age = 0; age < slots; age++) {
      if (this.addedAt(age) > 0) return msUntilLeft(age, nowMs);
    }
    return 0;
  }

  #at(age: number): number {
    return (this.#newest - age + slots) % slots;
  }

  #take(at: number, amount: number): number {
    const taken = Math.min(amount, this.#slots[at]!);
    this.#slots[at]! -= taken;
    this.#sum -= taken;
    return taken;
  }

  #advance(nowMs: number): void {
    const now = Math.floor(nowMs / slotMs);
    if (now <= this.#newest) return;
    const steps = Math.min(now - this.#newest, slots);
    for (let step = 1; step <= steps; step++) {
      const at = (this.#newest + step) % slots;
      this.#sum -= this.#slots[at]!;
      this.#slots[at] = 0;
    }
    this.#newest = now;
  }
}

/** Milliseconds until what was added `age` slots ago has left the window. */
function msUntilLeft(age: number, nowMs: number): number {
  return (slots - age) * slotMs - nowMs % slotMs;
}

/** Milliseconds until the sum of windows is at most `most`, if nothing is added; 0 if it is now. */
export function msUntilAtMost(
  windows: readonly MinuteWindow[],
  most: number,
  nowMs: number,
): number {
  let sum = 0;
  for (const window of windows) sum += window.sum(nowMs);
  for (let age = slots - 1; age >= 0 && sum > most; age--) {
    for (const window of windows) sum -= window.addedAt(age);
    if (sum <= most) return msUntilLeft(age, nowMs);
  }
  return 0;
}
