/** Decides what follows a try to deliver a webhook: nothing, another try, or the end of its endpoint. */
import { dayMs, hourMs, minuteMs } from "../../lib/time/durations.ts";

/** The outcome of one try. The reasons are fixed words. */
export type WebhookOutcome =
  | {
    readonly kind: "delivered";
    readonly status: number;
    /** Answer of a chat service, on one line. */
    readonly answer?: string;
  }
  | {
    readonly kind: "failed";
    readonly reason: WebhookFailure;
    /** Of an answer that was no success. */
    readonly status?: number | undefined;
    /** The pause for which the receiver has asked. */
    readonly retryAfterSeconds?: number | undefined;
    /** Answer of a chat service, on one line. */
    readonly answer?: string;
  };

/** Why a try failed. */
export type WebhookFailure =
  /** The receiver answered with another status than 2xx. */
  | "status"
  | "timeout"
  /** The status was 2xx, but the chat service did not take the message. */
  | "refused"
  /** No connection: name not found, address not public, refused, TLS failed. */
  | "unreachable"
  /** The answer broke off, or was no HTTP. */
  | "broken_answer"
  /** The secret is sealed with a master key that is not here. */
  | "no_secret";

/**
 * Milliseconds before the second try, the third, …: nine tries in nearly 28 hours, so that a receiver that is down for a
 * night and a day of work gets its events.
 */
export const webhookPausesMs = [
  5_000,
  minuteMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  10 * hourMs,
] as const;

/** Tries of one delivery. */
export const maxWebhookTries = webhookPausesMs.length + 1;

/** Pauses grow by up to this part, so that many deliveries do not come back at one moment. */
const pauseSpread = 0.2;

/** Milliseconds of failures only after which an endpoint is switched off. */
export const maxFailingMs = 5 * dayMs;

/** Failed tries in a row that an endpoint needs besides, so that one lost event in a quiet week does not end it. */
export const minFailingTries = 10;

/** Milliseconds from which a try is slow: far more than a receiver needs that writes an event down and answers. */
export const slowTryMs = 2_000;

/** Milliseconds for which an endpoint counts as slow after a slow try, so that one which hangs now and then is not quick in between. */
const slowForMs = 10 * minuteMs;

/** Whether an endpoint has answered at once of late. Quick ones get several deliveries at the same time, slow ones one. */
export type Pace = "quick" | "slow";

/** The tries of an endpoint, as far as its pace depends on them. */
export interface PacedTries {
  /** Tries so far. */
  readonly tries: number;
  /** End of the last slow try, until a quick one follows {@linkcode slowForMs} later. */
  readonly slowAtMs?: number;
}

/** Returns the pace of an endpoint. One that was never tried has not shown that it is quick. */
export function paceOf({ tries, slowAtMs }: PacedTries): Pace {
  return tries === 0 || slowAtMs !== undefined ? "slow" : "quick";
}

/**
 * Returns when an endpoint was slow last, after one more try.
 *
 * @example
 * ```ts
 * import { slowAtAfter } from "./retries.ts";
 * const hung = slowAtAfter({}, { endedAtMs: 15_000, durationMs: 15_000 });
 * if (hung !== 15_000) throw new Error();
 * if (slowAtAfter({ slowAtMs: hung }, { endedAtMs: 20_000, durationMs: 90 }) !== hung) throw new Error();
 * if (slowAtAfter({ slowAtMs: hung }, { endedAtMs: 700_000, durationMs: 90 }) !== undefined) throw new Error();
 * ```
 */
export function slowAtAfter(
  { slowAtMs }: Pick<PacedTries, "slowAtMs">,
  { endedAtMs, durationMs }: { readonly endedAtMs: number; readonly durationMs: number },
): number | undefined {
  if (durationMs >= slowTryMs) return endedAtMs;
  return slowAtMs !== undefined && endedAtMs < slowAtMs + slowForMs ? slowAtMs : undefined;
}

/** The failures of an endpoint since its last success. */
export interface FailingStreak {
  readonly sinceMs: number;
  readonly tries: number;
}

/** Consequence of a failed try. */
export interface AfterFailure {
  /** Absent: the delivery is given up. */
  readonly nextAtMs: number | undefined;
  /** The failures in a row, with this one if it is the receiver's; absent: there are none. */
  readonly streak: FailingStreak | undefined;
  /** Why the endpoint is switched off; absent: it stays on. */
  readonly switchedOff: SwitchOffReason | undefined;
}

/** `gone`: it has answered with 410, which asks for no more events. */
export type SwitchOffReason = "failing" | "gone";

/**
 * Decides what follows a failed try.
 *
 * @param fact.tries tries of the delivery, this one included
 * @param fact.isOnce set for test events, which are never retried
 * @param fact.random 0 (included) to 1: spreads the pause
 *
 * @example
 * ```ts
 * import { afterFailure } from "./retries.ts";
 * const failure = { kind: "failed", reason: "status", status: 503 } as const;
 * const first = afterFailure(failure, { tries: 1, nowMs: 1_000, random: 0, streak: undefined });
 * if (first.nextAtMs !== 6_000 || first.switchedOff !== undefined) throw new Error();
 * const last = afterFailure(failure, { tries: 9, nowMs: 1_000, random: 0, streak: first.streak });
 * if (last.nextAtMs !== undefined || last.streak?.tries !== 2) throw new Error();
 * ```
 */
export function afterFailure(
  { reason, status, retryAfterSeconds = 0 }: Extract<WebhookOutcome, { readonly kind: "failed" }>,
  { tries, nowMs, random, streak, isOnce = false }: {
    readonly tries: number;
    readonly nowMs: number;
    readonly random: number;
    readonly streak: FailingStreak | undefined;
    readonly isOnce?: boolean;
  },
): AfterFailure {
  // A secret that the gateway cannot open is no fault of the receiver.
  const isOurs = reason === "no_secret";
  const counted = { sinceMs: streak?.sinceMs ?? nowMs, tries: (streak?.tries ?? 0) + 1 };
  const isFailing = !isOurs && nowMs - counted.sinceMs >= maxFailingMs &&
    counted.tries >= minFailingTries;
  const switchedOff = status === 410 ? "gone" : isFailing ? "failing" : undefined;
  const pauseMs = webhookPausesMs[tries - 1];
  const isLast = isOnce || switchedOff !== undefined || pauseMs === undefined;
  const nextAtMs = isLast
    ? undefined
    : nowMs + Math.round(Math.max(pauseMs * (1 + pauseSpread * random), retryAfterSeconds * 1_000));
  return { nextAtMs, streak: isOurs ? streak : counted, switchedOff };
}
