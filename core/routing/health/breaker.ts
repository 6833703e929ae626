/**
 * The circuit breaker of one route for one operation: takes a failing route out of use, and probes it again.
 *
 * `closed` lets every call through. Enough failures, or a pause that the provider asks for, make it `open`: no call goes
 * to the route until the pause is over. Then one call is let through as a probe (`half_open`): its success closes the
 * breaker, its failure opens it for a longer pause. Pauses double up to `breakerPauseMaxMs` and are spread at
 * random, so that instances do not probe in step.
 *
 * Attempts overlap, so each end is judged with the time at which its attempt began: one that began before the breaker
 * last changed tells nothing about the probe.
 */
import { breakerPauseMaxMs } from "./limits.ts";

// How attempts on one route ended, counted for the other threads of a process until they are told.

/** Ends of attempts, added up. */
export interface SharedEvidence {
  readonly well: number;
  readonly failed: number;
  /** Failures since the last success: all of them if there was none. */
  readonly failedLast: number;
  /** Why the last one failed. */
  readonly reason: string | undefined;
}

/**
 * Adds up how attempts ended.
 *
 * @example
 * ```ts
 * import { EvidenceTally } from "./breaker.ts";
 * const tally = new EvidenceTally();
 * tally.count(true, undefined);
 * tally.count(false, "upstream_error");
 * const { well, failed, failedLast } = tally.take() ?? {};
 * if (`${well} ${failed} ${failedLast}` !== "1 1 1") throw new Error("wrong");
 * if (tally.take() !== undefined) throw new Error("taken twice");
 * ```
 */
export class EvidenceTally {
  #well = 0;
  #failed = 0;
  #failedLast = 0;
  #reason: string | undefined;

  count(ok: boolean, reason: string | undefined): void {
    if (ok) {
      this.#well++;
      this.#failedLast = 0;
    } else {
      this.#failed++;
      this.#failedLast++;
      this.#reason = reason;
    }
  }

  /** Takes the evidence that was counted since the last time; `undefined` if there is none. */
  take(): SharedEvidence | undefined {
    if (this.#well + this.#failed === 0) return undefined;
    const taken = {
      well: this.#well,
      failed: this.#failed,
      failedLast: this.#failedLast,
      reason: this.#reason,
    };
    this.clear();
    return taken;
  }

  clear(): void {
    this.#well = this.#failed = this.#failedLast = 0;
    this.#reason = undefined;
  }
}

// Counts the recent attempts on a route, and how many of them failed.

/** Milliseconds of the past by which the health of a route is judged. */
export const healthWindowMs = 30_000;

/** Number of slices of the window: old failures leave it slice by slice, not all at once. */
const slices = 10;
const sliceMs = healthWindowMs / slices;

/**
 * Counts of the last {@linkcode healthWindowMs}.
 *
 * @example
 * ```ts
 * import { HealthWindow, healthWindowMs } from "./breaker.ts";
 * const window = new HealthWindow();
 * window.advance(0);
 * window.count("failed");
 * if (`${window.failures} of ${window.calls}` !== "1 of 1") throw new Error("not counted");
 * window.advance(healthWindowMs);
 * if (`${window.failures} of ${window.calls}` !== "0 of 0") throw new Error("not forgotten");
 * ```
 */
export class HealthWindow {
  readonly #calls = new Uint32Array(slices);
  readonly #failures = new Uint32Array(slices);
  #slice = 0;

