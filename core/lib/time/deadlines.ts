/**
 * Time-outs by the thousand from one timer: a hashed wheel with coarse ticks.
 *
 * A call has several time-outs (connect, idle, total), and nearly all are disarmed before they fire. A `setTimeout`
 * for each costs more than the rest of a proxied call; here arming is a few field writes.
 * The scheme is the hashed timing wheel of Varghese and Lauck (SOSP 1987), with lazy moves: an entry that is armed
 * again for later stays where it is and is moved only when the wheel comes by.
 */
import type { Clock } from "./clock.ts";

/** The one timer under the wheel; a parameter so that tests can turn the wheel by hand. */
export interface Timer {
  /** Runs `run` once after `delayMs`, unless the returned function is called before. */
  start(run: () => void, delayMs: number): () => void;
}

/** The timer of the machine. */
export const systemTimer: Timer = {
  start(run, delayMs) {
    const handle = setTimeout(run, delayMs);
    return () => clearTimeout(handle);
  },
};

/** The clock, timer and tick of {@linkcode Deadlines}. */
export interface DeadlinesOptions {
  readonly clock: Clock;
  readonly timer?: Timer;
  /** Length of a tick: how late a deadline may fire. */
  readonly tickMs?: number;
}

/** Ticks per turn; a power of two. Longer deadlines are examined once per turn and stay. */
const slotCount = 256;
const slotMask = slotCount - 1;

/**
 * Deadlines of this length or more start from the last turn: reading the clock costs more than the
 * rest of arming.
 */
const coarseFromMs = 1_000;

/** A node of a circular list; the slots of the wheel are such nodes themselves. */
class Entry {
  previous: Entry = this;
  next: Entry = this;

  unlink(): void {
    this.previous.next = this.next;
    this.next.previous = this.previous;
    this.previous = this;
    this.next = this;
  }

  insertBefore(other: Entry): void {
    this.previous = other.previous;
    this.next = other;
    other.previous.next = this;
    other.previous = this;
  }
}

/**
 * One reusable time-out, created by {@linkcode Deadlines.create}; armed and disarmed any number of
 * times.
 */
export class Deadline extends Entry {
  readonly #wheel: Deadlines;
  readonly onDue: () => void;
  /** Tick at which it is due. */
  dueTick = 0;
  /** Tick of the slot it hangs in; at most `dueTick`. */
  slotTick = 0;
  linked = false;

  /** Internal: use {@linkcode Deadlines.create}. */
  constructor(wheel: Deadlines, onDue: () => void) {
    super();
    this.#wheel = wheel;
    this.onDue = onDue;
  }

  /** Calls `onDue` once, not before `delayMs` from now. Replaces an earlier arming. */
  arm(delayMs: number): void {
    this.#wheel.arm(this, delayMs);
  }

  disarm(): void {
    this.#wheel.disarm(this);
  }

  /** Time until it is due, to within two ticks; 0 if it is not armed. */
  get remainingMs(): number {
    return this.#wheel.remainingMs(this);
  }
}

