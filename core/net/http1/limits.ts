/** Bounds of the HTTP/1.1 driver that its callers use too. */

/**
 * Milliseconds to open a connection unless a provider is configured otherwise: TCP and TLS take under 3 s
 * over a bad line.
 */
export const defaultConnectMs = 5_000;

/**
 * Milliseconds of silence within an answer. Models think between two pieces of output for minutes, not always
 * with pings; the vendors' own SDKs wait 10 minutes.
 */
export const defaultIdleMs = 600_000;

/**
 * Bytes of a request body that is copied behind the head to make one write; copying more costs more than a
 * second write.
 */
export const singleWriteBytes = 16 * 1024;
