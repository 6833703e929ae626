/** Lengths of time in milliseconds. Days have 24 hours: no clock of Vietnam is ever put forward or back. */

/** A second. */
export const secondMs = 1_000;

/** A minute. */
export const minuteMs = 60 * secondMs;

/** An hour. */
export const hourMs = 60 * minuteMs;

/** A day. */
export const dayMs = 24 * hourMs;
