/**
 * Room for whole answers, which are read to their end before the client gets a byte: each is bounded, and so must be
 * their sum. A provider that has worked will charge us, so what finds no room is not refused but stays unread for a
 * while; the connection holds its provider back.
 */
import type { ByteBounds, HeldBytes } from "./byte_budget.ts";
import { ByteQueue } from "./byte_queue.ts";
import type { Deadlines } from "../time/deadlines.ts";
import { GatewayError } from "../../errors.ts";
import { limits } from "../../limits.ts";

/** What all answers may hold. */
export class AnswerRoom {
  readonly #queue: ByteQueue;

  constructor(
    deadlines: Deadlines,
    bounds: ByteBounds = {
      total: limits.heldAnswerBytes,
      perOwner: limits.heldAnswerBytesPerAccount,
    },
  ) {
    this.#queue = new ByteQueue({
      deadlines,
      bounds,
      waitMs: limits.answerRoomMs,
      // One for each call at most: whole answers are asked of one route at a time.
      maxWaiting: Infinity,
      refusal: tooMany,
      overdraws: true,
    });
  }

  /** Bytes that are held now, by all. */
  get held(): number {
    return this.#queue.held;
  }

  /** The answer of one call, which grows while it is read. */
  hold(owner: string): HeldAnswer {
    return new HeldAnswer(this.#queue, owner);
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
 * import { systemClock } from "../time/clock.ts";
 * import { Deadlines } from "../time/deadlines.ts";
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
  readonly #room: ByteQueue;
  readonly #owner: string;
  /** Made when it is needed: nearly all answers are small. */
  #held: HeldBytes | undefined;
  #isOver = false;

  constructor(room: ByteQueue, owner: string) {
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
    this.#held ??= this.#room.hold(this.#owner);
    return this.#room.enter(this.#held, bytes);
  }

  /** Everything goes back, as soon as nothing of {@linkcode keepUntil} is pending; also what grows until then. */
  release(): void {
    this.#isOver = true;
    this.#held?.release();
  }

  /** A release before `over` is settled waits for it. */
  keepUntil(over: Promise<unknown>): void {
    const held = this.#held ??= this.#room.hold(this.#owner);
    held.keepUntil(over);
    const done = () => {
      if (this.#isOver) held.release();
    };
    over.then(done, done);
  }
}
