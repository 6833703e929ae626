import type { Clock } from "../../lib/time/clock.ts";

/** Seconds of the longest `retry-after` that is passed on: a day. A longer one is a mistake. */
export const maxRetryAfterSeconds = 86_400;

/** The value of a header by lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/**
 * Dates begin with a day (RFC 9110 section 5.6.7) or are ISO. Checked first, because `Date.parse` accepts nearly
 * anything.
 */
const dateForm = /^(?:(?:mon|tue|wed|thu|fri|sat|sun)|\d{4}-\d\d-\d\d)/i;

/**
 * Reads how long a provider asks not to be called, in whole seconds up to {@linkcode
 * maxRetryAfterSeconds}. It is in `retry-after` as seconds or as a date (RFC 9110 section 10.2.3),
 * or in `retry-after-ms`.
 *
 * A date is measured against the answer's own `date`, so that clocks need not agree. Without that header our clock is
 * used, and a date in its past is ignored.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../lib/time/clock.ts";
 * import { retryAfterSeconds } from "./retry_after.ts";
 * const headers = new Map([["retry-after", "1.2"]]);
 * const seconds = retryAfterSeconds((name) => headers.get(name), systemClock);
 * if (seconds !== 2) throw new Error(String(seconds));
 * ```
 */
export function retryAfterSeconds(header: HeaderOf, clock: Clock): number | undefined {
  const milliseconds = plainNumber(header("retry-after-ms"));
  if (milliseconds !== undefined) return bounded(milliseconds / 1000);
  const text = header("retry-after")?.trim();
  const seconds = plainNumber(text);
  if (seconds !== undefined) return bounded(seconds);
  const untilMs = dateForm.test(text ?? "") ? Date.parse(text ?? "") : NaN;
  if (Number.isNaN(untilMs)) return undefined;
  const sentMs = Date.parse(header("date") ?? "");
  if (!Number.isNaN(sentMs)) return bounded((untilMs - sentMs) / 1000);
  const waitMs = untilMs - clock.nowMs();
  return waitMs > 0 ? bounded(waitMs / 1000) : undefined;
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? Number(text) : undefined;
}

function bounded(seconds: number): number {
  return Math.min(Math.max(Math.ceil(seconds), 0), maxRetryAfterSeconds);
}
