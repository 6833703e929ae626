/**
 * Answers of calls with an idempotency key, kept in memory for two minutes, so that a client that lost its connection
 * asks again and gets the same bytes. They are not stored; an answer that does not fit is not kept.
 *
 * - Folder `core/calls/replay/`: answers that are kept for repeated requests with an idempotency key.
 * - In: the bytes of an answer as they leave.
 * - Out: the same bytes again, for two minutes.
 * - Never: writes an answer to the store, or keeps more bytes than its bounds allow.
 */
import { type BufferedBytes, type ByteBounds, ByteBudget } from "../../lib/bytes/byte_budget.ts";
import type { Deadline, Deadlines } from "../../lib/time/deadlines.ts";

/** Milliseconds for which an answer is kept: SDKs repeat a call within seconds of their timeout. */
export const replayedAnswerMs = 120_000;

/** Bytes of the largest answer that is kept: a long text is under 1 MB, a picture as base64 under 6 MB. */
export const replayedAnswerBytes = 8 * 1024 * 1024;

/** Bytes of all kept answers, and of those of one account. */
const keptBytes: ByteBounds = { total: 64 * 1024 * 1024, perOwner: 32 * 1024 * 1024 };

/** Bytes that an answer costs beside its body. */
const overheadBytes = 2 * 1024;

/** An answer that is kept for repeats of its request. */
export interface ReplayedAnswer {
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: readonly Uint8Array<ArrayBuffer>[];
}

interface Kept {
  readonly answer: ReplayedAnswer;
  readonly buffered: BufferedBytes;
  readonly expiry: Deadline;
}

/**
 * The kept answers of one process.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../lib/time/clock.ts";
 * import { Deadlines } from "../../lib/time/deadlines.ts";
 * import { ReplayedAnswers } from "./replayed_answers.ts";
 * const deadlines = new Deadlines({ clock: systemClock });
 * const kept = new ReplayedAnswers(deadlines);
 * const draft = kept.draft("acc_1");
 * draft.add(new Uint8Array([1, 2]));
 * draft.keep("key", { status: 200, headers: [] });
 * if (kept.find("key")?.body[0]?.length !== 2) throw new Error("not kept");
 * deadlines.close();
 * ```
 */
export class ReplayedAnswers {
  readonly #deadlines: Deadlines;
  readonly #budget: ByteBudget;
  readonly #kept = new Map<string, Kept>();

  constructor(deadlines: Deadlines, bounds: ByteBounds = keptBytes) {
    this.#deadlines = deadlines;
    this.#budget = new ByteBudget(bounds);
  }

  /** Bytes in use now, drafts included. */
  get usedBytes(): number {
    return this.#budget.usedBytes;
  }

  /** Finds the answer under an id, if it is still kept. */
  find(id: string): ReplayedAnswer | undefined {
    return this.#kept.get(id)?.answer;
  }

  /** Begins to copy an answer of an account. */
  draft(owner: string): AnswerDraft {
    return new AnswerDraft(this, this.#budget.open(owner));
  }

  /** Internal: use {@linkcode AnswerDraft.keep}. */
  keep(id: string, answer: ReplayedAnswer, buffered: BufferedBytes): void {
    this.#forget(id);
    const expiry = this.#deadlines.create(() => this.#forget(id));
    this.#kept.set(id, { answer, buffered, expiry });
    expiry.arm(replayedAnswerMs);
  }

  #forget(id: string): void {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    kept.expiry.disarm();
    kept.buffered.release();
  }
}

/** Copies an answer on its way to the client, until it is whole or too large. */
export class AnswerDraft {
  readonly #answers: ReplayedAnswers;
  readonly #buffered: BufferedBytes;
  #pieces: Uint8Array<ArrayBuffer>[] | undefined = [];
  #bytes = 0;

  /** Internal: use {@linkcode ReplayedAnswers.draft}. */
  constructor(answers: ReplayedAnswers, buffered: BufferedBytes) {
    this.#answers = answers;
    this.#buffered = buffered;
    if (!buffered.tryTake(overheadBytes)) this.drop();
  }

  /** Adds a copy of a piece. */
  add(piece: Uint8Array): void {
    if (this.#pieces === undefined) return;
    this.#bytes += piece.length;
    if (this.#bytes > replayedAnswerBytes || !this.#buffered.tryTake(piece.length)) {
      return this.drop();
    }
    this.#pieces.push(new Uint8Array(piece));
  }

  /** Keeps the copy, if all of it fitted. */
  keep(id: string, head: Pick<ReplayedAnswer, "status" | "headers">): void {
    const body = this.#pieces;
    if (body === undefined) return;
    this.#pieces = undefined;
    this.#answers.keep(id, { ...head, body }, this.#buffered);
  }

  /** Discards the copy. */
  drop(): void {
    if (this.#pieces === undefined) return;
    this.#pieces = undefined;
    this.#buffered.release();
  }
}
