/**
 * Bounds the memory of large request bodies.
 *
 * Memory counts once bytes arrive for it, so a length that a client only declares blocks no other account.
 * Within one account the declared lengths count as well, so that many bodies at once arrive whole
 * one after the other rather than all in part.
 */
import {
  type BufferedBytes,
  busyRetrySeconds,
  type ByteBounds,
  ByteBudget,
} from "./byte_budget.ts";
import type { Deadline, Deadlines } from "../time/deadlines.ts";
import { GatewayError } from "../errors/errors.ts";
import { withResolvers } from "../runtime/built_ins.ts";

// A byte budget with a queue: what does not fit waits instead of being refused at once.

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
  /** Called when a holder is about to take bytes beyond the bounds, once for each. */
  readonly onOverdraw?: (() => void) | undefined;
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
    if (this.#overdrawn === undefined) {
      this.#overdrawn = buffered;
      this.#options.onOverdraw?.();
    }
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

/**
 * Bytes of request bodies, and of pictures fetched for them, that the process holds at once: 19 of the
 * largest. With parsed values, outgoing bodies and uncollected garbage that is four to seven times as much
 * (measured), which a machine with 4 GB survives.
 */
const bufferedBytes = 384 * 1024 * 1024;

/** Share of these bytes that one account may hold, so that its burst does not shut the others out. */
export const bufferedBytesPerAccount = 192 * 1024 * 1024;

/**
 * Longest wait of a body that does not fit. It stays unread meanwhile; a large call has forwarded
 * its body, or ended, within seconds.
 */
export const bodyWaitMs = 30_000;

/** Bodies that wait at the same time. Each keeps a connection and up to 64 KB: 64 MB in all. */
const waitingBodies = 1_024;

interface Queues {
  /** Bytes that have arrived, of all accounts. */
  readonly arrived: ByteQueue;
  /** Bytes that each account has declared, whole bodies included. */
  readonly declared: ByteQueue;
  readonly perOwner: number;
}

/** The memory that the bodies of all calls, and what is fetched for them, share. */
export class BodyBudget {
  readonly #queues: Queues;

  /** `onOverdraw` is called before a body takes more memory than the bounds leave, once for each. */
  constructor(
    deadlines: Deadlines,
    bounds: ByteBounds = { total: bufferedBytes, perOwner: bufferedBytesPerAccount },
    onOverdraw?: () => void,
  ) {
    const common = { deadlines, waitMs: bodyWaitMs, maxWaiting: waitingBodies, refusal: tooMany };
    const { perOwner } = bounds;
    this.#queues = {
      perOwner,
      arrived: new ByteQueue({ ...common, bounds, overdraws: true, onOverdraw }),
      declared: new ByteQueue({
        ...common,
        bounds: { total: Infinity, perOwner },
        overdraws: false,
      }),
    };
  }

  /** Bytes in use now, by all bodies. */
  get usedBytes(): number {
    return this.#queues.arrived.usedBytes;
  }

  /** Accounts that have bytes in use, or have declared some. */
  get owners(): number {
    return Math.max(this.#queues.arrived.owners, this.#queues.declared.owners);
  }

  /** Opens a counter for what a call fetches. */
  open(owner: string): BufferedBytes {
    return this.#queues.arrived.open(owner);
  }

  /** Opens the body of one call. */
  body(owner: string): BufferedBody {
    return new BufferedBody(this.#queues, owner);
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    "busy",
    "Too many large requests are in progress at the moment; try again",
    { retryAfterSeconds: busyRetrySeconds },
  );
}

/**
 * The memory of one call's body.
 *
 * @example
 * ```ts
 * import { BodyBudget } from "./body_budget.ts";
 * import { systemClock } from "../time/clock.ts";
 * import { Deadlines } from "../time/deadlines.ts";
 * const deadlines = new Deadlines({ clock: systemClock });
 * const budget = new BodyBudget(deadlines, { total: 100, perOwner: 50 });
 * const body = budget.body("a");
 * await body.declare(40);
 * const declared = budget.usedBytes;
 * await body.grow(40);
 * if (declared !== 0 || budget.usedBytes !== 40) throw new Error("what arrived is counted, not what was declared");
 * body.release();
 * deadlines.close();
 * ```
 */
export class BufferedBody {
  readonly #queues: Queues;
  readonly #arrived: BufferedBytes;
  readonly #declared: BufferedBytes;

  /** Internal: use {@linkcode BodyBudget.body}. */
  constructor(queues: Queues, owner: string) {
    this.#queues = queues;
    this.#arrived = queues.arrived.open(owner);
    this.#declared = queues.declared.open(owner);
  }

  /**
   * Declares a length. Returns a promise if the account's other bodies leave no room for it yet.
   */
  declare(bytes: number): Promise<void> | undefined {
    return this.#queues.declared.enter(this.#declared, Math.min(bytes, this.#queues.perOwner));
  }

  /** Takes memory for bytes that have arrived. Returns a promise if they have to be waited for. */
  grow(bytes: number): Promise<void> | undefined {
    const beyond = this.#arrived.bytes + bytes - this.#declared.bytes;
    if (beyond > 0) this.#declared.takeAnyway(beyond);
    return this.#queues.arrived.enter(this.#arrived, bytes);
  }

  /** Reports that the body is whole: what was declared beyond it no longer counts. */
  whole(): void {
    this.#declared.giveBack(this.#declared.bytes - this.#arrived.bytes);
  }

  /**
   * Gives everything back once no promise of {@linkcode keepUntil} is pending.
   */
  release(): void {
    this.#arrived.release();
    this.#declared.release();
  }

  /**
   * Delays {@linkcode release} until `over` is settled.
   */
  keepUntil(over: Promise<unknown>): void {
    this.#arrived.keepUntil(over);
    this.#declared.keepUntil(over);
  }
}
