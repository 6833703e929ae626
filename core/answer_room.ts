/**
 * Room for whole answers, which are read to their end before the client gets a byte: each is bounded, and so must be
 * their sum. A provider that has worked will charge us, so what finds no room is not refused but stays unread for a
 * while; the connection holds its provider back.
 */
import { type ByteBounds, ByteBudget, type HeldBytes } from "./byte_budget.ts";
import type { Deadline, Deadlines } from "./deadlines.ts";
import { GatewayError } from "./errors.ts";
import { limits } from "./limits.ts";

interface Waiting {
  readonly answer: HeldBytes;
  readonly bytes: number;
  readonly enter: () => void;
  readonly patience: Deadline;
}

/**
 * What all answers may hold.
 *
 * Many that hold a part could wait for each other for ever, so one at a time may go on beyond the bounds: the sum of all
 * is at most `bounds.total` and one answer.
 */
export class AnswerRoom {
  readonly #budget: ByteBudget;
  readonly #deadlines: Deadlines;
  /** In the order in which they came. One for each call at most: whole answers are asked of one route at a time. */
  readonly #waiting = new Set<Waiting>();
  /** The one that may go on beyond the bounds. */
  #overdrawn: HeldBytes | undefined;

  constructor(
    deadlines: Deadlines,
    bounds: ByteBounds = {
      total: limits.heldAnswerBytes,
      perOwner: limits.heldAnswerBytesPerAccount,
    },
  ) {
    this.#deadlines = deadlines;
    this.#budget = new ByteBudget(bounds, () => this.#letIn());
  }

  /** Bytes that are held now, by all. */
  get held(): number {
    return this.#budget.held;
  }

  /** The answer of one call, which grows while it is read. */
  hold(owner: string): HeldAnswer {
    return new HeldAnswer(this, owner);
  }

  /** For {@linkcode HeldAnswer}. */
  holdBytes(owner: string): HeldBytes {
    return this.#budget.hold(owner);
  }

  /** For {@linkcode HeldAnswer.grow}. */
  enter(answer: HeldBytes, bytes: number): Promise<void> | undefined {
    if (this.#fits(answer, bytes)) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const patience = this.#deadlines.create(() => {
      this.#waiting.delete(waiting);
      reject(tooMany());
    });
    const waiting = { answer, bytes, enter: resolve, patience };
    this.#waiting.add(waiting);
    patience.arm(limits.answerRoomMs);
    return promise;
  }

  #fits(answer: HeldBytes, bytes: number): boolean {
    if (answer.tryTake(bytes)) return true;
    this.#overdrawn ??= answer;
    if (this.#overdrawn !== answer) return false;
    answer.takeAnyway(bytes);
    return true;
  }

  #letIn(): void {
    if (this.#overdrawn?.bytes === 0) this.#overdrawn = undefined;
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.answer, waiting.bytes)) continue;
      this.#waiting.delete(waiting);
      waiting.patience.disarm();
      waiting.enter();
    }
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    "busy",
    "Too many large answers are on their way to their clients at the moment; try again",
    { retryAfterSeconds: limits.busyRetrySeconds },
  );
}

/**
 * What one call holds of its answer.
 *
 * @example
 * ```ts
 * import { AnswerRoom } from "./answer_room.ts";
 * import { systemClock } from "./clock.ts";
 * import { Deadlines } from "./deadlines.ts";
 * const deadlines = new Deadlines({ clock: systemClock });
 * const room = new AnswerRoom(deadlines, { total: 100, perOwner: 100 });
 * const [one, two, three] = ["a", "b", "c"].map((owner) => room.hold(owner));
 * one?.grow(90);
 * two?.grow(20); // beyond the bounds, since somebody must come to an end
 * const waits = three?.grow(20);
 * one?.release();
 * await waits;
 * if (room.held !== 40) throw new Error(`${room.held} bytes are held`);
 * deadlines.close();
 * ```
 */
export class HeldAnswer {
  readonly #room: AnswerRoom;
  readonly #owner: string;
  /** Made when it is needed: nearly all answers are small. */
  #held: HeldBytes | undefined;
  #isOver = false;

  constructor(room: AnswerRoom, owner: string) {
    this.#room = room;
    this.#owner = owner;
  }

  /** Bytes that are held now; 0 for a small answer, which is not counted. */
  get bytes(): number {
    return this.#held?.bytes ?? 0;
  }

  /**
   * Takes so many bytes more. A promise where they have to be waited for; it rejects with a {@linkcode GatewayError}
   * `busy` after `limits.answerRoomMs`.
   */
  grow(bytes: number): Promise<void> | undefined {
    this.#held ??= this.#room.holdBytes(this.#owner);
    return this.#room.enter(this.#held, bytes);
  }

  /** Everything goes back, as soon as nothing of {@linkcode keepUntil} is pending; also what grows until then. */
  release(): void {
    this.#isOver = true;
    this.#held?.release();
  }

  /** A release before `over` is settled waits for it. */
  keepUntil(over: Promise<unknown>): void {
    const held = this.#held ??= this.#room.holdBytes(this.#owner);
    held.keepUntil(over);
    const done = () => {
      if (this.#isOver) held.release();
    };
    over.then(done, done);
  }
}
