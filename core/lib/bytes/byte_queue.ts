/** A byte budget with a queue: what does not fit waits instead of being refused at once. */
import { withResolvers } from "../runtime/mod.ts";
import { type BufferedBytes, type ByteBounds, ByteBudget } from "./byte_budget.ts";
import type { Deadline, Deadlines } from "../time/deadlines.ts";
import type { GatewayError } from "../errors/errors.ts";

/** The bounds and handlers of a {@linkcode ByteQueue}. */
export interface ByteQueueOptions {
  readonly deadlines: Deadlines;
  readonly bounds: ByteBounds;
  /** Longest wait of one holder. */
  readonly waitMs: number;
  /** Holders that may wait at the same time; more are refused at once. */
  readonly maxWaiting: number;
  /** Creates the error for a holder that waited too long, or that found the queue full. */
  readonly refusal: () => GatewayError;
  /**
   * Lets one holder at a time take bytes beyond the bounds, since holders that each have a part
   * could otherwise wait for each other for ever. All together then take at most `bounds.total` and
   * one holder's bytes.
   */
  readonly overdraws: boolean;
}

interface Waiting {
  readonly buffered: BufferedBytes;
  readonly bytes: number;
  readonly enter: () => void;
  readonly deadline: Deadline;
}

/**
 * A byte budget with a queue; see {@linkcode ByteQueueOptions}.
 */
export class ByteQueue {
  readonly #options: ByteQueueOptions;
  readonly #budget: ByteBudget;
  /** In order of arrival; at most one per holder. */
  readonly #waiting = new Set<Waiting>();
  /** The holder that may take bytes beyond the bounds. */
  #overdrawn: BufferedBytes | undefined;

  constructor(options: ByteQueueOptions) {
    this.#options = options;
    this.#budget = new ByteBudget(options.bounds, () => this.#letIn());
  }

  /** Bytes in use now, by all holders. */
  get usedBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Owners that have bytes in use. */
  get owners(): number {
    return this.#budget.owners;
  }

  /** Opens a holder without bytes. */
  open(owner: string): BufferedBytes {
    return this.#budget.open(owner);
  }

  /**
   * Takes `bytes` more for a holder. Returns a promise if they have to be waited for; it rejects
   * with `options.refusal` after `options.waitMs`.
   */
  enter(buffered: BufferedBytes, bytes: number): Promise<void> | undefined {
    if (this.#fits(buffered, bytes)) return undefined;
    const { deadlines, waitMs, maxWaiting, refusal } = this.#options;
    if (this.#waiting.size >= maxWaiting) return Promise.reject(refusal());
    const { promise, resolve, reject } = withResolvers<void>();
    const deadline = deadlines.create(() => {
      this.#waiting.delete(waiting);
      reject(refusal());
    });
    const waiting = { buffered, bytes, enter: resolve, deadline };
    this.#waiting.add(waiting);
    deadline.arm(waitMs);
    return promise;
  }

  #fits(buffered: BufferedBytes, bytes: number): boolean {
    if (buffered.tryTake(bytes)) return true;
    if (!this.#options.overdraws) return false;
    this.#overdrawn ??= buffered;
    if (this.#overdrawn !== buffered) return false;
    buffered.takeAnyway(bytes);
    return true;
  }

  #letIn(): void {
    if (this.#overdrawn?.bytes === 0) this.#overdrawn = undefined;
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.buffered, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      waiting.deadline.disarm();
      waiting.enter();
    }
  }
}
