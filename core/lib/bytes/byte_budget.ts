/**
 * Bounds the memory that the bodies of all calls of the process take together.
 *
 * - Folder `core/lib/bytes/`: memory for bodies: budgets, waiting for room, pooled buffers, bytes
 *   in parts.
 * - In: sizes that callers announce and bytes as they arrive.
 * - Out: room that was granted and must be given back, and bytes in one or several pieces.
 * - Never: grants more than the bounds that it was made with.
 */
import { invariant } from "../base/assert.ts";
import { GatewayError } from "../errors/errors.ts";

/**
 * Seconds after which a client may retry when a byte budget is full: a large call has sent its body on, or
 * ended, by then.
 */
export const busyRetrySeconds = 5;

/** The bounds of a byte budget. */
export interface ByteBounds {
  /** For all owners together. */
  readonly total: number;
  /**
   * For one owner while the others hold nothing.
   *
   * What the others hold shrinks it: an owner may take this share of what they leave. With half of
   * `total`, n owners that all want more than there is get 1/(n + 1) each, and as much stays free
   * for the next one (the dynamic thresholds of shared packet buffers: Choudhury and Hahne, 1998).
   */
  readonly perOwner: number;
}

/** Counts bytes before they are fetched. */
export interface ByteCounter {
  /** @throws {GatewayError} `busy` when so many more do not fit */
  take(bytes: number): void;
  /** Gives back everything that was taken. */
  release(): void;
}

/** A bounded number of bytes that owners take and give back. */
export class ByteBudget {
  readonly #bounds: ByteBounds;
  readonly #onGivenBack: () => void;
  readonly #ofOwners = new Map<string, number>();
  #usedBytes = 0;

  /** `onGivenBack` is called whenever there is more room than before. */
  constructor(bounds: ByteBounds, onGivenBack: () => void = () => {}) {
    this.#bounds = bounds;
    this.#onGivenBack = onGivenBack;
  }

  /** Bytes in use now, by all owners. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Owners that have bytes in use. */
  get owners(): number {
    return this.#ofOwners.size;
  }

  /**
   * Takes bytes for an owner if they fit; returns whether they did. Pair it with {@linkcode
   * giveBack}, or use {@linkcode open}.
   */
  take(owner: string, bytes: number): boolean {
    const { total, perOwner } = this.#bounds;
    const own = this.#ofOwners.get(owner) ?? 0;
    const ofOthers = this.#usedBytes - own;
    // The second bound is the share of what the others leave, multiplied out to avoid a division.
    if (own + bytes > perOwner || (own + bytes) * total > perOwner * (total - ofOthers)) {
      return false;
    }
    this.takeAnyway(owner, bytes);
    return true;
  }

  /** Takes bytes beyond the bounds, for a holder that has to finish before others find room. */
  takeAnyway(owner: string, bytes: number): void {
    if (bytes === 0) return;
    this.#ofOwners.set(owner, (this.#ofOwners.get(owner) ?? 0) + bytes);
    this.#usedBytes += bytes;
  }

  giveBack(owner: string, bytes: number): void {
    const own = (this.#ofOwners.get(owner) ?? 0) - bytes;
    if (own > 0) this.#ofOwners.set(owner, own);
    else this.#ofOwners.delete(owner);
    this.#usedBytes -= bytes;
    this.#onGivenBack();
  }

  /** Opens a holder, whose bytes grow and go back all at once. */
  open(owner: string): BufferedBytes {
    return new BufferedBytes(this, owner);
  }
}

/**
 * The bytes of one holder, such as one body.
 *
 * @example
 * ```ts
 * import { ByteBudget } from "./byte_budget.ts";
 * const budget = new ByteBudget({ total: 100, perOwner: 60 });
 * const body = budget.open("acc_1");
 * body.take(60);
 * body.release();
 * if (budget.usedBytes !== 0) throw new Error("bytes are still in use");
 * ```
 */
export class BufferedBytes implements ByteCounter {
  readonly #budget: ByteBudget;
  readonly #owner: string;
  #bytes = 0;
  #keepers = 0;
  #isReleased = false;

  constructor(budget: ByteBudget, owner: string) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Bytes in use now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes bytes if they fit; returns whether they did. What was taken before stays taken. */
  tryTake(bytes: number): boolean {
    if (!this.#budget.take(this.#owner, bytes)) return false;
    this.#took(bytes);
    return true;
  }

  /** See {@linkcode ByteBudget.takeAnyway}. */
  takeAnyway(bytes: number): void {
    this.#budget.takeAnyway(this.#owner, bytes);
    this.#took(bytes);
  }

  #took(bytes: number): void {
    this.#bytes += bytes;
    this.#isReleased = false;
  }

  /**
   * Takes bytes, or refuses the call with a {@linkcode GatewayError} `busy`.
   */
  take(bytes: number): void {
    if (this.tryTake(bytes)) return;
    throw new GatewayError(
      "busy",
      "Too many large requests are in progress at the moment; try again",
      { retryAfterSeconds: busyRetrySeconds },
    );
  }

  /** Gives back a part at once. */
  giveBack(bytes: number): void {
    invariant(bytes <= this.#bytes, "only what was taken is given back");
    if (bytes === 0) return;
    this.#bytes -= bytes;
    this.#budget.giveBack(this.#owner, bytes);
  }

  /**
   * Gives everything back once no promise of {@linkcode keepUntil} is pending. More may be taken
   * afterwards.
   */
  release(): void {
    this.#isReleased = true;
    const bytes = this.#bytes;
    if (this.#keepers > 0 || bytes === 0) return;
    this.#bytes = 0;
    this.#budget.giveBack(this.#owner, bytes);
  }

  /**
   * Delays {@linkcode release} until `over` is settled.
   */
  keepUntil(over: Promise<unknown>): void {
    this.#keepers++;
    const done = () => {
      this.#keepers--;
      if (this.#isReleased) this.release();
    };
    over.then(done, done);
  }
}
