/** Readings that a scrape shows without asking each time: taken when somebody scrapes, and kept for a while. */
import type { Clock } from "../../core/lib/time/clock.ts";
import { atMost } from "../../core/lib/time/sleep.ts";

/** Milliseconds that a scrape waits for a reading, and then shows the one before: scrapers wait for 10 s. */
const waitMs = 1_000;

/** Something that is read at most once in a while. */
export class KeptReading<Value> {
  readonly #read: () => Promise<Value>;
  readonly #clock: Clock;
  readonly #everyMs: number;
  #readAtMs = -Infinity;
  #reading: Promise<void> | undefined;
  /** The latest reading; `undefined` until a scrape has asked this thread. */
  last: Value | undefined;

  /** @param read may throw: what was read before stays then */
  constructor(read: () => Promise<Value>, clock: Clock, everyMs: number) {
    this.#read = read;
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Resolves when {@linkcode last} is as fresh as it may be, or keeps the scrape waiting. */
  async refresh(): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#reading === undefined && nowMs - this.#readAtMs >= this.#everyMs) {
      this.#readAtMs = nowMs;
      this.#reading = this.#keep().finally(() => this.#reading = undefined);
    }
    await atMost(waitMs, this.#reading);
  }

  async #keep(): Promise<void> {
    try {
      this.last = await this.#read();
    } catch {
      // Other metrics and the log say that a store or a provider fails.
    }
  }
}
