/**
 * Bounds the memory of whole answers, which are read to their end before the client gets a byte.
 *
 * An answer that does not fit is not refused, since its provider has worked and will charge for it.
 * It stays unread for a while, and TCP flow control makes the provider wait.
 */
import { type BufferedBytes, busyRetrySeconds, type ByteBounds } from "./byte_budget.ts";
import { ByteQueue } from "./body_budget.ts";
import type { Deadlines } from "../time/deadlines.ts";
import { GatewayError } from "../errors/errors.ts";

/**
 * Bytes of whole answers that the process holds at once, from their first 64 KB until the client has them;
 * one more may exceed it. Four of the largest, or a hundred usual pictures.
 */
export const bufferedAnswerBytes = 256 * 1024 * 1024;

/** Share of these bytes that one account may hold: two of the largest answers. */
const bufferedAnswerBytesPerAccount = 128 * 1024 * 1024;

/**
 * Milliseconds that an answer waits unread for room in the budget. Providers stop sending after about a
 * minute, too.
 */
export const answerWaitMs = 60_000;

/** The memory that all whole answers of the process share. */
export class AnswerBudget {
  readonly #queue: ByteQueue;

  constructor(
    deadlines: Deadlines,
    bounds: ByteBounds = {
      total: bufferedAnswerBytes,
      perOwner: bufferedAnswerBytesPerAccount,
    },
  ) {
    this.#queue = new ByteQueue({
      deadlines,
      bounds,
      waitMs: answerWaitMs,
      // At most two per call: a call asks one route for a whole answer, and a second one if the first is slow.
      maxWaiting: Infinity,
      refusal: tooMany,
      overdraws: true,
    });
  }

  /** Bytes in use now, by all answers. */
  get usedBytes(): number {
    return this.#queue.usedBytes;
  }

  /** Opens the answer of one call, which grows while it is read. */
  open(owner: string): BufferedAnswer {
    return new BufferedAnswer(this.#queue, owner);
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    "busy",
    "Too many large answers are being sent at the moment; try again",
    { retryAfterSeconds: busyRetrySeconds },
  );
}

/**
 * The memory of one call's answer.
 *
 * @example
 * ```ts
 * import { AnswerBudget } from "./answer_budget.ts";
 * import { systemClock } from "../time/clock.ts";
 * import { Deadlines } from "../time/deadlines.ts";
 * const deadlines = new Deadlines({ clock: systemClock });
 * const budget = new AnswerBudget(deadlines, { total: 100, perOwner: 100 });
 * const [one, two, three] = ["a", "b", "c"].map((owner) => budget.open(owner));
 * one?.grow(90);
 * two?.grow(20); // beyond the bounds, since somebody must come to an end
 * const waits = three?.grow(20);
 * one?.release();
 * await waits;
 * if (budget.usedBytes !== 40) throw new Error(`${budget.usedBytes} bytes are in use`);
 * deadlines.close();
 * ```
 */
export class BufferedAnswer {
  readonly #queue: ByteQueue;
  readonly #owner: string;
  /** Created when the answer outgrows the uncounted size: nearly all answers are small. */
  #buffered: BufferedBytes | undefined;
  #isOver = false;

  constructor(queue: ByteQueue, owner: string) {
    this.#queue = queue;
    this.#owner = owner;
  }

  /** Bytes in use now; 0 for a small answer, which is not counted. */
  get bytes(): number {
    return this.#buffered?.bytes ?? 0;
  }

  /**
   * Takes `bytes` more. Returns a promise if they have to be waited for; it rejects with a
   * {@linkcode GatewayError} `busy` after `answerWaitMs`.
   */
  grow(bytes: number): Promise<void> | undefined {
    this.#buffered ??= this.#queue.open(this.#owner);
    return this.#queue.enter(this.#buffered, bytes);
  }

  /**
   * Gives everything back once no promise of {@linkcode keepUntil} is pending, including what is
   * taken until then.
   */
  release(): void {
    this.#isOver = true;
    this.#buffered?.release();
  }

  /**
   * Delays {@linkcode release} until `over` is settled.
   */
  keepUntil(over: Promise<unknown>): void {
    const buffered = this.#buffered ??= this.#queue.open(this.#owner);
    buffered.keepUntil(over);
    const done = () => {
      if (this.#isOver) buffered.release();
    };
    over.then(done, done);
  }
}
