/** Bounds that several steps of a call share. */

/** Bytes of a provider's refusal that are read. Messages are far shorter, but some providers send whole pages. */
export const maxErrorBodyBytes = 256 * 1024;

/** Milliseconds of silence after which the client gets a keep-alive, below the 30–60 s that proxies allow. */
export const keepAliveMs = 15_000;
