/**
 * What is told of each call to those who watch: the Prometheus registry always, OpenTelemetry when it is on.
 *
 * - Folder `routes/telemetry/`: what is measured: metrics, spans, budgets of log lines.
 * - In: calls that ended, and the state of the gateway.
 * - Out: Prometheus text, OpenTelemetry spans and metrics.
 * - Never: takes the label of a metric from a caller.
 */
import type { Receipt } from "../../core/billing/receipt.ts";

/** One try of one route, on the monotonic clock. */
export interface AttemptTiming {
  readonly route: string;
  readonly result: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** What a receipt does not say: when things happened within the call. Monotonic times. */
export interface CallTiming {
  /** As {@linkcode CallObserver.begin} gave it. */
  readonly origin: unknown;
  readonly startedMs: number;
  readonly tries: readonly AttemptTiming[];
  readonly settleStartedMs: number;
  readonly endedMs: number;
  /** The provider's own word for why the model stopped. */
  readonly stopReason?: string | undefined;
}

/** Gets each receipt once, after it is durable. Metadata only: no prompt, no key, no host ever comes this way. */
export interface CallObserver {
  /** Remembers where in a trace a call began; `undefined` when nothing traces. */
  begin(): unknown;
  /** Told of an ended call; without `timing` where its way measures nothing beside the receipt. */
  call(receipt: Receipt, timing?: CallTiming): void;
}

/** Tells several. The first one that traces is asked for the origin. */
export function observers(all: readonly CallObserver[]): CallObserver {
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  return {
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
  };
}
