/** A clock and timers that advance only when a test advances them. */
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Timer } from "../../core/lib/time/deadlines.ts";

interface Waiting {
  readonly atMs: number;
  readonly run: () => void;
}

export class ManualTime implements Clock, Timer {
  #nowMs: number;
  readonly #waiting = new Set<Waiting>();

  constructor(nowMs = Date.UTC(2026, 10, 20)) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  start(run: () => void, delayMs: number): () => void {
    const waiting = { atMs: this.#nowMs + delayMs, run };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Advances the time and fires what is due, in order. */
  advance(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      let next: Waiting | undefined;
      for (const waiting of this.#waiting) {
        if (waiting.atMs <= untilMs && (!next || waiting.atMs < next.atMs)) next = waiting;
      }
      if (!next) break;
      this.#waiting.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
    this.#nowMs = untilMs;
  }
}
