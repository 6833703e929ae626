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

/** Units of limits, by the names that vendors use within headers. */
const limited = ["requests", "tokens", "input-tokens", "output-tokens"] as const;

/** Headers with the moment or the time at which a limit ends, with those that tell what is left of it. */
const resets: readonly (readonly [reset: string, remaining: string])[] = [
  ["x-ratelimit-reset", "x-ratelimit-remaining"],
  ["ratelimit-reset", "ratelimit-remaining"],
  ...limited.flatMap((name) =>
    [
      [`x-ratelimit-reset-${name}`, `x-ratelimit-remaining-${name}`],
      [`anthropic-ratelimit-${name}-reset`, `anthropic-ratelimit-${name}-remaining`],
    ] as const
  ),
];

/**
 * Reads how long a provider asks not to be called, in whole seconds up to {@linkcode
 * maxRetryAfterSeconds}. It is in `retry-after` as seconds or as a date (RFC 9110 section 10.2.3),
 * in `retry-after-ms`, or the longest of the limits of which nothing is left (`x-ratelimit-reset-tokens: 1m20s`, or
 * `ratelimit`, draft-ietf-httpapi-ratelimit-headers).
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
  const milliseconds = plainNumber(header("retry-after-ms") ?? header("x-ms-retry-after-ms"));
  if (milliseconds !== undefined) return bounded(milliseconds / 1000);
  return statedSeconds(header, clock) ?? resetSeconds(header, clock);
}

function statedSeconds(header: HeaderOf, clock: Clock): number | undefined {
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

function resetSeconds(header: HeaderOf, clock: Clock): number | undefined {
  let longest: number | undefined;
  for (const [reset, remaining] of resets) {
    const text = header(reset)?.trim();
    if (text === undefined || Number(header(remaining)) !== 0) continue;
    const seconds = secondsUntil(text, clock.nowMs()) ?? durationSeconds(text);
    if (seconds !== undefined) longest = Math.max(longest ?? 0, bounded(seconds));
  }
  return longest ?? listedSeconds(header("ratelimit"));
}

/** Rest of a limit of the header `ratelimit`, and the seconds to its end, by the draft's later and earlier form. */
const listedLimit =
  /\b(?:r|remaining)\s*=\s*(\d{1,12})\s*[;,]\s*(?:[a-z]{1,12}\s*=\s*[^;,]{1,40}[;,]\s*){0,3}(?:t|reset)\s*=\s*(\d{1,9})/gi;

/** Characters of `ratelimit` that are read: some limits, by name. */
const maxListChars = 500;

/** The longest wait of the limits in `ratelimit: "api";r=0;t=55` of which nothing is left. */
function listedSeconds(value: string | undefined): number | undefined {
  let longest: number | undefined;
  for (const [, left, seconds] of (value ?? "").slice(0, maxListChars).matchAll(listedLimit)) {
    if (Number(left) === 0) longest = Math.max(longest ?? 0, bounded(Number(seconds)));
  }
  return longest;
}

/** Parts of a time such as `1m20.4s`. */
const timePart = /(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)/g;
const wholeTime = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d)){1,5}$/;
const unitSeconds: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
};

/** Seconds of a plain number, or of a time such as `1m20.4s`. */
function durationSeconds(text: string): number | undefined {
  const seconds = plainNumber(text);
  if (seconds !== undefined || !wholeTime.test(text)) return seconds;
  let sum = 0;
  for (const [, digits, unit = ""] of text.matchAll(timePart)) {
    sum += Number(digits) * (unitSeconds[unit] ?? 0);
  }
  return sum;
}

/** Seconds since 1970 from which a number is a moment and no duration: the year 2001. */
const firstMomentSeconds = 1e9;

/**
 * Returns the whole seconds until a moment: seconds or milliseconds since 1970, as a number or a text, or a date.
 * `undefined` for anything else, and for moments that have passed.
 *
 * @example
 * ```ts
 * import { secondsUntil } from "./retry_after.ts";
 * const now = 1_700_000_000_000;
 * const found = [1_700_000_030, "1700000030000", "2023-11-14T22:13:50Z", "30"].map((text) => secondsUntil(text, now));
 * if (found.join() !== "30,30,30,") throw new Error(found.join());
 * ```
 */
export function secondsUntil(moment: unknown, nowMs: number): number | undefined {
  if (typeof moment !== "number" && typeof moment !== "string") return undefined;
  const number = Number(moment);
  const isNumber = moment !== "" && Number.isFinite(number);
  if (isNumber && number < firstMomentSeconds) return undefined;
  const ms = isNumber
    ? number < 1000 * firstMomentSeconds ? number * 1000 : number
    : dateForm.test(String(moment))
    ? Date.parse(String(moment))
    : NaN;
  return ms > nowMs ? bounded((ms - nowMs) / 1000) : undefined;
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? Number(text) : undefined;
}

function bounded(seconds: number): number {
  return Math.min(Math.max(Math.ceil(seconds), 0), maxRetryAfterSeconds);
}
