/**
 * Room for whole answers, which are read to their end before the client gets a byte: each is bounded, and so must be
 * their sum. A provider that has worked will charge us, so what finds no room is not refused but stays unread for a
 * while; the connection holds its provider back.
 */
import { type BufferedBytes, busyRetrySeconds, type ByteBounds } from "./byte_budget.ts";
import { ByteQueue } from "./byte_queue.ts";
import type { Deadlines } from "../time/deadlines.ts";
import { GatewayError } from "../../errors.ts";

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

/** What all answers may hold. */
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
      // One for each call at most: whole answers are asked of one route at a time.
      maxWaiting: Infinity,
      refusal: tooMany,
      overdraws: true,
    });
  }

  /** Bytes in use now, by all. */
  get usedBytes(): number {
    return this.#queue.usedBytes;
  }

  /** The answer of one call, which grows while it is read. */
  open(owner: string): BufferedAnswer {
    return new BufferedAnswer(this.#queue, owner);
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    "busy",
    "Too many large answers are on their way to their clients at the moment; try again",
    { retryAfterSeconds: busyRetrySeconds },
  );
}

/**
 * What one call holds of its answer.
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
  /** Made when it is needed: nearly all answers are small. */
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
   * Takes so many bytes more. A promise where they have to be waited for; it rejects with a {@linkcode GatewayError}
   * `busy` after `answerWaitMs`.
   */
  grow(bytes: number): Promise<void> | undefined {
    this.#buffered ??= this.#queue.open(this.#owner);
    return this.#queue.enter(this.#buffered, bytes);
  }

  /** Everything goes back, as soon as nothing of {@linkcode keepUntil} is pending; also what grows until then. */
  release(): void {
    this.#isOver = true;
    this.#buffered?.release();
  }

  /** A release before `over` is settled waits for it. */
  keepUntil(over: Promise<unknown>): void {
    const buffered = this.#buffered ??= this.#queue.open(this.#owner);
    buffered.keepUntil(over);
    const done = () => {
      if (this.#isOver) buffered.release();
    };
    over.then(done, done);
  }
}
