/** Bounds that several steps of a call share. */

/** Bytes of a provider's refusal that are read: its message is far shorter, some send whole pages. */
export const maxErrorBodyBytes = 256 * 1024;

/** Milliseconds of silence after which the client gets a keep-alive: under the 30–60 s that proxies allow. */
export const keepAliveMs = 15_000;
