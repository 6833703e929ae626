/** Writes rate limits into the headers that SDKs read, in the form of each vendor. */
import type { ErrorStyle } from "../../core/lib/errors/errors.ts";
import type { RateFigure, RateFigures } from "../../core/limits/rate_book.ts";
import type { WithHeaders } from "./common_headers.ts";
import { rateHeaders } from "./own_headers.ts";

/**
 * Writes a duration as Chat-style vendors do: `120ms`, `8.64s`, `6m0s`.
 *
 * @example
 * ```ts
 * import { shortDuration } from "./rate_headers.ts";
 * const written = [120, 1_000, 8_640, 360_000].map(shortDuration).join(" ");
 * if (written !== "120ms 1s 8.64s 6m0s") throw new Error(written);
 * ```
 */
export function shortDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole - minutes * 60_000) / 1_000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}

/** Writes a time in whole seconds of RFC 3339, as Messages-style vendors do; never before it. */
function wholeSecond(atMs: number): string {
  return `${new Date(Math.ceil(atMs / 1_000) * 1_000).toISOString().slice(0, 19)}Z`;
}

/** Adds the headers of rate limits to an answer, or to a refusal. */
export function withRateHeaders<Answer extends WithHeaders>(
  answer: Answer,
  { requests, tokens }: RateFigures,
  style: ErrorStyle,
  nowMs: number,
): Answer {
  const names = style === "messages" ? rateHeaders.messages : rateHeaders.others;
  const reset = style === "messages"
    ? (ms: number) => wholeSecond(nowMs + ms)
    : (ms: number) => shortDuration(ms);
  const write = (figure: RateFigure | undefined, of: "requests" | "tokens") => {
    if (figure === undefined) return;
    const { headers } = answer;
    headers.set(names[of].limit, String(figure.limit));
    headers.set(names[of].remaining, String(figure.remaining));
    headers.set(names[of].reset, reset(figure.resetMs));
  };
  write(requests, "requests");
  write(tokens, "tokens");
  return answer;
}