  get calls(): number {
    return sum(this.#calls);
  }

  get failures(): number {
    return sum(this.#failures);
  }

  /** Moves the window up to now; slices that went by unseen are emptied. */
  advance(nowMs: number): void {
    const current = Math.floor(nowMs / sliceMs);
    const steps = Math.min(slices, current - this.#slice);
    for (let i = 1; i <= steps; i++) {
      const index = (this.#slice + i) % slices;
      this.#calls[index] = 0;
      this.#failures[index] = 0;
    }
    if (current > this.#slice) {
      // After a long pause every slice is emptied; only the position matters.
      this.#slice = current;
      if (steps === slices) this.clear();
    }
  }

  /** Counts attempts that ended just now: {@linkcode advance} comes first. */
  count(how: "well" | "failed", attempts = 1): void {
    const index = this.#slice % slices;
    this.#calls[index]! += attempts;
    if (how === "failed") this.#failures[index]! += attempts;
  }

  clear(): void {
    this.#calls.fill(0);
    this.#failures.fill(0);
  }
}

function sum(counts: Uint32Array): number {
  let sum = 0;
  for (const count of counts) sum += count;
  return sum;
}

/** The states of a circuit breaker. */
export type BreakerState = "closed" | "open" | "half_open";

/** Ending of an attempt, as evidence for the breaker. */
export type BreakerEvidence =
  | { readonly ok: true }
  | {
    readonly ok: false;
    /** Shown to operators: an error code of ours. */
    readonly reason: string;
    /** The provider asked for this pause: the route rests at once, but is probed before the pause ends. */
    readonly retryAfterMs?: number;
  };

/** The state of a breaker for those of other threads: as durations, since each thread's monotonic clock has a zero of its own. */
export type SharedBreaker =
  | { readonly state: "closed" }
  | {
    readonly state: "open";
    /** Until the next probe. */
    readonly pauseMs: number;
    /** Rest of the pause that the provider asked for; 0 if it did not ask. */
    readonly askedMs: number;
    readonly distrustedMs: number;
    readonly openings: number;
    readonly reason: string | undefined;
  };

/** Calls in the window below which a share of failures means nothing. */
export const breakerMinCalls = 10;

/** Share of failures in the window that opens the breaker. */
const breakerFailureShare = 0.5;

/** Failures in a row that open the breaker, whatever the traffic. */
export const breakerConsecutiveFailures = 3;

/** Milliseconds of an open breaker's first pause; each failed probe doubles it. */
export const breakerPauseMs = 1_000;

/** Times that a pause doubles; the longest pause is reached before. */
const maxDoublings = 16;
/** Reports give the length of an attempt in whole milliseconds, so its start is known this well. */
const startToleranceMs = 1;
/** A failure that lies so long before now, with no probe since, says nothing about the route. */
const forgottenAfterMs = 10 * 60_000;
/**
 * Factor by which a pause lasts longer in threads that took it over: the thread that opened the breaker probes first.
 */
const mergedPauseFactor = 1.25;

/** A circuit breaker: takes a failing route out of use and probes it again. */
export class Breaker {
  readonly #window = new HealthWindow();
  #state: BreakerState = "closed";
  #consecutiveFailures = 0;
  #openings = 0;
  #nextProbeMs = 0;
  #probing = false;
  /** Moment at which the breaker last opened or let a probe through. */
  #changedAtMs = 0;
  #pauseWasAsked = false;
  /** Until then a success does not close the breaker: the route's reports are what was false. */
  #distrustedUntilMs = -Infinity;
  /** The end of the pause that the provider asked for. */
  #askedUntilMs = 0;
  #reason: string | undefined;
  /** Evidence that this thread has seen while closed and has not published. */
  readonly #unpublished = new EvidenceTally();

  /** Why the last attempt failed; `undefined` once the breaker has closed. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Monotonic time at which an open breaker lets a probe through. */
  get nextProbeMs(): number {
    return this.#nextProbeMs;
  }

  /**
   * Moment at which calls may count on the route again: the end of the pause that the provider asked for, or the next
   * probe.
   */
  get readyMs(): number {
    return this.pauseWasAsked ? Math.max(this.#askedUntilMs, this.#nextProbeMs) : this.#nextProbeMs;
  }

  /** The provider itself asked for the current pause (`retry-after`). */
  get pauseWasAsked(): boolean {
    return this.#state === "open" && this.#pauseWasAsked;
  }

  /** Whether the route may be tried now, and as what. */
  availability(nowMs: number): "yes" | "probe" | "no" {
    this.#expire(nowMs);
    if (this.#state === "closed") return "yes";
    if (nowMs < this.#nextProbeMs || this.#probing) return "no";
    return "probe";
  }

  /** An attempt begins. When a probe is due, it is the probe. */
  begin(nowMs: number): void {
    if (this.#state === "closed" || nowMs < this.#nextProbeMs || this.#probing) return;
    this.#state = "half_open";
    this.#probing = true;
    this.#changedAtMs = nowMs;
  }

  /** An attempt ended in a way that says nothing about the route. */
  forget(startedMs: number): void {
    if (!this.#isStale(startedMs)) this.#probing = false;
  }

  /** Whether the attempt that began then is the probe. */
  isProbe(startedMs: number): boolean {
    return this.#state === "half_open" && this.#probing && !this.#isStale(startedMs);
  }

  /**
   * Counts how an attempt ended. Returns the new state if it changed.
   *
   * @param random from 0 up to 1, to spread pauses
   */
  judge(
    evidence: BreakerEvidence,
    nowMs: number,
    random: number,
    startedMs: number,
  ): BreakerState | undefined {
    const before = this.#state;
    const stale = this.#isStale(startedMs);
    if (!stale) this.#probing = false;
    this.#window.advance(nowMs);
    this.#window.count(evidence.ok ? "well" : "failed");
    if (evidence.ok) {
      // Of many calls in flight some succeed on a route that fails half of them: only the probe closes the breaker.
      if (!stale) {
        this.#consecutiveFailures = 0;
        if (this.#state !== "closed" && nowMs >= this.#distrustedUntilMs) this.#close();
      }
    } else {
      this.#consecutiveFailures++;
      this.#reason = evidence.reason;
      if (evidence.retryAfterMs !== undefined) {
        this.#open(nowMs, Math.min(evidence.retryAfterMs, breakerPauseMaxMs), random);
      } else if (!stale && (this.#state !== "closed" || this.#isFailing())) {
        this.#open(nowMs, undefined, random);
      }
    }
    if (this.#state === "closed") {
      this.#unpublished.count(evidence.ok, evidence.ok ? undefined : evidence.reason);
    }
    return this.#state === before ? undefined : this.#state;
  }

  /**
   * Takes the evidence that this thread has seen since the last time, for the breakers of others; `undefined` if there
   * is none.
   */
  takeEvidence(): SharedEvidence | undefined {
    return this.#unpublished.take();
  }

  /** All evidence by which a closed breaker is judged, for a thread that starts. */
  evidence(nowMs: number): SharedEvidence {
    this.#window.advance(nowMs);
    const { calls, failures } = this.#window;
    return {
      well: calls - failures,
      failed: failures,
      failedLast: this.#consecutiveFailures,
      reason: this.#reason,
    };
  }

  /** Adds what another thread has seen. Does not open: see {@linkcode review}. */
  addEvidence({ well, failed, failedLast, reason }: SharedEvidence, nowMs: number): void {
    // An open breaker is judged by its probe.
    if (this.#state !== "closed") return;
    this.#window.advance(nowMs);
    this.#window.count("well", well);
    this.#window.count("failed", failed);
    this.#consecutiveFailures = failedLast + (well > 0 ? 0 : this.#consecutiveFailures);
    if (failed > 0) this.#reason = reason;
  }

  /** Opens a closed breaker if the evidence of all threads together is enough. Returns the new state if it changed. */
  review(nowMs: number, random: number): BreakerState | undefined {
    if (this.#state !== "closed" || !this.#isFailing()) return undefined;
    this.#open(nowMs, undefined, random);
    return this.#state;
  }

  /** Opens for the longest pause, and again after each probe that fails. Returns the new state if it changed. */
  distrust(reason: string, nowMs: number, random: number): BreakerState | undefined {
    const before = this.#state;
    this.#reason = reason;
    this.#openings = Math.max(this.#openings, maxDoublings);
    this.#open(nowMs, undefined, random);
    this.#distrustedUntilMs = this.#nextProbeMs;
    return this.#state === before ? undefined : this.#state;
  }

  /** The state for the breakers of other threads. */
  shared(nowMs: number): SharedBreaker {
    if (this.#state === "closed") return { state: "closed" };
    return {
      state: "open",
      pauseMs: Math.max(0, this.#nextProbeMs - nowMs),
      askedMs: this.#pauseWasAsked ? Math.max(0, this.#askedUntilMs - nowMs) : 0,
      distrustedMs: Math.max(0, this.#distrustedUntilMs - nowMs),
      openings: this.#openings,
      reason: this.#reason,
    };
  }

  /** Merges what the breaker of another thread found out. */
  merge(shared: SharedBreaker, nowMs: number): void {
    this.#probing = false;
    this.#unpublished.clear();
    if (shared.state === "closed") {
      this.#consecutiveFailures = 0;
      if (this.#state !== "closed" && nowMs >= this.#distrustedUntilMs) this.#close();
      return;
    }
    const { pauseMs, askedMs, distrustedMs, openings, reason } = shared;
    if (this.#state !== "open") this.#changedAtMs = nowMs;
    this.#state = "open";
    this.#reason = reason;
    this.#openings = Math.max(this.#openings, openings);
    this.#pauseWasAsked = askedMs > 0;
    this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + askedMs);
    this.#nextProbeMs = Math.max(this.#nextProbeMs, nowMs + pauseMs * mergedPauseFactor);
    if (distrustedMs > 0) this.#distrustedUntilMs = this.#nextProbeMs;
  }

  /** State and counts for operators. */
  view(nowMs: number) {
    this.#expire(nowMs);
    this.#window.advance(nowMs);
    return {
      state: this.#state,
      windowCalls: this.#window.calls,
      windowFailures: this.#window.failures,
      consecutiveFailures: this.#consecutiveFailures,
    };
  }

  /** Closes a breaker whose failures are long past; the next failure opens it again. */
  #expire(nowMs: number): void {
    if (this.#state !== "open" || nowMs - this.#nextProbeMs < forgottenAfterMs) return;
    this.#close();
    this.#consecutiveFailures = breakerConsecutiveFailures - 1;
  }

  #isStale(startedMs: number): boolean {
    return this.#state !== "closed" && startedMs < this.#changedAtMs - startToleranceMs;
  }

  #isFailing(): boolean {
    if (this.#consecutiveFailures >= breakerConsecutiveFailures) return true;
    const { calls, failures } = this.#window;
    return calls >= breakerMinCalls && failures / calls >= breakerFailureShare;
  }

  #open(nowMs: number, askedMs: number | undefined, random: number): void {
    if (askedMs !== undefined) this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + askedMs);
    // A last attempt on a route that rests (see the router) is no probe: the pause must not grow with traffic.
    if (this.#state === "open" && nowMs < this.#nextProbeMs) {
      this.#pauseWasAsked ||= askedMs !== undefined;
      return;
    }
    const grown = breakerPauseMs * 2 ** Math.min(this.#openings, maxDoublings);
    const ownMs = Math.min(grown, breakerPauseMaxMs) * (0.8 + 0.4 * random);
    // Providers often ask for more than their limit lasts; a probe finds out earlier.
    const pauseMs = Math.min(askedMs ?? Infinity, ownMs);
    this.#openings++;
    this.#pauseWasAsked = askedMs !== undefined;
    if (this.#state !== "open") this.#changedAtMs = nowMs;
    this.#state = "open";
    this.#nextProbeMs = Math.max(this.#nextProbeMs, nowMs + pauseMs);
    this.#unpublished.clear();
  }

  #close(): void {
    this.#state = "closed";
    this.#openings = 0;
    this.#askedUntilMs = 0;
    this.#reason = undefined;
    this.#window.clear();
  }
}
