/**
 * Bounds a stream by its money: takes more of it as output arrives, and ends the stream when it is used up.
 *
 * A stream takes money of its wallet, and books the same under the limits of its key and the budgets that bind it. Both
 * grow by the price of a token for each byte of output: a token has at least one byte, so they cover whatever the
 * provider reports. They part where there is nothing left to take:
 *
 * - **The wallet** ends the stream there. It pays what the provider reports, so output beyond it would be lost to the
 *   operator.
 * - **A limit** lets the stream go on until what it would be charged, if it ended now, reaches what it has booked. Text
 *   has three to eight bytes to a token, so otherwise most of a budget could not be used. If the stream then ends by
 *   itself, its charge exceeds the limit by what the provider reports beyond our count.
 */
import { bytesPerEstimatedToken } from "../../../core/billing/tokens/rough_estimate.ts";
import type { Charge } from "../../../core/billing/outcome.ts";
import type { StreamBound, StreamCut } from "../../../core/calls/stream/metered_stream.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { StreamReading } from "../../../core/wire/contract/contract.ts";
import type { CallMoney, MoneyExtension } from "../call/call_money.ts";
import { limitEndError } from "../call/limit_refusals.ts";

/** Milliseconds that a running call waits for money that other calls reserve, before it is ended. */
export const pauseMs = 5_000;
/** Fewest tokens by which a reservation grows at a time, so that extensions are rare. */
const leastStepTokens = 1_024;
/** Most tokens by which a reservation grows at a time: what one stream may keep from other calls in advance. */
const maxStepTokens = 32_768;
/** Share of the reserved output at which the reservation is extended, so that the stream need not wait. */
const askAt = 0.75;

/** A stream and its money. */
export interface StreamMoney {
  readonly money: CallMoney;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  /** The most that a token of output can cost; 0 where tokens are not paid. */
  readonly tokenMicroVnd: bigint;
  /** Most output tokens of the call: nothing is reserved beyond them. */
  readonly maxTokens: number;
  /** How a stream ends that its wallet cannot pay for. */
  readonly outgrown: StreamCut["as"];
  /** Computes what would be billed if the call ended now. */
  readonly billed: (reading: StreamReading) => Pick<Charge, "usage" | "priceMicroVnd">;
}

/** Takes money in steps, ahead of the output that it pays. */
abstract class MoneyBound implements StreamBound {
  outputBytes = Infinity;
  protected readonly stream: StreamMoney;
  #paidTokens: number;

  constructor(stream: StreamMoney) {
    this.stream = stream;
    this.#paidTokens = stream.paidTokens;
    if (stream.tokenMicroVnd > 0n) this.#askLater(0);
  }

  /** Takes up to an amount more. */
  protected abstract extend(
    amountMicroVnd: bigint,
    waitMs: number,
  ): MoneyExtension | Promise<MoneyExtension>;

  /** Ends a stream that has more bytes than paid tokens, or returns the bytes up to which it may go on. */
  protected abstract outgrown(
    extension: MoneyExtension,
    reading: StreamReading,
  ): StreamCut | number;

  passed(reading: StreamReading): StreamCut | undefined | Promise<StreamCut | undefined> {
    const { maxTokens, tokenMicroVnd } = this.stream;
    const missing = reading.outputBytes - this.#paidTokens;
    const step = Math.max(
      Math.min(Math.max(this.#paidTokens, leastStepTokens), maxStepTokens),
      missing,
    );
    const amount = BigInt(Math.min(step, maxTokens - this.#paidTokens)) * tokenMicroVnd;
    const extension = this.extend(amount, missing > 0 ? pauseMs : 0);
    return extension instanceof Promise
      ? extension.then((known) => this.#take(known, reading))
      : this.#take(extension, reading);
  }

  #take(extension: MoneyExtension, reading: StreamReading): StreamCut | undefined {
    if (extension.outcome === "unavailable") {
      // The wallet could not be read. A short failure of the store must not end streams, so the stream continues.
      this.outputBytes = reading.outputBytes + leastStepTokens;
      return undefined;
    }
    if (extension.outcome === "granted") {
      this.#paidTokens += Number(extension.amountMicroVnd / this.stream.tokenMicroVnd);
    }
    if (reading.outputBytes > this.#paidTokens && this.#paidTokens < this.stream.maxTokens) {
      const end = this.outgrown(extension, reading);
      if (typeof end !== "number") return end;
      this.outputBytes = end;
      return undefined;
    }
    if (extension.outcome === "granted") this.#askLater(reading.outputBytes);
    else this.outputBytes = this.#paidTokens;
    return undefined;
  }

  #askLater(outputBytes: number): void {
    if (this.#paidTokens >= this.stream.maxTokens) {
      this.outputBytes = Infinity;
      return;
    }
    const early = Math.floor(this.#paidTokens * askAt);
    this.outputBytes = early > outputBytes ? early : this.#paidTokens;
  }
}

/** Ends a stream when the wallet has nothing more, as the installation says. */
class WalletBound extends MoneyBound {
  protected override extend(amountMicroVnd: bigint, waitMs: number) {
    return this.stream.money.extendReservation(amountMicroVnd, waitMs);
  }

  protected override outgrown(_extension: MoneyExtension, reading: StreamReading): StreamCut {
    const error = new GatewayError(
      "insufficient_balance",
      "The balance is used up: the answer ends here. Top up and continue with the same key",
    );
    return { as: this.stream.outgrown, error, usage: this.stream.billed(reading).usage };
  }
}

/** Ends a stream when it has used up a limit of its key or a budget, with an error that names it. */
class LimitBound extends MoneyBound {
  protected override extend(amountMicroVnd: bigint) {
    return this.stream.money.extendBooking(amountMicroVnd);
  }

  protected override outgrown(
    extension: MoneyExtension,
    reading: StreamReading,
  ): StreamCut | number {
    // The last read may hold the end and what the provider counted: no output follows that could be held back.
    if (reading.stopReason !== undefined) return Infinity;
    const { money: { bookedMicroVnd = 0n }, billed, tokenMicroVnd } = this.stream;
    const { priceMicroVnd, usage } = billed(reading);
    const leftMicroVnd = bookedMicroVnd - priceMicroVnd;
    if (leftMicroVnd > 0n) {
      // At least one, so that the limit is used up when the stream ends, and not nearly.
      const tokens = Math.max(1, Number(leftMicroVnd / tokenMicroVnd));
      return reading.outputBytes + Math.ceil(tokens * bytesPerToken(reading, usage));
    }
    // The limit had something left, which is booked by now: it is asked again after the next output.
    if (extension.outcome !== "limit") return reading.outputBytes;
    return { as: "error", error: limitEndError(extension), usage };
  }
}

/** Bytes of a token so far: as the provider counts, if it reports usage while it streams, and else as we do. */
function bytesPerToken({ outputBytes }: StreamReading, { output }: TokenUsage): number {
  return Math.max(1, Math.min(bytesPerEstimatedToken, outputBytes / Math.max(output, 1)));
}

/** Makes the bounds of a stream by its money: of its wallet, and of the limits that bind it. */
export function moneyBounds(stream: StreamMoney): StreamBound[] {
  const wallet = new WalletBound(stream);
  return stream.money.bookedMicroVnd === undefined ? [wallet] : [wallet, new LimitBound(stream)];
}
