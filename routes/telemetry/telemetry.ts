/**
 * The interface of observers of calls: the Prometheus registry always, OpenTelemetry if it is on.
 *
 * - Folder `routes/telemetry/`: what is measured: metrics, spans, budgets of log lines.
 * - In: calls that ended, and the state of the gateway.
 * - Out: Prometheus text, OpenTelemetry spans and metrics.
 * - Never: takes the label of a metric from a caller.
 */
import type { ErrorCode } from "../../core/lib/errors/errors.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import { minuteMs } from "../../core/lib/time/durations.ts";

// Bounds how often one message is logged, so that no caller who can provoke a log line can fill the disk with it.

/** Lines of one message in a minute: enough to see what happens, and at most 86,400 a day. */
const linesPerMinute = 60;
/** Decides about one line: `undefined` leaves it out; otherwise the fields are added to it. */
export type EventBudget = (message: string, atMs: number) => Record<string, unknown> | undefined;

interface Window {
  readonly minute: number;
  lines: number;
  leftOut: number;
}

/**
 * Makes a budget that counts by message; the messages of the code bound its memory. The last line of a full minute
 * says that more are left out; the first of a later minute says how many were.
 *
 * @example
 * ```ts
 * import { createEventBudget } from "./telemetry.ts";
 * const budget = createEventBudget();
 * for (let line = 0; line < 60; line++) budget("page failed", 0);
 * if (budget("page failed", 59_999) !== undefined) throw new Error("a flood");
 * if (budget("page failed", 60_000)?.["left_out"] !== 1) throw new Error("the gap is silent");
 * ```
 */
export function createEventBudget(): EventBudget {
  const windows = new Map<string, Window>();
  return (message, atMs) => {
    const minute = Math.floor(atMs / minuteMs);
    const former = windows.get(message);
    if (former?.minute === minute) {
      if (former.lines >= linesPerMinute) {
        former.leftOut++;
        return undefined;
      }
      former.lines++;
      return former.lines === linesPerMinute ? { more_this_minute: "left out" } : {};
    }
    windows.set(message, { minute, lines: 1, leftOut: 0 });
    return former === undefined || former.leftOut === 0 ? {} : { left_out: former.leftOut };
  };
}

/** One attempt on one route, in monotonic time. */
export interface AttemptTiming {
  readonly route: string;
  readonly result: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** The times of events within a call, which a receipt does not have. Monotonic times. */
export interface CallTiming {
  /** As {@linkcode CallObserver.begin} gave it. */
  readonly origin: unknown;
  readonly startedMs: number;
  readonly attempts: readonly AttemptTiming[];
  readonly settleStartedMs: number;
  readonly endedMs: number;
  /** The provider's stop reason, unchanged. */
  readonly stopReason?: string | undefined;
}

/** A call that was refused, and has no receipt. */
export interface RefusedCallLabels {
  /** The served path. */
  readonly endpoint: string;
  readonly status: number;
  readonly code: ErrorCode;
}

/** Labels of a request in its span. The query is left out: a client may have its key there. */
export interface RequestLabels {
  readonly method: string;
  readonly path: string;
  /** The client's position in a trace, as its header `traceparent` has it. */
  readonly traceparent: string | null;
}

/** Receives each receipt once, after it is durable. Metadata only: never a prompt, a key or a host. */
export interface CallObserver {
  /** Answers a request within a span of its own; absent if nothing traces. */
  readonly within?: <Answered extends { readonly status: number }>(
    request: RequestLabels,
    answer: () => Answered | Promise<Answered>,
  ) => Answered | Promise<Answered>;
  /** Returns the current position in a trace when a call begins; `undefined` if nothing traces. */
  begin(): unknown;
  /** Receives an ended call; without `timing` if only the receipt was measured. */
  call(receipt: Receipt, timing?: CallTiming): void;
  /** Receives a call that was refused. */
  refused(labels: RefusedCallLabels): void;
}

/**
 * Fate of the charge of a call whose receipt is late:
 *
 * - `forgone`: a whole answer, of which the client got nothing, is free: no commit that charges it was ever sent.
 * - `undecided`: the same, but a commit that charges it is on its way. If it lands the charge is refunded, unless the
 *   process ends before.
 * - `kept`: the client has what a stream sent, or can fetch a video that was accepted.
 */
export type LateCharge = "forgone" | "undecided" | "kept";

/** Counts what happens besides calls that end. */
export interface EventCounts {
  /** The store confirmed a commit. */
  committed(tookMs: number): void;
  /** The client got an error, since the store did not confirm the receipt in time. */
  receiptLate(charge: LateCharge): void;
  /** A call that was charged although its answer was withheld was refunded, or could not be. */
  withheldRefunded(result: "refunded" | "failed"): void;
  /** A provider refused an attempt for a reason between it and the operator: the key, a right, the credit. */
  providerRefused(provider: string, status: number): void;
  /** A serving thread ended, and another took its place. */
  workerReplaced(): void;
}

/** Joins several observers. The first one that traces gives the origin. */
export function observers(all: readonly CallObserver[]): CallObserver {
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  const within = all.find((one) => one.within !== undefined)?.within;
  return {
    ...(within !== undefined && { within }),
    begin() {
      for (const one of all) {
        const origin = one.begin();
        if (origin !== undefined) return origin;
      }
      return undefined;
    },
    call(receipt, timing) {
      for (const one of all) one.call(receipt, timing);
    },
    refused(labels) {
      for (const one of all) one.refused(labels);
    },
  };
}
