/** Reads the moment from which a change is in force. */

/** Milliseconds ahead of now that a moment may be: price lists are announced months before, not years. */
const furthestMs = 366 * 24 * 3_600_000;

/**
 * Reads a time with its zone, such as `2026-12-01T00:00:00+07:00`.
 *
 * @returns undefined if it is none, or further ahead than a year
 */
export function effectiveMomentMs(text: string, nowMs: number): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text)) {
    return undefined;
  }
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms > nowMs + furthestMs ? undefined : ms;
}
