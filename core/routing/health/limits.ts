/** Pauses and delays that several parts of routing share. */

/**
 * Milliseconds of an open breaker's longest pause, which also bounds what a provider's `retry-after` can ask
 * for.
 */
export const breakerPauseMaxMs = 60_000;

/** Milliseconds for which a provider key that was rate-limited without `retry-after` is not used. */
export const rateLimitRestMs = 5_000;

/** Seconds after which clients may retry during maintenance. */
export const maintenanceRetrySeconds = 60;
