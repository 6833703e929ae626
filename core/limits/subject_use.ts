/** What one subject has used of its minute: here, and at other instances as far as they have told. */
import { MinuteWindow, msUntilAtMost } from "./minute_window.ts";

/** What an instance tells the others of a subject: sums since it first saw it, and of its last minute. */
export interface SharedUse {
  readonly requests: number;
  readonly tokens: number;
  readonly minuteRequests: number;
  readonly minuteTokens: number;
  /** Calls that run now. */
  readonly running: number;
}

/** The amounts of one limit of a subject. */
export class Meter {
  readonly own = new MinuteWindow();
  #others: MinuteWindow | undefined;
  /** All that was ever added here, less what was taken back while it counted. */
  total = 0;
  /** Added here since other instances were last told. */
  untold = 0;

  sum(nowMs: number): number {
    return this.own.sum(nowMs) + (this.#others?.sum(nowMs) ?? 0);
  }

  add(amount: number, nowMs: number): number {
    this.total += amount;
    this.untold += amount;
    return this.own.add(amount, nowMs);
  }

  takeBack(place: number, amount: number, nowMs: number): void {
    const taken = this.own.takeBack(place, amount, nowMs);
    this.total -= taken;
    this.untold = Math.max(0, this.untold - taken);
  }

  /** Counts what another instance added, or took back, since it last told. */
  addOfOthers(amount: number, nowMs: number): void {
    if (amount === 0) return;
    this.#others ??= new MinuteWindow();
    if (amount > 0) this.#others.add(amount, nowMs);
    else this.#others.takeBackNewest(-amount, nowMs);
  }

  /** Milliseconds until `amount` fits under a limit. */
  fitsInMs(amount: number, limit: number, nowMs: number): number {
    const windows = this.#others === undefined ? [this.own] : [this.own, this.#others];
    return msUntilAtMost(windows, limit - amount, nowMs);
  }

  /** Milliseconds until nothing is used any more. */
  emptyInMs(nowMs: number): number {
    return Math.max(this.own.emptyInMs(nowMs), this.#others?.emptyInMs(nowMs) ?? 0);
  }
}

/** The use of one subject. */
export class SubjectUse {
  readonly requests = new Meter();
  readonly tokens = new Meter();
  /** Calls that run here. */
  running = 0;
  /** Calls that began here since other instances were last told, less those of them that ended. */
  runningUntold = 0;
  /** Calls that run at other instances, as they told. */
  othersRunning = 0;
  /** The exchange of which `quotas` are. */
  #exchange = -1;
  /** What may be added until the next exchange. */
  #quotas = { requests: Infinity, tokens: Infinity, calls: Infinity };

  /** Whether nothing is used or told any more, so that it can be forgotten. */
  isIdle(nowMs: number): boolean {
    return this.running === 0 && this.othersRunning === 0 && this.requests.sum(nowMs) === 0 &&
      this.tokens.sum(nowMs) === 0;
  }

  /** Returns the use to report to other instances, and counts it as reported; `undefined` if there is none. */
  tell(nowMs: number): SharedUse | undefined {
    this.requests.untold = 0;
    this.tokens.untold = 0;
    this.runningUntold = 0;
    const minuteRequests = this.requests.own.sum(nowMs);
    const minuteTokens = this.tokens.own.sum(nowMs);
    if (minuteRequests === 0 && minuteTokens === 0 && this.running === 0) return undefined;
    return {
      requests: this.requests.total,
      tokens: this.tokens.total,
      minuteRequests,
      minuteTokens,
      running: this.running,
    };
  }

  /**
   * What may be added between two exchanges of sums: an equal share of what is left, so that instances that know the
   * same cannot use it more than once.
   */
  quotas(
    exchange: number,
    left: { readonly requests: number; readonly tokens: number; readonly calls: number },
    instances: number,
  ): { readonly requests: number; readonly tokens: number; readonly calls: number } {
    if (this.#exchange !== exchange) {
      this.#exchange = exchange;
      this.#quotas = {
        requests: left.requests / instances,
        tokens: left.tokens / instances,
        calls: left.calls / instances,
      };
    }
    return this.#quotas;
  }
}
