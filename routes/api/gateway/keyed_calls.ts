/** The idempotency keys under which calls run in this process, and the answers that are kept for their repeats. */
import {
  type ReplayedAnswer,
  ReplayedAnswers,
} from "../../../core/calls/replay/replayed_answers.ts";
import type { KeptResponse } from "../../../core/calls/request/kept_responses.ts";
import type { ByteBounds } from "../../../core/lib/bytes/byte_budget.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";

// The other threads of this process that serve calls, as one of them sees them.

/** Questions to the other threads. */
export interface Peers {
  /** The metrics of all threads, in the Prometheus text format. */
  metrics(): Promise<string>;
  /** Finds an answer that another thread keeps for repeats. */
  replayed(id: string): Promise<ReplayedAnswer | undefined>;
  /** Waits for the call that another thread runs under an idempotency key; false if none does, or it takes too long. */
  finished(id: string): Promise<boolean>;
  /** Finds items of Responses answers that other threads keep. */
  items(account: AccountId, ids: readonly string[]): Promise<readonly JsonObject[]>;
  /** Finds a turn that another thread keeps. */
  response(of: NamedResponse): Promise<KeptResponse | undefined>;
  /** Removes a turn from the other threads; resolves with whether one had it. */
  removeResponse(of: NamedResponse): Promise<boolean>;
}

/** A turn of an account. */
export interface NamedResponse {
  readonly account: AccountId;
  readonly id: string;
}

/** Most calls with one key that wait for the first; SDKs repeat two or three times. */
const waitingPerKey = 4;

/** A key with a running call in this process. */
interface Running {
  readonly fingerprint: string;
  readonly over: Promise<void>;
  waiting: number;
  /**
   * Whether it claims the key in the store, known when the store has answered; one that does not may itself wait for
   * another thread. Another thread may see the row before the answer is here.
   */
  claims: Promise<boolean>;
}

/** The state of a call that has not asked the store. */
const notYet = Promise.resolve(false);

/** A place among the running calls. */
interface Entered {
  /** The call tries to claim the key in the store; resolves with whether it could, and never rejects. */
  readonly claims: (claims: Promise<boolean>) => void;
  readonly leave: () => void;
}

/** The calls with an idempotency key that run in this process, and the answers kept for repeats. */
export class KeyedCalls {
  readonly replayed: ReplayedAnswers;
  readonly #deadlines: Deadlines;
  readonly #running = new Map<string, Running>();

  constructor(deadlines: Deadlines, keptBytes?: ByteBounds) {
    this.#deadlines = deadlines;
    this.replayed = new ReplayedAnswers(deadlines, keptBytes);
  }

  /** Number of keys with a running call. */
  get running(): number {
    return this.#running.size;
  }

  /** Enters a key, or returns the call that runs under it. */
  enter(id: string, fingerprint: string): Running | Entered {
    const running = this.#running.get(id);
    if (running !== undefined) return running;
    const { promise, resolve } = Promise.withResolvers<void>();
    const own: Running = { fingerprint, over: promise, waiting: 0, claims: notYet };
    this.#running.set(id, own);
    const leave = () => {
      this.#running.delete(id);
      resolve();
    };
    return { leave, claims: (claims) => void (own.claims = claims) };
  }

  /**
   * Waits for the call that has claimed a key, if it runs in this thread. Resolves with whether it did, and is over.
   * Calls that only look for an answer do not count: those of two threads would wait for each other.
   */
  async finished(id: string): Promise<boolean> {
    const running = this.#running.get(id);
    return running !== undefined && await running.claims && await this.wait(running);
  }

  /** Waits for a call, no longer than it can run. Resolves with whether it is over. */
  async wait(running: Running): Promise<boolean> {
    if (running.waiting >= waitingPerKey) return false;
    running.waiting++;
    const late = Promise.withResolvers<false>();
    const deadline = this.#deadlines.create(() => late.resolve(false));
    deadline.arm(maxCallMs);
    try {
      return await Promise.race([running.over.then(() => true), late.promise]);
    } finally {
      deadline.disarm();
      running.waiting--;
    }
  }
}
