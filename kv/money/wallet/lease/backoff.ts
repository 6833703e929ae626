/**
 * Bounds how long the wallet engine waits for the store: a deadline for every call, a growing pause
 * before every retry.
 */
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import { kvCallMs, StoreTimeoutError } from "../../../engine/store/store_deadlines.ts";
import { StoppedError } from "./instance_lease.ts";

/**
 * Milliseconds of the wallet engine's first pause after the store did not answer; each further failure
 * doubles it.
 */
const walletPauseMs = 10;

/** Milliseconds of the longest such pause: calls are refused until the store answers. */
const walletPauseMaxMs = 2_000;

/** Deadlines and growing pauses of one engine, and its count of failures. */
export class Backoff {
  readonly #timer: Timer;
  readonly #random: () => number;
  readonly #stops = new Set<() => void>();
  #stopped = false;
  #missed = 0;

  constructor(timer: Timer, random: () => number) {
    this.#timer = timer;
    this.#random = random;
  }

  /** Retries since the last success of the store. */
  get missed(): number {
    return this.#missed;
  }

  /** Notes a success of the store. */
  answered(): void {
    this.#missed = 0;
  }

  /**
   * Returns the result of the call, or throws a {@linkcode StoreTimeoutError} after
   * `kvCallMs`.
   */
  readonly bounded = <T>(call: Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const stop = this.#timer.start(() => {
        reject(new StoreTimeoutError());
      }, kvCallMs);
      call.then((value) => {
        stop();
        resolve(value);
      }, (error) => {
        stop();
        reject(error);
      });
    });

  /**
   * Waits before retry `attempt`, longer each time. Throws {@linkcode StoppedError} once stopped.
   */
  readonly beforeRetry = (attempt: number): Promise<void> => {
    this.#missed++;
    const longestMs = Math.min(
      walletPauseMaxMs,
      walletPauseMs * 2 ** Math.min(attempt, 16),
    );
    return this.pause(longestMs * (0.5 + this.#random() / 2));
  };

  /**
   * Like {@linkcode beforeRetry}, for one of several commits side by side: together they count as the one with the most
   * retries.
   */
  readonly besideOthers = (attempt: number): Promise<void> => {
    const missed = Math.max(this.#missed, attempt);
    const pause = this.beforeRetry(attempt);
    this.#missed = missed;
    return pause;
  };

  /** Waits `delayMs`. Throws {@linkcode StoppedError} once stopped. */
  readonly pause = (delayMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const refuse = () => reject(new StoppedError("The wallet engine was stopped"));
      if (this.#stopped) return refuse();
      const cancel = this.#timer.start(() => {
        this.#stops.delete(stop);
        resolve();
      }, delayMs);
      const stop = () => {
        cancel();
        refuse();
      };
      this.#stops.add(stop);
    });

  /** Ends all waits with {@linkcode StoppedError}, also future ones. */
  stop(): void {
    this.#stopped = true;
    const stops = [...this.#stops];
    this.#stops.clear();
    for (const stop of stops) stop();
  }
}
