/**
 * Bounds a stream by its wallet: extends the reservation as output arrives, and ends the stream when the money is
 * used up.
 */
import type { StreamBound, StreamCut } from "../../../core/calls/stream/stream_bounds.ts";
import type { StreamReading } from "../../../core/wire/contract/contract.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_usage.ts";
import type {
  KeyedExtension,
  KeyedWalletEngine,
} from "../../../kv/services/limits/keyed_wallet.ts";
import type { Reservation } from "../../../kv/money/wallet/mod.ts";

/** Milliseconds that a running call waits for money that other calls reserve, before it is ended. */
export const pauseMs = 5_000;
/** Fewest tokens by which a reservation grows at a time, so that extensions are rare. */
const leastStepTokens = 1_024;
/** Most tokens by which a reservation grows at a time: what one stream may keep from other calls in advance. */
const mostStepTokens = 32_768;
/** Share of the reserved output at which the reservation is extended, so that the stream need not wait. */
const askAt = 0.75;

/** What bounds a stream by its wallet. */
export interface WalletBoundInput {
  readonly wallet: KeyedWalletEngine;
  readonly reservation: Reservation;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  /** The most that a token of output can cost; 0 where tokens are not paid. */
  readonly tokenMicroVnd: bigint;
  /** Most output tokens of the call: nothing is reserved beyond them. */
  readonly mostTokens: number;
  /** How a stream ends when its money is used up. */
  readonly outgrown: StreamCut["as"];
  /** Computes the usage that would be billed if the call ended now. */
  readonly billed: (reading: StreamReading) => TokenUsage;
}

/**
 * Ends a stream when its reservation cannot grow further. A token has at least one byte, so bytes of output bound the
 * tokens that the provider will report for them.
 */
export class WalletBound implements StreamBound {
  outputBytes = Infinity;
  readonly #input: WalletBoundInput;
  readonly #tokenMicroVnd: bigint;
  #paidTokens: number;

  constructor(input: WalletBoundInput) {
    const { paidTokens, tokenMicroVnd } = input;
    this.#input = input;
    this.#paidTokens = paidTokens;
    this.#tokenMicroVnd = tokenMicroVnd;
    if (tokenMicroVnd > 0n) this.#askLater(0);
  }

  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined> {
    const { wallet, reservation, mostTokens } = this.#input;
    const missing = reading.outputBytes - this.#paidTokens;
    const step = Math.max(
      Math.min(Math.max(this.#paidTokens, leastStepTokens), mostStepTokens),
      missing,
    );
    const amount = BigInt(Math.min(step, mostTokens - this.#paidTokens)) * this.#tokenMicroVnd;
    const extension = wallet.extendFor(reservation, amount, missing > 0 ? pauseMs : 0);
    return extension instanceof Promise
      ? extension.then((known) => this.#take(known, reading))
      : this.#take(extension, reading);
  }

  #take(extension: KeyedExtension, reading: StreamReading): StreamCut | undefined {
    if (extension.outcome === "unavailable") {
      // The wallet could not be read. A short failure of the store must not end streams, so the stream continues.
      this.outputBytes = reading.outputBytes + leastStepTokens;
      return undefined;
    }
    if (extension.outcome === "granted") {
      this.#paidTokens += Number(extension.amountMicroVnd / this.#tokenMicroVnd);
    }
    if (reading.outputBytes > this.#paidTokens && this.#paidTokens < this.#input.mostTokens) {
      return this.#cut(extension.outcome === "key_limit", reading);
    }
    if (extension.outcome === "granted") this.#askLater(reading.outputBytes);
    else this.outputBytes = this.#paidTokens;
    return undefined;
  }

  #askLater(outputBytes: number): void {
    if (this.#paidTokens >= this.#input.mostTokens) {
      this.outputBytes = Infinity;
      return;
    }
    const early = Math.floor(this.#paidTokens * askAt);
    this.outputBytes = early > outputBytes ? early : this.#paidTokens;
  }

  #cut(isKeyLimit: boolean, reading: StreamReading): StreamCut {
    const error = isKeyLimit
      ? new GatewayError(
        "spending_limit_reached",
        "The limit of this API key is reached: the answer ends here. The owner of the key can change the limit",
      )
      : new GatewayError(
        "insufficient_balance",
        "The balance is used up: the answer ends here. Top up and continue with the same key",
      );
    return { as: this.#input.outgrown, error, usage: this.#input.billed(reading) };
  }
}
