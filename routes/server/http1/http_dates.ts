/** Writes the `date` header of answers. */
import type { Clock } from "../../../core/lib/time/clock.ts";

/**
 * Returns a function that gives the current time as HTTP writes it. Most answers are of the same
 * second as the one before, so the text of a second is made once.
 *
 * @example
 * ```ts
 * import { httpDates } from "./http_dates.ts";
 * const date = httpDates({ nowMs: () => 1_500, monotonicMs: () => 0 });
 * if (date() !== "Thu, 01 Jan 1970 00:00:01 GMT") throw new Error(date());
 * ```
 */
export function httpDates(clock: Clock): () => string {
  let second = -1;
  let text = "";
  return () => {
    const now = Math.floor(clock.nowMs() / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1_000).toUTCString();
    }
    return text;
  };
}
