/** Bounds how often one message is logged, so that no caller who can provoke a log line can fill the disk with it. */

/** Lines of one message in a minute: enough to see what happens, and at most 86,400 a day. */
const linesPerMinute = 60;
const minuteMs = 60_000;

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
 * import { createEventBudget } from "./event_budget.ts";
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
