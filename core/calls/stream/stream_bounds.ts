/**
 * The bounds on the output of a stream: how far it may run, and how it ends there.
 *
 * A stream has several bounds (what the caller asked for, what the wallet pays). Each names a figure of output bytes up
 * to which it need not be asked, so that a chunk costs one comparison with the lowest of them.
 */
import type { StreamEndCode } from "../../billing/usage/call_failure.ts";
import type { TokenUsage } from "../../billing/tokens/token_bounds.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import type { StreamReading } from "../../wire/contract/contract.ts";

/** How the gateway ends a stream that its provider would continue. */
export interface StreamCut {
  /** `length`: the style's own stop for length, where it has one; `error`: an error event. */
  readonly as: "length" | "error";
  /** The error event; used for `length` too where the style has no such stop. */
  readonly error: GatewayError;
  /** What the receipt names as the end; absent: the code of the error. */
  readonly code?: StreamEndCode;
  /** What is billed so far, for styles that report it at the end. */
  readonly usage: TokenUsage;
}

/** Lets a stream run up to some amount of output, and decides there whether it may continue. */
export interface StreamBound {
  /** Bytes of output up to which the bound need not be asked. Compared after every read, so a plain number. */
  readonly outputBytes: number;
  /**
   * Called when the output has passed `outputBytes`. Raises that figure, or returns how the stream ends. While a promise
   * is pending nothing is read, so it must settle within a bound of its own.
   */
  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined>;
}

/** Bytes of a chunk that are always read in one go, so that slices stay worth their cost. */
const leastSliceBytes = 256;

/** All bounds of one stream. The first one that ends the stream wins. */
export class StreamBounds {
  readonly #bounds: readonly StreamBound[];
  #leastBytes: number;

  constructor(bounds: readonly StreamBound[] = []) {
    this.#bounds = bounds;
    this.#leastBytes = this.#least();
  }

  /** Whether a bound has to be asked before more is read. */
  arePassed(reading: StreamReading): boolean {
    return reading.outputBytes > this.#leastBytes;
  }

  /**
   * Bytes of the stream that can be read before a bound has to be asked. A byte of output takes at least one byte of the
   * stream, so no bound is passed by more than a small slice, or the one event that ends in it.
   */
  room(reading: StreamReading): number {
    return Math.max(this.#leastBytes - reading.outputBytes, leastSliceBytes);
  }

  /** Asks every bound that was passed; returns how the stream ends, if it does. */
  async ask(reading: StreamReading): Promise<StreamCut | undefined> {
    for (const bound of this.#bounds) {
      if (reading.outputBytes <= bound.outputBytes) continue;
      const cut = await bound.passed(reading);
      if (cut !== undefined) return cut;
    }
    this.#leastBytes = this.#least();
    return undefined;
  }

  #least(): number {
    let least = Infinity;
    for (const { outputBytes } of this.#bounds) least = Math.min(least, outputBytes);
    return least;
  }
}
