/** Amounts of the last minute or hour in constant memory, by which a rate limit decides. */

/** Slots of a window: an amount leaves it at most a sixtieth later than it could. */
const slotsOfWindow = 60;

/** A slot more than the window has: the oldest counts until all of it has left the window. */
const slots = slotsOfWindow + 1;

/** The largest amount that a slot of 4 bytes holds: enough for calls and tokens. */
const maxInSlot = 2 ** 32 - 1;

/** Milliseconds of a window, and whether its slots hold amounts up to 2^53, such as money, in 8 bytes each. */
export interface WindowShape {
  readonly windowMs: number;
  readonly isWide: boolean;
}

/**
 * Sums amounts by the slot of their arrival, a sixtieth of the window. An amount counts for at least the window and less
 * than a slot more, so whoever adds only what the sum allows never has more than that in any such time.
 *
 * @example
 * ```ts
 * import { SlidingWindow } from "./sliding_window.ts";
 * const window = new SlidingWindow({ windowMs: 60_000, isWide: false });
 * window.add(3, 500);
 * window.add(1, 30_000);
 * if (window.sum(60_500) !== 4 || window.sum(61_000) !== 1) throw new Error("not a minute");
 * ```
 */
export class SlidingWindow {
  /** Milliseconds of one slot. */
  readonly slotMs: number;
  readonly #slots: Uint32Array | Float64Array;
  readonly #maxInSlot: number;
  /** The number of the newest slot since the clock's zero. */
  #newest = 0;
  #sum = 0;

  constructor({ windowMs, isWide }: WindowShape) {
    this.slotMs = windowMs / slotsOfWindow;
    this.#slots = isWide ? new Float64Array(slots) : new Uint32Array(slots);
    this.#maxInSlot = isWide ? Number.MAX_SAFE_INTEGER : maxInSlot;
  }

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
    const added = Math.min(amount, this.#maxInSlot - held);
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
      if (this.addedAt(age) > 0) return msUntilLeft(age, this.slotMs, nowMs);
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
    const now = Math.floor(nowMs / this.slotMs);
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
function msUntilLeft(age: number, slotMs: number, nowMs: number): number {
  return (slots - age) * slotMs - nowMs % slotMs;
}

/** Milliseconds until the sum of windows of one shape is at most `most`, if nothing is added; 0 if it is now. */
export function msUntilAtMost(
  windows: readonly [SlidingWindow, ...SlidingWindow[]],
  most: number,
  nowMs: number,
): number {
  let sum = 0;
  for (const window of windows) sum += window.sum(nowMs);
  for (let age = slots - 1; age >= 0 && sum > most; age--) {
    for (const window of windows) sum -= window.addedAt(age);
    if (sum <= most) return msUntilLeft(age, windows[0].slotMs, nowMs);
  }
  return 0;
}
