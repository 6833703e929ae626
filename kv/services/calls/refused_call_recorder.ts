/**
 * Keeps refused calls: they wait in a queue and go into the store together, so that a refusal waits for nothing. A flood
 * of one account is sampled, and the rows say how many calls have none; the counts by hour have all of them.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type RefusedCall, writeRefusedCall } from "./refused_calls.ts";
import { mailReachedLimits } from "./limit_mails.ts";
import { RefusedHourCounts } from "./refused_hours.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Milliseconds that a call waits for others of its commit: pages show it within a second. */
const gatherMs = 250;

/** Milliseconds until a commit that failed is tried again. */
const retryMs = 5_000;

/** Calls that wait for the store, about 1 MB. Further ones are counted only. */
const maxWaiting = 2_000;

/** Calls in one commit, two rows each. */
const callsPerCommit = 100;

/** Milliseconds of the window in which the refused calls of an account are counted. */
const windowMs = 60_000;

/** Refused calls of an account in a window that all have rows: more than a person reads. */
const wholePerWindow = 60;

/** Beyond those, one call of this many has a row. */
const sampledOneIn = 100;

/** Accounts with a window at once, of about 1 KB each. The oldest window makes room. */
const maxWindows = 10_000;

/** The refused calls of an account in a window. */
interface Window {
  readonly beganAtMs: number;
  seen: number;
  /** Calls without a row since the last one that has one. */
  leftOut: number;
  /** The last of them. */
  last: RefusedCall | undefined;
}

export interface RefusedCallRecorderOptions {
  readonly kv: KeyValueStore;
  readonly clock: Pick<Clock, "nowMs">;
  readonly timer: Timer;
  /** Days after which rows expire; 0: nothing is kept. */
  readonly keptDays: number;
  /** Called with the calls that were written; of a flood, with the sample. */
  readonly afterWrite?: (calls: readonly RefusedCall[]) => Promise<void>;
  /** Called with the error of a commit, which is tried again. */
  readonly onFailure: (error: unknown) => void;
}

/** The refused calls of one thread. */
export class RefusedCallRecorder {
  readonly #options: RefusedCallRecorderOptions;
  readonly #windows = new Map<AccountId, Window>();
  readonly #hours: RefusedHourCounts;
  #waiting: RefusedCall[] = [];
  #writing: Promise<void> = Promise.resolve();
  #stopWriteTimer: (() => void) | undefined;
  #stopWindowTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: RefusedCallRecorderOptions) {
    this.#options = options;
    this.#hours = new RefusedHourCounts(options.clock.nowMs());
  }

  /** Keeps a call, or counts it. Never waits and never throws. */
  add(call: RefusedCall): void {
    if (this.#options.keptDays === 0 || this.#isClosed) return;
    this.#hours.add(call);
    this.#writeIn(gatherMs);
    const window = this.#windowOf(call);
    window.seen++;
    const isKept = window.seen <= wholePerWindow || window.seen % sampledOneIn === 0;
    window.leftOut++;
    window.last = call;
    if (isKept) this.#keepLast(window);
    this.#watchWindows();
  }

  /** Writes what waits, once; calls of a store that does not answer are lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWindowTimer?.();
    for (const window of this.#windows.values()) this.#keepLast(window);
    this.#windows.clear();
    this.#stopWriteTimer?.();
    await this.#writing;
    await this.#write();
  }

  #windowOf({ accountId, atMs }: RefusedCall): Window {
    const known = this.#windows.get(accountId);
    if (known !== undefined && isOpen(known, atMs)) return known;
    if (known !== undefined) this.#end(accountId, known);
    const [oldest] = this.#windows;
    if (oldest !== undefined && this.#windows.size >= maxWindows) this.#end(...oldest);
    const window = { beganAtMs: atMs, seen: 0, leftOut: 0, last: undefined };
    this.#windows.set(accountId, window);
    return window;
  }

  /** Adds the last call of a window to those that wait, with the number of those before it that have no row. */
  #keepLast(window: Window): void {
    const { last, leftOut } = window;
    if (last === undefined || this.#waiting.length >= maxWaiting) return;
    this.#waiting.push(leftOut === 1 ? last : { ...last, leftOut: leftOut - 1 });
    window.leftOut = 0;
    window.last = undefined;
    if (!this.#isClosed) this.#writeIn(gatherMs);
  }

  #end(accountId: AccountId, window: Window): void {
    this.#keepLast(window);
    this.#windows.delete(accountId);
  }

  #endWindows(): void {
    const { clock } = this.#options;
    const nowMs = clock.nowMs();
    for (const [accountId, window] of this.#windows) {
      if (!isOpen(window, nowMs)) this.#end(accountId, window);
    }
    this.#stopWindowTimer = undefined;
    if (this.#windows.size > 0) this.#watchWindows();
  }

  #watchWindows(): void {
    this.#stopWindowTimer ??= this.#options.timer.start(() => this.#endWindows(), windowMs);
  }

  #writeIn(delayMs: number): void {
    this.#stopWriteTimer ??= this.#options.timer.start(() => {
      this.#writing = this.#write().finally(() => {
        this.#stopWriteTimer = undefined;
        const isLeft = this.#waiting.length > 0 || this.#hours.isChanged;
        if (isLeft && !this.#isClosed) this.#writeIn(retryMs);
      });
    }, delayMs);
  }

  async #write(): Promise<void> {
    const { kv, clock, keptDays, onFailure } = this.#options;
    try {
      while (this.#waiting.length > 0 || this.#hours.isChanged) {
        const some = this.#waiting.slice(0, callsPerCommit);
        const op = kv.atomic();
        for (const call of some) writeRefusedCall(op, call, keptDays * dayMs);
        const counted = this.#hours.write(op);
        await op.commit();
        counted();
        this.#waiting = this.#waiting.slice(some.length);
        // A mail that is lost here follows the next call that the limit refuses.
        await mailReachedLimits(kv, some);
        await this.#options.afterWrite?.(some);
      }
      this.#hours.trim(clock.nowMs());
    } catch (error) {
      onFailure(error);
    }
  }
}

function isOpen({ beganAtMs }: Window, atMs: number): boolean {
  return atMs >= beganAtMs && atMs - beganAtMs < windowMs;
}