/**
 * A set of time-outs that share one timer. The timer runs only while something is armed (and one tick longer).
 *
 * A deadline never fires early, and late by at most two ticks and whatever blocks the event loop. One of a second or
 * more that is armed behind work which blocks the loop counts that work as time that has passed.
 *
 * @example
 * ```ts
 * import { systemClock } from "./clock.ts";
 * import { Deadlines } from "./deadlines.ts";
 * const deadlines = new Deadlines({ clock: systemClock, tickMs: 5 });
 * const fired = Promise.withResolvers<void>();
 * const deadline = deadlines.create(() => fired.resolve());
 * deadline.arm(10);
 * await fired.promise;
 * deadlines.close();
 * ```
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #timer: Timer;
  readonly #tickMs: number;
  readonly #slots: Entry[] = Array.from({ length: slotCount }, () => new Entry());
  readonly #turn = () => this.#advance();
  #linkedCount = 0;
  #doneTick = 0;
  #turnedAtMs = 0;
  #stopTimer: (() => void) | undefined;
  #closed = false;

  constructor(options: DeadlinesOptions) {
    this.#clock = options.clock;
    this.#timer = options.timer ?? systemTimer;
    this.#tickMs = options.tickMs ?? 100;
  }

  /** Creates a time-out that is not armed yet. `onDue` must not throw. */
  create(onDue: () => void): Deadline {
    return new Deadline(this, onDue);
  }

  /** Number of deadlines in the wheel. */
  get armedCount(): number {
    return this.#linkedCount;
  }

  /** Internal: use {@linkcode Deadline.arm}. */
  arm(deadline: Deadline, delayMs: number): void {
    if (this.#closed) return;
    const isTicking = this.#stopTimer !== undefined;
    // The last turn was at most one tick ago, so one more makes sure that nothing is early.
    const nowMs = isTicking && delayMs >= coarseFromMs
      ? this.#turnedAtMs + this.#tickMs
      : this.#clock.monotonicMs();
    deadline.dueTick = Math.ceil((nowMs + delayMs) / this.#tickMs);
    if (deadline.linked) {
      if (deadline.dueTick >= deadline.slotTick) return;
      deadline.unlink();
    } else {
      deadline.linked = true;
      this.#linkedCount++;
    }
    if (!isTicking) {
      this.#turnedAtMs = nowMs;
      this.#doneTick = Math.floor(nowMs / this.#tickMs);
      this.#stopTimer = this.#timer.start(this.#turn, this.#tickMs);
    }
    this.#hang(deadline);
  }

  /** Internal: use {@linkcode Deadline.disarm}. */
  disarm(deadline: Deadline): void {
    if (!deadline.linked) return;
    deadline.unlink();
    deadline.linked = false;
    this.#linkedCount--;
  }

  /** Internal: use {@linkcode Deadline.remainingMs}. */
  remainingMs(deadline: Deadline): number {
    if (!deadline.linked) return 0;
    return Math.max(deadline.dueTick * this.#tickMs - this.#clock.monotonicMs(), 0);
  }

  /** Stops the timer and forgets every deadline; none fires from here on. */
  close(): void {
    this.#closed = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (const slot of this.#slots) {
      while (slot.next !== slot) {
        const entry = slot.next;
        if (entry instanceof Deadline) this.disarm(entry);
      }
    }
  }

  #hang(deadline: Deadline): void {
    // A deadline that is due already goes to the next slot.
    deadline.slotTick = Math.max(deadline.dueTick, this.#doneTick + 1);
    const slot = this.#slots[deadline.slotTick & slotMask];
    if (slot) deadline.insertBefore(slot);
  }

  #advance(): void {
    this.#stopTimer = undefined;
    if (this.#closed || this.#linkedCount === 0) return;
    this.#stopTimer = this.#timer.start(this.#turn, this.#tickMs);
    this.#turnedAtMs = this.#clock.monotonicMs();
    const nowTick = Math.floor(this.#turnedAtMs / this.#tickMs);
    // After a long pause one turn sees every slot; a second would find nothing new.
    const firstTick = Math.max(this.#doneTick + 1, nowTick - slotCount + 1);
    this.#doneTick = nowTick;
    for (let tick = firstTick; tick <= nowTick; tick++) this.#visit(tick & slotMask, nowTick);
  }

  #visit(index: number, nowTick: number): void {
    const slot = this.#slots[index];
    if (!slot || slot.next === slot) return;
    // The entries move to a list of their own: callbacks may arm and disarm any deadline meanwhile.
    const batch = new Entry();
    batch.insertBefore(slot);
    slot.unlink();
    while (batch.next !== batch) {
      const entry = batch.next;
      if (!(entry instanceof Deadline)) return;
      entry.unlink();
      if (entry.dueTick > nowTick) {
        this.#hang(entry);
        continue;
      }
      entry.linked = false;
      this.#linkedCount--;
      entry.onDue();
    }
  }
}
